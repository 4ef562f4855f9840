"""Model answers in a class: who has opened which, and what a hand-in after that can still earn.

A hand-in that was received after its learner opened the answer to an exercise earns for it at most what the hand-ins
before have earned. A teacher can give other points by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from studio.grading.checker import Assignment
from studio.model_answers import ModelAnswers, Opened, Rule

from . import history, terms
from .classroom import Classroom, Submission
from .outcomes import Outcome

FOLDER = "model-answers"  # in the class's private folder, one of each learner in it


@dataclass(frozen=True)
class Opening:
    """One answer that a learner has opened; `when` is in seconds since 1970."""

    student: str
    notebook: str
    slot: str
    when: float


def of(classroom: Classroom, student: str) -> ModelAnswers:
    """The records of a learner."""
    return ModelAnswers(classroom.private / FOLDER / student)


def rule(its: terms.Terms) -> Rule:
    """When answers of an assignment may be opened: "after the deadline" is after that of every learner."""
    due = its.deadline
    if due is not None:
        due += max(its.extensions.values(), default=0.0)
    return Rule(its.answers, its.failures, due)


def of_assignment(classroom: Classroom, assignment: str) -> list[Opening]:
    """What the learners have opened in an assignment, in the order of time."""
    return sorted(_openings(classroom, assignment), key=lambda one: one.when)


def of_submission(classroom: Classroom, submission: Submission) -> dict[str, Opened]:
    """What the learner has opened in a notebook, by slot."""
    place = Assignment(submission.assignment, submission.notebook)
    return dict(of(classroom, submission.student).of(place).opened)


def limited(classroom: Classroom, outcome: Outcome) -> Outcome:
    """The outcome with the points that it may have: those of an exercise whose answer was opened before."""
    opened = of_submission(classroom, outcome.submission)
    late = {slot: one.when for slot, one in opened.items() if one.when < outcome.submitted}
    if not late:
        return outcome
    before = history.versions(classroom, outcome.submission)

    def most(slot: str) -> float:
        earned = (
            points
            for version in before
            if version.received <= late[slot]
            for name, points, _, _ in version.exercises
            if name == slot
        )
        return max(earned, default=0.0)

    exercises = tuple(
        replace(one, earned=min(one.earned, most(one.id)), opened=late[one.id]) if one.id in late else one
        for one in outcome.exercises
    )
    return replace(outcome, exercises=exercises)


def _openings(classroom: Classroom, assignment: str) -> Iterator[Opening]:
    for folder in sorted((classroom.private / FOLDER).glob("*")):
        answers = ModelAnswers(folder)
        for path in sorted((folder / assignment).glob("*.json")):
            for slot, one in answers.of(Assignment(assignment, path.stem)).opened.items():
                yield Opening(folder.name, path.stem, slot, one.when)
