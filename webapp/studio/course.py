"""The notebooks of the course, and the learner's copies of them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .gradebook.classroom import COURSE
from .grading import release, translation
from .grading.checker import Assignment
from .i18n import LANGUAGES
from .moments import minute
from .moved import MOVED

_DATED = re.compile(
    r"(\d{4}-\d\d-\d\d) (\d\d)\.(\d\d)\.(\d\d)( \(\d+\))?"
)  # as keep_under_dated_name formats it
_KERNEL = {"name": "sampan", "display_name": "Sampan", "language": "python"}


class CopyFailed(RuntimeError):
    """The learner's copy could not be made; the message is for the log."""


@dataclass(frozen=True)
class Lesson:
    """One notebook: `source` is the instructor's version, `copy` the learner's, which may not exist yet. In a class,
    where learners cannot read the instructor's versions, `released` has the path of what is handed out by language, and
    `source` is one of these."""

    id: str
    source: Path
    copy: Path
    titles: dict[str, str]
    summaries: dict[str, str]
    minutes: int
    edited: float | None  # when the copy was last changed, in seconds since 1970; None: there is no copy
    copy_language: str  # of the copy, if there is one
    exercises: int
    points: float
    slots: tuple[str, ...] = ()  # the places in the library that its exercises fill
    released: dict[str, Path] = field(default_factory=dict)
    assignment: str = COURSE  # of a class: what it is handed in as, with the name of its file

    @property
    def notebook(self) -> str:
        return self.copy.stem

    @property
    def checked_as(self) -> Assignment:
        return Assignment(self.assignment, self.notebook)

    @property
    def place(self) -> tuple[str, ...]:
        """The parts of its address in the Studio."""
        if self.assignment == COURSE:
            return ("courses", self.id)
        return ("assignments", quote(self.assignment), quote(self.notebook))

    def at(self, *action: str) -> tuple[str, ...]:
        """The parts of the address of an action on it."""
        return (*self.place, *action)

    @property
    def mark_id(self) -> str:
        """For the ids of elements in a page."""
        return re.sub(r"\W+", "-", self.id)

    def handed_out(self, lang: str) -> Any:
        """The notebook as learners get it, in a language. Raises `ValueError` if it cannot be made."""
        if self.released:
            return release.read(self.released[lang])
        return release.release(release.read(self.source), lang)

    @property
    def graded(self) -> bool:
        return self.exercises > 0

    def title(self, lang: str) -> str:
        return self.titles[lang]

    def summary(self, lang: str) -> str:
        return self.summaries[lang]

    @property
    def edited_text(self) -> str:
        return "" if self.edited is None else minute(self.edited)

    def kept(self) -> list[KeptCopy]:
        """Former copies, archived, the latest first."""
        found = []
        for path in self.copy.parent.glob(f"{self.notebook} *{self.copy.suffix}"):
            dated = _DATED.fullmatch(path.stem.removeprefix(f"{self.notebook} "))
            if dated:
                day, hour, minute, second, count = dated.groups(default="")
                found.append(KeptCopy(path, f"{day} {hour}:{minute}:{second}{count}"))
        return sorted(found, key=lambda kept: kept.path.stem, reverse=True)


@dataclass(frozen=True)
class KeptCopy:
    """A former copy in the folder of the present one; `when` is the date and time at which it was archived, as text."""

    path: Path
    when: str


class Course:
    """The notebooks in `folder`; the copies go to `workspace`/notebooks. A folder with the folders `en` and `zh` has
    what is handed out in each language, not the instructor's versions.

    With another `assignment` than the course, `folder` has its notebooks as they are handed out; the copies go to
    `workspace`/assignments/ASSIGNMENT, and a lesson's id is ASSIGNMENT/NOTEBOOK.
    """

    def __init__(self, folder: Path, workspace: Path, assignment: str = COURSE) -> None:
        self.assignment = assignment
        own = assignment != COURSE
        self.copies = workspace / "assignments" / assignment if own else workspace / "notebooks"
        self.released = {lang: folder / lang for lang in LANGUAGES if (folder / lang).is_dir()}
        self.folder = self.released.get("en", folder)
        self.workspace = workspace
        self._read: dict[Path, tuple[float, dict[str, Any]]] = {}
        self._languages: dict[Path, tuple[float, str]] = {}
        self._making: dict[str, asyncio.Lock] = {}

    def lessons(self) -> list[Lesson]:
        """All notebooks in the order of their names. For one that cannot be read, raises a ValueError that names it."""
        return [self._lesson(path) for path in sorted(self.folder.glob("*.ipynb"))]

    def lesson(self, notebook: str) -> Lesson | None:
        path = self.folder / f"{notebook}.ipynb"
        return self._lesson(path) if path.parent == self.folder and path.is_file() else None

    def _lesson(self, path: Path) -> Lesson:
        about = self._about(path)
        copy = self.copies / path.name
        own = self.assignment != COURSE
        title = str(about.get("title") or path.stem)
        summary = str(about.get("summary") or "")
        return Lesson(
            id=f"{self.assignment}/{path.stem}" if own else path.stem,
            source=path,
            copy=copy,
            titles={"en": title, "zh": str(about.get("title_zh") or title)},
            summaries={"en": summary, "zh": str(about.get("summary_zh") or summary)},
            minutes=int(about.get("minutes") or 0),
            edited=copy.stat().st_mtime if copy.is_file() else None,
            copy_language=self._language(copy),
            exercises=int(about["exercises"]),
            points=float(about["points"]),
            slots=about["slots"],
            released=dict.fromkeys(LANGUAGES, path)
            if own
            else {lang: folder / path.name for lang, folder in self.released.items()},
            assignment=self.assignment,
        )

    def _about(self, path: Path) -> dict[str, Any]:
        """The notebook's own `sampan` metadata; a file is read again only when it has changed."""
        changed = path.stat().st_mtime
        if path not in self._read or self._read[path][0] != changed:
            try:
                notebook = json.loads(path.read_text("utf-8"))
                about = dict(notebook["metadata"].get("sampan", {}))
                marks = [cell.get("metadata", {}).get("nbgrader", {}) for cell in notebook["cells"]]
                points = [float(mark.get("points") or 0) for mark in marks if mark.get("grade")]
                about["exercises"], about["points"] = len(points), sum(points)
                sources = [
                    "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"
                ]
                about["slots"] = tuple(
                    sorted({slot for source in sources for slot in release.slots_of(source)})
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path.name} is not a notebook: {error}") from error
            self._read[path] = (changed, about)
        return self._read[path][1]

    def _language(self, copy: Path) -> str:
        """The language in which a copy was made; English for a file that is not there or not a notebook. A file is
        read again only when it has changed."""
        try:
            changed = copy.stat().st_mtime
            if copy not in self._languages or self._languages[copy][0] != changed:
                self._languages[copy] = changed, translation.language_of(release.read(copy))
            return self._languages[copy][1]
        except (OSError, ValueError):
            return "en"

    async def open_copy(self, lesson: Lesson, lang: str = "en") -> Path:
        """The learner's copy, made now in `lang` if there is none. An existing one is never touched."""
        async with self._making.setdefault(lesson.id, asyncio.Lock()):
            if not lesson.copy.exists():
                await self._make(lesson, partial(_with_former_answers, lesson, lang), keep=False)
        return lesson.copy

    async def translate(self, lesson: Lesson, lang: str) -> Path:
        """The present copy in another language, with all that the learner wrote; the copy of before is archived.
        Nothing happens if it is in that language.

        Raises `CopyFailed` if the copy is not a notebook.
        """
        async with self._making.setdefault(lesson.id, asyncio.Lock()):
            if self._language(lesson.copy) != lang:
                await self._make(lesson, partial(_in_other_language, lesson, lang), keep=True)
        return lesson.copy

    async def start_again(self, lesson: Lesson, lang: str = "en") -> Path:
        """A fresh copy; the present one is kept in the same folder under a name with date and time.

        The fresh copy is written completely before the old one is moved, so a full disk leaves the old one
        unchanged.
        """
        async with self._making.setdefault(lesson.id, asyncio.Lock()):
            await self._make(lesson, _handed_out(lesson, lang), keep=True)
        return lesson.copy

    async def restore(self, lesson: Lesson, kept: KeptCopy) -> Path:
        """Make the former copy `kept` the present one. The present one is archived, and `kept` is not deleted."""
        async with self._making.setdefault(lesson.id, asyncio.Lock()):
            fresh = lesson.copy.with_name(f".{lesson.copy.stem}.restored.ipynb")
            try:
                await asyncio.to_thread(shutil.copyfile, kept.path, fresh)
                if lesson.copy.exists():
                    keep_under_dated_name(lesson.copy, datetime.now())
                move_without_replacing(fresh, lesson.copy)
            finally:
                fresh.unlink(missing_ok=True)
        return lesson.copy

    async def _make(self, lesson: Lesson, made: Callable[[], Any], keep: bool) -> None:
        """Write the learner's copy; `keep` archives an existing one first."""
        lesson.copy.parent.mkdir(parents=True, exist_ok=True)
        fresh = lesson.copy.with_name(f".{lesson.copy.stem}.new.ipynb")
        try:
            await asyncio.to_thread(_write_copy, made, lesson.source, fresh)
            _run_in_our_kernel(fresh)
            if keep and lesson.copy.exists():
                keep_under_dated_name(lesson.copy, datetime.now())
            move_without_replacing(fresh, lesson.copy)
        finally:
            fresh.unlink(missing_ok=True)


def _write_copy(made: Callable[[], Any], source: Path, target: Path) -> None:
    try:
        release.write(made(), target)
    except ValueError as error:
        raise CopyFailed(f"no copy of {source.name}: {error}") from error


def _handed_out(lesson: Lesson, lang: str) -> Callable[[], Any]:
    return lambda: lesson.handed_out(lang)


def _with_former_answers(lesson: Lesson, lang: str) -> Any:
    """As it is handed out, with the learner's answers to exercises that were in another notebook before."""
    made = lesson.handed_out(lang)
    former = {MOVED[slot][0] for slot in lesson.slots if MOVED.get(slot, ("", ""))[1] == lesson.id}
    for name in sorted(former):
        try:
            mine = release.read(lesson.copy.with_name(f"{name}.ipynb"))
        except (OSError, ValueError):  # there is no copy, or none that can be read
            continue
        answers = {slot: cell.source for cell in mine.cells if (slot := release.slot_of(cell.source))}
        for cell in made.cells:
            cell.source = answers.get(release.slot_of(cell.source) or "", cell.source)
    return made


def _in_other_language(lesson: Lesson, lang: str) -> Any:
    copy = release.read(lesson.copy)
    present = _handed_out(lesson, translation.language_of(copy))()
    return translation.in_other_language(copy, present, _handed_out(lesson, lang)())


def _run_in_our_kernel(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    notebook["metadata"]["kernelspec"] = _KERNEL
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def keep_under_dated_name(path: Path, now: datetime) -> Path:
    """Rename `path` in its folder to "name 2026-11-21 18.57.03.ipynb"; never onto another file."""
    stamp = now.strftime("%Y-%m-%d %H.%M.%S")
    for count in range(1, 1000):
        number = "" if count == 1 else f" ({count})"
        target = path.with_name(f"{path.stem} {stamp}{number}{path.suffix}")
        try:
            move_without_replacing(path, target)
        except FileExistsError:
            continue
        return target
    raise FileExistsError(f"no free name for {path.name} at {stamp}")


def move_without_replacing(source: Path, target: Path) -> None:
    """A rename that raises FileExistsError where `target` exists, also if another process has just created it."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: reserve the name, then replace our own empty file
        target.touch(exist_ok=False)
        os.replace(source, target)
    else:
        source.unlink()
