"""Marks returned to learners: as they were then, in nbgrader's folder too, and withdrawn again."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import pytest

from studio.gradebook import book, feedback, marking, returning
from studio.gradebook.classroom import Classroom
from studio.gradebook.feedback import Feedback
from studio.gradebook.work import work
from tests.webapp.gradebook.test_marking import AMY, BOB, TYPED, entries


def of(classroom: Classroom, student: str) -> list[Feedback]:
    with book.opened(classroom) as gradebook:
        return feedback.of_learner(gradebook, student)


def mark_both(classroom: Classroom) -> None:
    for place in (AMY, BOB):
        marking.save(classroom, place, entries(work(classroom, place).parts))


def test_a_snapshot_that_later_changes_do_not_touch(essays: Classroom) -> None:
    with pytest.raises(ValueError, match="no marks to return"):
        returning.return_marks(essays, "old")
    mark_both(essays)
    assert of(essays, "amy") == []
    assert returning.return_marks(essays, "old", ["amy"]) == ["amy"]
    (one,) = of(essays, "amy")
    assert of(essays, "bob") == []
    assert (one.assignment, one.student, one.score, one.points) == ("old", "amy", 6.0, 9.0)
    (notebook,) = one.notebooks
    told = [(e.title, e.score, e.points, e.extra, e.by_hand, e.marked, e.comment) for e in notebook.exercises]
    assert told == [
        ("test-answer", 1.5, 2.0, 0.0, True, True, "Nice."),
        ("why", 4.5, 4.0, 0.5, True, True, "Why\r\nnot?"),
        ("task", 0.0, 3.0, 0.0, False, False, ""),
    ]
    parts = work(essays, AMY).parts
    marking.save(essays, AMY, entries(parts, ((0.0, None, "No."), *TYPED[1:])))
    assert of(essays, "amy") == [one]
    assert returning.return_marks(essays, "old") == ["amy", "bob"]
    (later,) = of(essays, "amy")
    assert later.score == 4.5 and later.returned > one.returned
    assert feedback.parse(json.loads(json.dumps(later.as_json()))) == later
    assert work(essays, AMY).returned == later.returned


def test_the_late_penalty_is_subtracted_and_never_below_zero(essays: Classroom) -> None:
    mark_both(essays)
    with book.opened(essays) as gradebook:
        for student, penalty in (("amy", 1.25), ("bob", 99.0)):
            gradebook.find_submission_notebook("essay", "old", student).late_submission_penalty = penalty
        gradebook.db.commit()
    returning.return_marks(essays, "old")
    assert [(of(essays, s)[0].penalty, of(essays, s)[0].score) for s in ("amy", "bob")] == [
        (1.25, 4.75),
        (99, 0),
    ]


def test_the_file_for_nbgraders_users_runs_nothing(essays: Classroom) -> None:
    mark_both(essays)
    returning.return_marks(essays, "old", lang="zh")
    file = essays.root / "feedback" / "bob" / "old" / "essay.html"
    page = file.read_text("utf-8")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page and "<b>bold" not in page and "<script" not in page
    assert "教师评分" in page and "迟交" not in page
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_withdrawn_and_returned_again(essays: Classroom) -> None:
    mark_both(essays)
    returning.return_marks(essays, "old")
    assert returning.withdraw(essays, "old", ["amy"]) == ["amy"]
    assert of(essays, "amy") == [] and len(of(essays, "bob")) == 1
    assert not (essays.root / "feedback" / "amy" / "old").exists()
    assert returning.withdraw(essays, "old") == ["bob"]
    assert returning.withdraw(essays, "old") == []
    assert returning.return_marks(essays, "old") == ["amy", "bob"]


def test_gone_with_the_submission(essays: Classroom) -> None:
    """A teacher removes the submission with nbgrader: nothing of it is shown."""
    mark_both(essays)
    returning.return_marks(essays, "old")
    with book.opened(essays) as gradebook:
        gradebook.remove_submission("old", "amy")
    assert of(essays, "amy") == []


def test_texts_in_both_languages() -> None:
    exercise = feedback.Returned("A", "甲", 1.0, 1.0, message="right", message_zh="对")
    assert [exercise.told(what, lang) for what in ("title", "message") for lang in ("en", "zh")] == [
        *("A", "甲", "right", "对"),
    ]
    assert replace(exercise, comment="x").comment == "x"
