"""The verdicts of a class, one small file a submission: a run that was killed goes on where these end.

    CLASS/.sampan/outcomes/ASSIGNMENT/NOTEBOOK/STUDENT.json

A file is written whole or not at all, and before the mark is entered into the gradebook; `run.py` enters what a kill
has left unentered. So a submission is graded once, whenever the run dies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from studio.grading.verdict import Result, parse_result
from studio.runtime import write_atomically

from .classroom import Classroom, Submission


@dataclass(frozen=True)
class Outcome:
    """How grading one submission ended. Times are seconds since 1970, `seconds` is how long grading took.

    `trouble` is empty when it was graded; else the kind of what stood in the way (`grading.trouble.<kind>`), with
    `detail` as far as there is one, and no exercises.
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


def _file(classroom: Classroom, submission: Submission) -> Path:
    folder = classroom.private / "outcomes" / submission.assignment / submission.notebook
    return folder / f"{submission.student}.json"


def save(classroom: Classroom, outcome: Outcome) -> None:
    path = _file(classroom, outcome.submission)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(asdict(outcome), ensure_ascii=False).encode("utf-8", "replace"))


def load(classroom: Classroom, submission: Submission) -> Outcome | None:
    """The outcome on file. One that cannot be read is as good as none: the submission is graded again."""
    try:
        told = json.loads(_file(classroom, submission).read_text("utf-8"))
        return Outcome(**{**told, "exercises": tuple(map(parse_result, told["exercises"]))})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def all_of(classroom: Classroom) -> Iterator[Outcome]:
    """Every outcome on file, in the order of assignment, notebook and student."""
    for path in sorted((classroom.private / "outcomes").glob("*/*/*.json")):
        outcome = load(classroom, Submission(path.stem, path.parent.parent.name, path.parent.name))
        if outcome is not None:
            yield outcome
