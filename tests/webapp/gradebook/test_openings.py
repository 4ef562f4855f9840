"""What a hand-in can earn after its learner has opened a model answer."""

from __future__ import annotations

from studio.gradebook import history, openings
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.intake import accept
from studio.gradebook.terms import Terms
from studio.grading.checker import Assignment
from studio.grading.model_answer import ModelAnswer
from studio.model_answers import Rule
from tests.webapp.gradebook.test_history import AMY, NOON, outcome

PLACE = Assignment(AMY.assignment, AMY.notebook)
OPENED = NOON + 100


def graded(room: Classroom, content: bytes, when: float, earned: float) -> float:
    """Hands in and grades; the points after the limit."""
    accept(room, AMY, content, when)
    ended = openings.limited(room, outcome(content, when, earned=earned, passed=earned == 1))
    history.graded(room, ended, content)
    return ended.exercises[0].earned


def test_later_hand_ins_earn_no_more_than_those_before(essays: Classroom) -> None:
    answer = ModelAnswer("def f(): ...")
    openings.of(essays, "amy").open(PLACE, "other", answer, NOON)
    assert graded(essays, b"half", NOON + 1, 0.5) == 0.5
    assert graded(essays, b"less", NOON + 2, 0.2) == 0.2
    openings.of(essays, "amy").open(PLACE, "ops.relu", answer, OPENED)
    assert graded(essays, b"copied", OPENED + 1, 1.0) == 0.5
    assert graded(essays, b"copied again", OPENED + 9, 1.0) == 0.5  # what was limited raises nothing
    assert graded(essays, b"worse", OPENED + 10, 0.1) == 0.1
    again = openings.limited(essays, outcome(b"half", NOON + 1))  # a regrade of a hand-in from before
    assert again.exercises[0].earned == 1.0 and not again.exercises[0].opened
    late = openings.limited(essays, outcome(b"copied", OPENED + 1))
    assert late.exercises[0].opened == OPENED and late.exercises[0].passed
    listed = openings.of_assignment(essays, "old")
    assert [(one.student, one.notebook, one.slot) for one in listed] == [
        *(("amy", "essay", "other"), ("amy", "essay", "ops.relu")),
    ]
    assert openings.of_submission(essays, Submission("bob", "old", "essay")) == {}


def test_without_a_hand_in_before_there_is_nothing_to_keep(essays: Classroom) -> None:
    openings.of(essays, "amy").open(PLACE, "ops.relu", ModelAnswer("x"), OPENED)
    assert graded(essays, b"copied", OPENED + 1, 1.0) == 0.0


def test_after_the_deadline_is_after_everyones() -> None:
    terms = Terms(deadline=100.0, extensions={"amy": 50.0, "bob": 20.0})
    assert openings.rule(terms) == Rule("deadline", 3, 150.0)
    assert openings.rule(Terms(answers="failures", failures=2)) == Rule("failures", 2, None)
