"""Marks and comments by hand, in nbgrader's own columns: `manual_score`, `extra_credit`, `manual_comment`.

So nbgrader's formgrader and exports agree with these pages, and grading again (`book.enter`) never touches them. Two
teachers may mark at the same time: a change is refused if what it would replace is not what its author has seen.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import answers, book
from .classroom import Classroom, Submission

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

MOST_COMMENT = 10_000  # characters
MOST_EXTRA = 1000.0  # points


@dataclass(frozen=True)
class Mark:
    """A graded cell: its points, and the marks of the grader and of a teacher; None: no mark. `open`: a teacher has to
    look at it, as nbgrader's `needs_manual_grade` says."""

    cell: str
    points: float
    auto: float | None = None
    manual: float | None = None
    extra: float | None = None
    open: bool = True

    @property
    def given(self) -> float | None:
        """The mark without extra credit: a teacher's comes before the grader's."""
        return self.auto if self.manual is None else self.manual

    @property
    def score(self) -> float:
        """As nbgrader counts it: no extra credit without a mark."""
        return 0.0 if self.given is None else self.given + (self.extra or 0.0)


@dataclass(frozen=True)
class Marked:
    """What is marked together: the cells of a part, and the comment on its answer (None: no answer, so no comment)."""

    part: answers.Part
    marks: tuple[Mark, ...]
    comment: str | None

    @property
    def version(self) -> str:
        """Of what a teacher has entered; it changes with every change."""
        told = [[mark.cell, mark.manual, mark.extra] for mark in self.marks]
        return _digest(told, self.comment or "")

    @property
    def score(self) -> float:
        return sum(mark.score for mark in self.marks)

    @property
    def points(self) -> float:
        return sum(mark.points for mark in self.marks)


@dataclass(frozen=True)
class Entry:
    """What a teacher sends for one part: {cell: (manual, extra)}, the comment, and the version that was shown."""

    marks: Mapping[str, tuple[float | None, float | None]]
    comment: str
    seen: str

    @property
    def version(self) -> str:
        return _digest([[cell, manual, extra] for cell, (manual, extra) in self.marks.items()], self.comment)


def _digest(marks: list[list[Any]], comment: str) -> str:
    text = comment.replace("\r\n", "\n").strip()  # as a browser sends it back
    return hashlib.sha256(json.dumps([marks, text]).encode()).hexdigest()[:16]


class Changed(Exception):
    """Another teacher has changed these parts meanwhile; nothing was saved. `parts` are their positions."""

    def __init__(self, parts: list[int]) -> None:
        super().__init__(f"changed meanwhile: {parts}")
        self.parts = parts


def number(text: str, most: float, what: str) -> float | None:
    """A mark as a teacher writes it, with a point or a comma; None for an empty field. Raises `ValueError`."""
    text = text.strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ValueError(f"{what}: expected a number from 0 to {most:g}, got {text!r}")
    return value


def load(gradebook: Gradebook, classroom: Classroom, submission: Submission) -> list[Marked]:
    """The parts of a submission with their marks; empty if the gradebook does not know the notebook."""
    from nbgrader.api import MissingEntry

    try:
        notebook = gradebook.find_notebook(submission.notebook, submission.assignment)
    except MissingEntry:
        return []
    graded = {cell.name: float(cell.max_score) for cell in (*notebook.grade_cells, *notebook.task_cells)}
    written = {cell.name for cell in (*notebook.solution_cells, *notebook.task_cells)}
    order, _ = answers.handed_out(classroom, submission)
    known = [cell.name for cell in notebook.source_cells]
    order = order or known or sorted(written | graded.keys())
    row = _row(gradebook, submission)
    grades = {grade.name: grade for grade in row.grades} if row else {}
    comments = {comment.name: comment.manual_comment for comment in row.comments} if row else {}
    return [
        Marked(
            part,
            tuple(_mark(cell, graded[cell], grades.get(cell)) for cell in part.graded),
            (comments.get(part.answer) or "") if part.answer else None,
        )
        for part in answers.parts(order, written, set(graded))
    ]


def _mark(cell: str, points: float, grade: Any) -> Mark:
    if grade is None:
        return Mark(cell, points)
    return Mark(
        cell, points, grade.auto_score, grade.manual_score, grade.extra_credit, bool(grade.needs_manual_grade)
    )


def _row(gradebook: Gradebook, submission: Submission) -> Any:
    from nbgrader.api import MissingEntry

    try:
        return gradebook.find_submission_notebook(
            submission.notebook, submission.assignment, submission.student
        )
    except MissingEntry:
        return None


def save(classroom: Classroom, submission: Submission, entries: Sequence[Entry]) -> None:
    """Stores the marks and comments of a submission, one entry for each part, in their order, in one transaction.

    Raises `Changed` if a part that these entries change was changed by another meanwhile, `ValueError` if the entries do
    not fit the notebook's parts.
    """
    with book.writing(classroom), book.opened(classroom) as gradebook:
        stored = load(gradebook, classroom, submission)
        if [set(entry.marks) for entry in entries] != [set(part.part.graded) for part in stored]:
            raise ValueError("the notebook has other graded cells now; open the page again")
        news = [
            (number, entry, part)
            for number, (entry, part) in enumerate(zip(entries, stored, strict=True))
            if entry.version != entry.seen and entry.version != part.version
        ]
        clashes = [number for number, entry, part in news if entry.seen != part.version]
        if clashes:
            raise Changed(clashes)
        row = _row(gradebook, submission) or book.begin(gradebook, submission)
        grades = {grade.name: grade for grade in row.grades}
        comments = {comment.name: comment for comment in row.comments}
        for _, entry, part in news:
            for cell, (manual, extra) in entry.marks.items():
                grades[cell].manual_score, grades[cell].extra_credit = manual, extra
            if part.part.answer:
                comments[part.part.answer].manual_comment = entry.comment or None
        for grade in grades.values():  # the teacher has seen them all; as nbgrader's formgrader decides it
            grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        gradebook.db.commit()


@dataclass(frozen=True)
class Beside:
    """The submissions of the other learners of the same notebook, as names; None: there is none.

    `open` is the next one that a teacher has to look at, `silent` the next with points missing and without a comment;
    both are searched to the end and then from the beginning.
    """

    previous: str | None
    next: str | None
    open: str | None
    silent: str | None
    position: int
    count: int


def beside(gradebook: Gradebook, classroom: Classroom, submission: Submission) -> Beside:
    """The neighbours of a submission in the order of the learners' names."""
    place = (submission.assignment, submission.notebook)
    names = [s.student for s in classroom.submissions() if (s.assignment, s.notebook) == place]
    at = names.index(submission.student)
    others = names[at + 1 :] + names[:at]
    looked_at, complete, commented = _standing(gradebook, *place)
    return Beside(
        names[at - 1] if at else None,
        names[at + 1] if at + 1 < len(names) else None,
        next((name for name in others if name not in looked_at), None),
        next((name for name in others if name not in complete and name not in commented), None),
        at + 1,
        len(names),
    )


def _standing(gradebook: Gradebook, assignment: str, notebook: str) -> tuple[set[str], set[str], set[str]]:
    """The learners whose cells all have a mark, those with full points, and those with a comment."""
    from nbgrader.api import (
        Assignment,
        Comment,
        Grade,
        GradeCell,
        Notebook,
        SubmittedAssignment,
        SubmittedNotebook,
        TaskCell,
    )
    from sqlalchemy import func

    def of(row: Any, *columns: Any) -> Any:
        return (
            gradebook.db.query(SubmittedAssignment.student_id, *columns)
            .select_from(row)
            .join(SubmittedNotebook, SubmittedNotebook.id == row.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
            .join(Assignment, Assignment.id == Notebook.assignment_id)
            .filter(Assignment.name == assignment, Notebook.name == notebook)
        )

    code, task = GradeCell.__table__, TaskCell.__table__
    points = func.coalesce(code.c.max_score, task.c.max_score, 0.0)
    rows = (
        of(Grade, Grade.needs_manual_grade, Grade.score, points)
        .outerjoin(code, code.c.id == Grade.cell_id)
        .outerjoin(task, task.c.id == Grade.cell_id)
        .all()
    )
    everyone = {student for student, *_ in rows}
    looked_at = everyone - {student for student, waits, *_ in rows if waits}
    complete = everyone - {student for student, _, score, most in rows if (score or 0.0) < most}
    commented = {student for student, text in of(Comment, Comment.manual_comment) if text}
    return looked_at, complete, commented
