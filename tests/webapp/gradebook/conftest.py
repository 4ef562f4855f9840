"""A class for the tests: made-up learners, one short notebook, handed in and not graded yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.compute.sql import SqlStore
from studio.gradebook import book, outcomes
from studio.gradebook.classroom import Classroom
from studio.gradebook.handout import hand_out
from studio.gradebook.outcomes import Outcome
from studio.gradebook.run import Run, grade_class
from studio.grading import release

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = "00_orientation"
SOLVED = '@learn.exercise("ops.relu")\ndef relu(x):\n    out = x.clamp(min=0)\n    return out, lambda g: g * (out > 0)\n'
WRONG = '@learn.exercise("ops.relu")\ndef relu(x):\n    out = x.clamp(min=0, max=6)\n    return out, lambda g: g * (out > 0)\n'
EXERCISE = {
    **{"id": "ops.relu", "title": "Hold", "title_zh": "压", "points": 1, "earned": 1, "passed": True},
    **{"verdict": "passed", "message": "", "message_zh": "", "case": "", "case_zh": ""},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with SqlStore(f"sqlite:///{tmp_path_factory.mktemp('store') / 'compute.sqlite3'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Classroom]:
    """A class that has had the notebook handed out as "week1"."""

    def made() -> Classroom:
        classroom = Classroom(tmp_path_factory.mktemp("class"))
        hand_out(classroom, "week1", [ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"])
        return classroom

    return made


def hand_in(classroom: Classroom, student: str, source: str | None = None) -> Path:
    """`student` hands in the released copy with `source` in its exercise; without one, as it came."""
    notebook = release.read(classroom.folder("release", "week1") / f"{NOTEBOOK}.ipynb")
    for cell in notebook.cells:
        if source is not None and release.slot_of(cell.source):
            cell.source = source
    path = classroom.folder("submitted", "week1", student) / f"{NOTEBOOK}.ipynb"
    release.write(notebook, path)
    return path


def outcomes_of(classroom: Classroom) -> list[Outcome]:
    """Every verdict of the class."""
    with book.opened(classroom) as gradebook:
        return outcomes.all_of(gradebook)


def grade(classroom: Classroom, store: SqlStore, workers: int = 1) -> Run:
    return asyncio.run(grade_class(classroom, store, "teacher", workers=workers))
