"""The results of all checks, kept over restarts: one small file for each notebook in the Studio's private folder."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from .course import keep_under_dated_name
from .grading.verdict import StoppedCell, Verdict, parse_result
from .moments import minute
from .moved import moves
from .runtime import write_atomically

KEPT = 30  # attempts of one notebook; older ones are dropped, the numbering continues

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Attempt:
    """One check that reached a verdict. `number` counts from 1, `when` is in seconds since 1970."""

    number: int
    when: float
    verdict: Verdict

    @property
    def when_text(self) -> str:
        return minute(self.when)


@dataclass(frozen=True)
class History:
    """The attempts at one notebook, oldest first."""

    attempts: tuple[Attempt, ...] = ()
    set_aside: bool = False  # the copy that was checked last has been archived since

    @property
    def last(self) -> Attempt | None:
        """The latest verdict on the present copy, if there is one."""
        return self.attempts[-1] if self.attempts and not self.set_aside else None

    @property
    def best(self) -> Attempt | None:
        """The attempt with the most points (the latest of equals); a fresh copy does not reset it."""
        return max(self.attempts, key=lambda attempt: (attempt.verdict.earned, attempt.number), default=None)


class Attempts:
    """The histories in `folder`. Every method reads or writes a file: from the server in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def history(self, lesson_id: str) -> History:
        """A file that cannot be read is renamed with a date, and the log says so."""
        path = self._path(lesson_id)
        try:
            told = json.loads(path.read_text("utf-8"))
            return History(tuple(_attempt(entry) for entry in told["attempts"]), bool(told["set_aside"]))
        except FileNotFoundError:
            return History()
        except (ValueError, KeyError, TypeError) as error:
            kept = keep_under_dated_name(path, datetime.now())
            log.warning("%s is not a history of attempts (%r); it is kept as %s", path.name, error, kept.name)
            return History()

    def add(self, lesson_id: str, verdict: Verdict) -> Attempt:
        """Append an attempt, with the present time."""
        with self._alone(lesson_id):
            before = self.history(lesson_id).attempts
            attempt = Attempt(before[-1].number + 1 if before else 1, time.time(), verdict)
            self._write(lesson_id, [*before, attempt], set_aside=False)
        return attempt

    def put_aside(self, lesson_id: str) -> None:
        """The copy was replaced: the last verdict belongs to another copy now."""
        with self._alone(lesson_id):
            before = self.history(lesson_id)
            if before.last is not None:
                self._write(lesson_id, before.attempts, set_aside=True)

    def settle(self) -> None:
        """Attempts at exercises that are in another notebook of the course now move there. No-op if there are none."""
        for (old, new), slots in moves().items():
            if not self._path(old).exists() or self._path(new).exists():
                continue
            with self._alone(old), self._alone(new):
                before = self.history(old)
                moved = [_with(one, slots) for one in before.attempts]
                moved = [one for one in moved if one.verdict.exercises]
                if moved:  # of a copy that does not exist yet
                    self._write(new, moved, set_aside=True)
                    left = [_with(one, slots, False) for one in before.attempts]
                    self._write(old, left, before.set_aside)

    def _alone(self, lesson_id: str) -> FileLock:
        """Lock a history for one writer, in this Studio or another one, so that no update is lost."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._path(lesson_id).with_name(f".{_file(lesson_id)}.lock"))

    def _write(self, lesson_id: str, attempts: Sequence[Attempt], set_aside: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"attempts": [asdict(attempt) for attempt in attempts[-KEPT:]], "set_aside": set_aside}
        write_atomically(self._path(lesson_id), json.dumps(told, ensure_ascii=False).encode())

    def _path(self, lesson_id: str) -> Path:
        return self.folder / f"{_file(lesson_id)}.json"


def _with(attempt: Attempt, slots: frozenset[str], inside: bool = True) -> Attempt:
    """The attempt with those of its exercises that are in `slots`, or with the others."""
    exercises = tuple(one for one in attempt.verdict.exercises if (one.id in slots) == inside)
    return replace(attempt, verdict=replace(attempt.verdict, exercises=exercises))


def _file(lesson_id: str) -> str:
    """Of an assignment's notebook, ASSIGNMENT/NOTEBOOK, too: no name of either has a tilde."""
    return lesson_id.replace("/", "~")


def _attempt(entry: dict[str, Any]) -> Attempt:
    verdict = dict(entry["verdict"])
    verdict["exercises"] = tuple(parse_result(_flat(exercise)) for exercise in verdict["exercises"])
    verdict["stopped"] = tuple(StoppedCell(**cell) for cell in verdict["stopped"])
    return Attempt(int(entry["number"]), float(entry["when"]), Verdict(**verdict))


def _flat(exercise: dict[str, Any]) -> dict[str, Any]:
    """A result in the present format; older files stored each text as a table by language."""
    if "titles" not in exercise:
        return exercise
    kept = {name: value for name, value in exercise.items() if not isinstance(value, dict)}
    for name in ("title", "message", "case", "hint"):
        texts = exercise[f"{name}s"]
        kept |= {name: texts.get("en", ""), f"{name}_zh": texts.get("zh", "")}
    return kept
