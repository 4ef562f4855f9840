"""A class as a table: the result of each learner in each exercise, and the hidden case that fails most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studio.grading.release import check_id

from . import book, outcomes
from .classroom import Classroom, Submission
from .outcomes import Outcome

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

SHADES = 4  # steps of the heat map between nothing and everything


@dataclass(frozen=True)
class Column:
    """A graded cell of a notebook. `missed` is the hidden case that most learners fail, by language, and how many."""

    notebook: str
    cell: str
    points: float
    titles: dict[str, str]
    missed: dict[str, str]
    missed_by: int
    mean: float | None

    def title(self, lang: str) -> str:
        return self.titles[lang]


@dataclass(frozen=True)
class Mark:
    """One field. `kind` is a verdict (`verdict.<kind>`), "trouble", "marked" (by nbgrader or by hand), "waiting"
    (handed in, not graded), "unchecked" (handed in, and without hidden checks not ours to grade) or "missing";
    `earned` is from the gradebook."""

    kind: str
    earned: float | None
    points: float
    by_hand: bool = False

    @property
    def is_verdict(self) -> bool:
        return self.kind not in ("trouble", "marked", "waiting", "unchecked", "missing")

    @property
    def shade(self) -> int:
        """0 (nothing) to `SHADES` (everything); -1 where there is no mark."""
        if self.earned is None:
            return -1
        part = self.earned / self.points if self.points else 1.0
        return max(0, min(SHADES, int(part * SHADES)))


@dataclass(frozen=True)
class Row:
    student: str
    name: str
    marks: tuple[Mark, ...]

    @property
    def earned(self) -> float:
        return sum(mark.earned or 0.0 for mark in self.marks)


@dataclass(frozen=True)
class Table:
    assignment: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    waiting: int  # submissions without a verdict, or changed since theirs
    graded: int  # submissions with a verdict
    failed: int  # those of them that did not pass in full
    unchecked: tuple[str, ...] = ()  # notebooks that were handed in and have no hidden checks

    @property
    def points(self) -> float:
        return sum(column.points for column in self.columns)

    @property
    def mean(self) -> float:
        return sum(row.earned for row in self.rows) / max(1, len(self.rows))

    def notebooks(self) -> list[tuple[str, int]]:
        """The notebooks, each with its number of columns, in their order."""
        counts = Counter(column.notebook for column in self.columns)
        return list(counts.items())


def assignments(classroom: Classroom) -> list[str]:
    """Those on disk and those that only the gradebook knows."""
    with book.opened(classroom) as gradebook:
        return sorted(
            {assignment.name for assignment in gradebook.assignments} | classroom.assignments().keys()
        )


def table(classroom: Classroom, assignment: str) -> Table:
    """The state of an assignment."""
    handed_in = {s for s in classroom.submissions() if s.assignment == assignment}
    unchecked = tuple(notebook for name, notebook in classroom.unchecked() if name == assignment)
    with book.opened(classroom) as gradebook:
        names = {s.id: " ".join(filter(None, (s.first_name, s.last_name))) for s in gradebook.students}
        found = {o.submission: o for o in outcomes.all_of(gradebook) if o.assignment == assignment}
        cells = _cells(gradebook, assignment)
        grades = _grades(gradebook, assignment)
    students = sorted(
        {s.student for s in handed_in}
        | {student for student, *_ in grades}
        | (names.keys() if cells else set())
    )
    rows = tuple(
        Row(
            student,
            names.get(student, ""),
            tuple(
                _mark(
                    found.get(place := Submission(student, assignment, notebook)),
                    "missing"
                    if place not in handed_in
                    else "unchecked"
                    if notebook in unchecked
                    else "waiting",
                    cell,
                    points,
                    grades.get((student, notebook, cell)),
                )
                for notebook, cell, points in cells
            ),
        )
        for student in students
    )
    columns = tuple(
        _column(notebook, cell, points, list(found.values()), [row.marks[n].earned for row in rows])
        for n, (notebook, cell, points) in enumerate(cells)
    )
    waiting = sum(
        _waits(classroom, place, found.get(place)) for place in handed_in if place.notebook not in unchecked
    )
    failed = sum(outcome.failed for outcome in found.values())
    return Table(assignment, columns, rows, waiting, len(found), failed, unchecked)


def _waits(classroom: Classroom, place: Submission, outcome: Outcome | None) -> bool:
    return outcome is None or classroom.path(place).lstat().st_mtime > outcome.graded


def _cells(gradebook: Gradebook, assignment: str) -> list[tuple[str, str, float]]:
    """(notebook, graded cell, points), in the order of the notebooks and of their cells."""
    from nbgrader.api import MissingEntry

    try:
        notebooks = gradebook.find_assignment(assignment).notebooks
    except MissingEntry:
        return []
    return [
        (notebook.name, cell.name, float(cell.max_score))
        for notebook in sorted(notebooks, key=lambda notebook: notebook.name)
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    ]


def _grades(gradebook: Gradebook, assignment: str) -> dict[tuple[str, str, str], Any]:
    """{(student, notebook, cell): grade} in one query: a class has hundreds."""
    from nbgrader.api import Assignment, BaseCell, Grade, Notebook, SubmittedAssignment, SubmittedNotebook

    rows = (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            Notebook.name,
            BaseCell.name,
            Grade.auto_score,
            Grade.manual_score,
            Grade.score,
        )
        .select_from(Grade)
        .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .filter(Assignment.name == assignment)
    )
    return {(student, notebook, cell): rest for student, notebook, cell, *rest in rows}


def _mark(outcome: Outcome | None, ungraded: str, cell: str, points: float, grade: Any) -> Mark:
    """`ungraded` is the kind without a mark."""
    auto, manual, score = grade or (None, None, None)
    earned = None if auto is None and manual is None else float(score or 0.0)
    kind = "marked" if earned is not None else ungraded
    if outcome is not None and cell.startswith("check-"):
        verdicts = {check_id(exercise.id): exercise.verdict for exercise in outcome.exercises}
        kind = "trouble" if outcome.trouble else verdicts.get(cell, kind)
    return Mark(kind, earned, points, by_hand=manual is not None)


def _column(
    notebook: str, cell: str, points: float, found: list[Outcome], earned: Iterable[float | None]
) -> Column:
    exercises = [
        exercise
        for outcome in found
        if outcome.notebook == notebook
        for exercise in outcome.exercises
        if check_id(exercise.id) == cell
    ]
    titles = (
        {"en": exercises[0].title, "zh": exercises[0].title_zh} if exercises else {"en": cell, "zh": cell}
    )
    missed = Counter((e.case, e.case_zh) for e in exercises if not e.passed and e.case).most_common(1)
    (case, case_zh), by = missed[0] if missed else (("", ""), 0)
    marks = [mark for mark in earned if mark is not None]
    mean = sum(marks) / len(marks) if marks else None
    return Column(notebook, cell, points, titles, {"en": case, "zh": case_zh}, by, mean)
