"""Model answers: when a learner may open the library's version of an exercise, and which ones were opened.

A learner's Studio has one record for each notebook, the class has one for each learner and notebook:

    FOLDER/ASSIGNMENT/NOTEBOOK.json    {"failed": {slot: checks}, "opened": {slot: answer}}
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from filelock import FileLock

from .grading.checker import Assignment
from .grading.model_answer import ModelAnswer
from .grading.verdict import Verdict
from .moments import minute
from .runtime import write_atomically

When = Literal["never", "failures", "deadline"]
MOST_FAILURES = 100


@dataclass(frozen=True)
class Rule:
    """`failures` is how many checks of the exercise must have failed; `deadline` is in seconds since 1970, and without
    one nothing opens after it."""

    when: When = "failures"
    failures: int = 3
    deadline: float | None = None

    def allows(self, failed: int, now: float) -> bool:
        """Whether a learner may open the answer now, after so many failed checks of the exercise."""
        if self.when == "failures":
            return failed >= self.failures
        return self.when == "deadline" and self.deadline is not None and now > self.deadline


@dataclass(frozen=True)
class Opened:
    """`when` is in seconds since 1970, by the clock of the computer that gave the answer."""

    when: float
    answer: ModelAnswer

    @property
    def when_text(self) -> str:
        return minute(self.when)


@dataclass(frozen=True)
class Record:
    """Of one notebook; both tables are by slot."""

    failed: Mapping[str, int] = field(default_factory=dict)
    opened: Mapping[str, Opened] = field(default_factory=dict)


class ModelAnswers:
    """The records of one learner, in `folder`. Every method reads or writes a file: from a server in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, place: Assignment) -> Record:
        """The record of a notebook. Raises `ValueError` if its file is broken."""
        try:
            told = json.loads(self._path(place).read_text("utf-8"))
            opened = {
                slot: Opened(float(one["when"]), ModelAnswer(**one["answer"]))
                for slot, one in told["opened"].items()
            }
            return Record({slot: int(count) for slot, count in told["failed"].items()}, opened)
        except FileNotFoundError:
            return Record()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self._path(place)} is not a record of model answers: {error!r}") from error

    def checked(self, place: Assignment, verdict: Verdict) -> None:
        """Counts the exercises that a check has found wrong; one that was not attempted does not count."""
        wrong = [one.id for one in verdict.exercises if not one.passed and one.verdict != "not_attempted"]
        if wrong:
            self._change(
                place, lambda r: Record({**r.failed, **{s: r.failed.get(s, 0) + 1 for s in wrong}}, r.opened)
            )

    def open(self, place: Assignment, slot: str, answer: ModelAnswer, when: float | None = None) -> Opened:
        """Records that an answer was opened; the first time counts."""
        made = Opened(time.time() if when is None else when, answer)
        return self._change(place, lambda r: Record(r.failed, {slot: made, **r.opened})).opened[slot]

    def _change(self, place: Assignment, changed: Callable[[Record], Record]) -> Record:
        path = self._path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), thread_local=False):
            record = changed(self.of(place))
            write_atomically(path, json.dumps(asdict(record), ensure_ascii=False).encode())
        return record

    def _path(self, place: Assignment) -> Path:
        return self.folder / place.name / f"{place.notebook}.json"
