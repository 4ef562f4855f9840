"""The verdicts of a class: a table of ours in the class's gradebook.db, one row for each submitted notebook.

A row is written in the transaction that enters the marks (`book.enter`): so there is a verdict exactly if there are
marks, also after a run was killed, and a killed run continues after the last row. nbgrader's tools leave the table
alone. A row belongs to nbgrader's own row of that notebook: where a teacher removes a submission or a learner from
the gradebook, the verdict is gone too, and the submission is graded again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, MetaData, String, Table, Text, delete, insert

from studio.grading.verdict import Result, parse_result

from .classroom import Submission

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

OURS = MetaData()  # our tables in nbgrader's database
TABLE = Table(
    "sampan_outcome",
    OURS,
    Column("submitted_notebook", String(32), primary_key=True),  # its id
    Column("told", Text, nullable=False),  # an Outcome as JSON
)


@dataclass(frozen=True)
class Outcome:
    """How grading one submission ended. Times are seconds since 1970, `seconds` is how long grading took.

    `trouble` is empty if it was graded; else the kind of problem (`grading.trouble.<kind>`), with `detail` if there
    is one, and no exercises.
    """

    student: str
    assignment: str
    notebook: str
    mark: str  # of the content that was graded, see submissions.mark
    submitted: float
    graded: float
    seconds: float = 0.0
    attempt: int = 1
    trouble: str = ""
    detail: str = ""
    sandboxed: bool = False
    stamped: bool = (
        False  # `submitted` is what nbgrader's timestamp.txt says; else when the file was last changed
    )
    exercises: tuple[Result, ...] = ()

    @property
    def submission(self) -> Submission:
        return Submission(self.student, self.assignment, self.notebook)

    @property
    def failed(self) -> bool:
        return bool(self.trouble) or not all(exercise.passed for exercise in self.exercises)

    def earned(self) -> dict[str, float]:
        """{slot: points}"""
        return {exercise.id: exercise.earned for exercise in self.exercises}


def parse(text: str) -> Outcome | None:
    """An outcome from its JSON. One that cannot be read is ignored: the submission is graded again."""
    try:
        told = json.loads(text)
        return Outcome(**{**told, "exercises": tuple(map(parse_result, told["exercises"]))})
    except (ValueError, TypeError, KeyError):
        return None


def keep(gradebook: Gradebook, notebook: Any, outcome: Outcome) -> None:
    """Replaces the outcome of a submitted notebook (nbgrader's row); the caller commits."""
    told = json.dumps(asdict(outcome), ensure_ascii=False).encode("utf-8", "replace").decode()
    gradebook.db.flush()  # a row that is new gets its id now
    gradebook.db.execute(delete(TABLE).where(TABLE.c.submitted_notebook == notebook.id))
    gradebook.db.execute(insert(TABLE).values(submitted_notebook=notebook.id, told=told))


def load(gradebook: Gradebook, submission: Submission) -> Outcome | None:
    """The outcome of a submission, if it has one."""
    from nbgrader.api import MissingEntry

    place = (submission.notebook, submission.assignment, submission.student)
    try:
        notebook = gradebook.find_submission_notebook(*place)
    except MissingEntry:
        return None
    told = gradebook.db.query(TABLE.c.told).filter(TABLE.c.submitted_notebook == notebook.id).scalar()
    return None if told is None else parse(told)


def all_of(gradebook: Gradebook) -> list[Outcome]:
    """Every outcome of a class, in the order of assignment, notebook and student."""
    from nbgrader.api import SubmittedNotebook

    rows = gradebook.db.query(TABLE.c.told).join(
        SubmittedNotebook, SubmittedNotebook.id == TABLE.c.submitted_notebook
    )
    found = [outcome for (told,) in rows if (outcome := parse(told)) is not None]
    return sorted(found, key=lambda o: (o.assignment, o.notebook, o.student))
