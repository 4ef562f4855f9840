"""Feedback: what a learner gets back for an assignment, as it was when the teacher returned it.

A snapshot of marks, verdicts and comments is a row of ours in the class's gradebook, beside nbgrader's row of the
submission: later changes are not seen by the learner until the teacher returns the marks again. `returning.py` also
writes it to nbgrader's folder `feedback/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Float, String, Table, Text, delete, insert

from .outcomes import OURS

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

TABLE = Table(
    "sampan_feedback",
    OURS,
    Column("submitted_assignment", String(32), primary_key=True),  # its id
    Column("returned", Float, nullable=False),  # seconds since 1970
    Column("told", Text, nullable=False),  # a Feedback as JSON
)


@dataclass(frozen=True)
class Returned:
    """One exercise. `verdict` and its texts are empty where the grader has none; `extra` is included in `score`."""

    title: str
    title_zh: str
    points: float
    score: float
    extra: float = 0.0
    by_hand: bool = False
    comment: str = ""
    verdict: str = ""
    message: str = ""
    message_zh: str = ""
    marked: bool = True  # False: neither the grader nor a teacher has given a mark

    def told(self, what: str, lang: str) -> str:
        """Its title or message in a language."""
        text: str = getattr(self, what if lang == "en" else f"{what}_{lang}")
        return text


@dataclass(frozen=True)
class ReturnedNotebook:
    """`trouble` is the reason why it could not be graded, or empty (`grading.trouble.<kind>`)."""

    name: str
    exercises: tuple[Returned, ...]
    trouble: str = ""

    @property
    def score(self) -> float:
        return sum(exercise.score for exercise in self.exercises)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


@dataclass(frozen=True)
class Feedback:
    """What one learner gets for one assignment. `penalty` is subtracted because it was late."""

    assignment: str
    student: str
    notebooks: tuple[ReturnedNotebook, ...]
    penalty: float = 0.0
    returned: float = 0.0  # seconds since 1970; 0: not returned

    @property
    def points(self) -> float:
        return sum(notebook.points for notebook in self.notebooks)

    @property
    def score(self) -> float:
        return max(0.0, sum(notebook.score for notebook in self.notebooks) - self.penalty)

    def as_json(self) -> dict[str, Any]:
        """For the learner's server; `parse` reads it."""
        return asdict(self)


def parse(told: Any) -> Feedback:
    """Raises `KeyError`, `TypeError` or `ValueError` if it is not feedback."""
    notebooks = tuple(
        ReturnedNotebook(
            str(notebook["name"]),
            tuple(Returned(**exercise) for exercise in notebook["exercises"]),
            str(notebook["trouble"]),
        )
        for notebook in told["notebooks"]
    )
    return Feedback(
        str(told["assignment"]),
        str(told["student"]),
        notebooks,
        float(told["penalty"]),
        float(told["returned"]),
    )


def keep(gradebook: Gradebook, feedback: Feedback) -> None:
    """Replaces the feedback of a submission; the caller commits. Raises nbgrader's MissingEntry without one."""
    row = gradebook.find_submission(feedback.assignment, feedback.student)
    told = json.dumps(feedback.as_json(), ensure_ascii=False).encode("utf-8", "replace").decode()
    gradebook.db.execute(delete(TABLE).where(TABLE.c.submitted_assignment == row.id))
    gradebook.db.execute(
        insert(TABLE).values(submitted_assignment=row.id, returned=feedback.returned, told=told)
    )


def forget(gradebook: Gradebook, assignment: str, students: Iterable[str]) -> None:
    """Withdraws the feedback of these learners; the caller commits."""
    from nbgrader.api import Assignment, SubmittedAssignment

    rows = (
        gradebook.db.query(SubmittedAssignment.id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == assignment, SubmittedAssignment.student_id.in_(list(students)))
    )
    ids = [identity for (identity,) in rows]
    gradebook.db.execute(delete(TABLE).where(TABLE.c.submitted_assignment.in_(ids)))


def of_learner(gradebook: Gradebook, student: str) -> list[Feedback]:
    """What was returned to a learner, in the order of the assignments' names."""
    from nbgrader.api import SubmittedAssignment

    return _found(gradebook, SubmittedAssignment.student_id == student)


def of_assignment(gradebook: Gradebook, assignment: str) -> dict[str, Feedback]:
    """{learner: what was returned} of an assignment."""
    from nbgrader.api import Assignment

    return {found.student: found for found in _found(gradebook, Assignment.name == assignment)}


def _found(gradebook: Gradebook, condition: Any) -> list[Feedback]:
    from nbgrader.api import Assignment, SubmittedAssignment

    rows = (
        gradebook.db.query(TABLE.c.told)
        .join(SubmittedAssignment, SubmittedAssignment.id == TABLE.c.submitted_assignment)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(condition)
        .order_by(Assignment.name, SubmittedAssignment.student_id)
    )
    return [parse(json.loads(told)) for (told,) in rows]
