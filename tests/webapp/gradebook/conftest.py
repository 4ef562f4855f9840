"""A class for the tests: made-up learners, one short notebook, handed in and not graded yet."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
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


CELLS = (  # of `essay`: name, type, source in the release
    ("", "markdown", "# An essay"),
    ("answer", "code", "def double(x):\n    raise NotImplementedError"),
    ("test-answer", "code", "assert double(2) == 4"),
    ("why", "markdown", "YOUR ANSWER HERE"),
    ("task", "markdown", "Draw a boat in new cells."),
)


def notebook_of(cells: Iterable[tuple[str, str, str]]) -> bytes:
    """A notebook whose cells have these names (of nbgrader), types and sources."""
    made: list[dict[str, object]] = [
        {
            "cell_type": kind,
            "source": source,
            "metadata": {"nbgrader": {"grade_id": name}} if name else {},
            **({"outputs": [], "execution_count": None} if kind == "code" else {}),
        }
        for name, kind, source in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


@pytest.fixture(scope="session")
def new_essays(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Classroom]:
    """Makes the class of `essays` in a folder, as a copy of one that is made once."""
    made = _essays(tmp_path_factory.mktemp("essays"))

    def copy(folder: Path) -> Classroom:
        shutil.copytree(made.root, folder, dirs_exist_ok=True)
        return Classroom(folder, course=folder)

    return copy


@pytest.fixture
def essays(tmp_path: Path, new_essays: Callable[[Path], Classroom]) -> Classroom:
    """A class of nbgrader's own, without hidden checks: see `_essays`."""
    return new_essays(tmp_path)


def _essays(folder: Path) -> Classroom:
    """A class of nbgrader's own, without hidden checks: amy and bob have handed in `essay` of "old", cem has not.

    An answer with a test (2 points), a written answer (4) and a task (3), entered by nbgrader's API.
    """
    classroom = Classroom(folder, course=folder)
    place = ("essay", "old")
    with book.opened(classroom) as gradebook:
        gradebook.add_assignment("old")
        gradebook.add_notebook(*place)
        gradebook.add_solution_cell("answer", *place)
        gradebook.add_grade_cell("test-answer", *place, max_score=2, cell_type="code")
        gradebook.add_grade_cell("why", *place, max_score=4, cell_type="markdown")
        gradebook.add_solution_cell("why", *place)
        gradebook.add_task_cell("task", *place, max_score=3, cell_type="markdown")
        gradebook.add_student("amy", first_name="Amy", last_name="Adams", email="amy@example.org")
        gradebook.add_student("bob", first_name="=Bob", lms_user_id="4711")
        gradebook.add_student("cem")
    files = {"release": CELLS, "amy": written("x + x", "Because."), "bob": written("2 * x", "<b>bold</b>")}
    for who, cells in files.items():
        step = ("release", "old") if who == "release" else ("submitted", "old", who)
        path = classroom.folder(*step) / "essay.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of(cells))
    return classroom


def written(code: str, prose: str) -> list[tuple[str, str, str]]:
    """The cells of a learner who has answered, with a cell added."""
    answered = {"answer": f"def double(x):\n    return {code}", "why": prose}
    cells = [(name, kind, answered.get(name, source)) for name, kind, source in CELLS]
    return [*cells, ("", "code", "boat = 'o'")]
