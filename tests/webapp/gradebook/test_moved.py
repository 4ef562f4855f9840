"""Exercises that are in another notebook of the course now: their marks, comments and verdicts go along, once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from studio.gradebook import book, moved, outcomes
from studio.gradebook.classroom import COURSE, Classroom, Submission
from studio.gradebook.outcomes import Outcome
from studio.grading.release import check_id
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import EXERCISE

OLD, NEW = "05_sparse", "05b_sparse_training"
STAYS, MOVES = "kernels.sparse.grouped", "sparse.operators.spmm"


def as_it_was(room: Classroom) -> None:
    """One notebook with both exercises, passed by ada, who has a mark by hand and a comment; bob failed."""
    cells = []
    for slot, points in ((STAYS, 3), (MOVES, 2)):
        marks = {"schema_version": 3, "task": False, "locked": False}
        name = slot.replace(".", "-")
        cells.append(
            new_code_cell(
                "x", metadata={"nbgrader": {**marks, "grade_id": name, "solution": True, "grade": False}}
            )
        )
        graded = {"grade_id": check_id(slot), "solution": False, "grade": True, "points": points}
        cells.append(new_code_cell("x", metadata={"nbgrader": {**marks, **graded}}))
    book.know(room, COURSE, OLD, new_notebook(cells=cells))
    with book.opened(room) as gradebook:
        for student, earned in (("ada", 1), ("bob", 0)):
            exercises = tuple(
                parse_result({**EXERCISE, "id": slot, "earned": earned * points, "points": points})
                for slot, points in ((STAYS, 3), (MOVES, 2))
            )
            book.enter(gradebook, Outcome(student, COURSE, OLD, "sha256:a", 5.0, 6.0, exercises=exercises))
        grade = gradebook.find_grade(check_id(MOVES), OLD, COURSE, "ada")
        grade.manual_score = 1.5
        gradebook.find_comment(MOVES.replace(".", "-"), OLD, COURSE, "ada").manual_comment = "Well done."
        gradebook.db.commit()


def test_marks_comments_and_verdicts_go_along(essays: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(moved, "moves", dict)
        as_it_was(essays)
        with book.opened(essays) as gradebook:
            total = gradebook.find_assignment(COURSE).max_score
    for _ in range(2):
        with book.opened(essays) as gradebook:
            assert gradebook.find_assignment(COURSE).max_score == total
            assert [c.name for c in gradebook.find_notebook(OLD, COURSE).grade_cells] == [check_id(STAYS)]
            assert book.knows(gradebook, COURSE, NEW)
            grade = gradebook.find_grade(check_id(MOVES), NEW, COURSE, "ada")
            assert (grade.auto_score, grade.manual_score, grade.score) == (2.0, 1.5, 1.5)
            comment = gradebook.find_comment(MOVES.replace(".", "-"), NEW, COURSE, "ada")
            assert comment.manual_comment == "Well done."
            assert gradebook.find_submission(COURSE, "ada").score == 4.5
            for name, slot, points in ((OLD, STAYS, 3.0), (NEW, MOVES, 2.0)):
                for student, earned in (("ada", points), ("bob", 0.0)):
                    told = outcomes.load(gradebook, Submission(student, COURSE, name))
                    assert told is not None and told.notebook == name and told.earned() == {slot: earned}
    with book.opened(essays) as gradebook:  # and a check of the new notebook is entered as any other
        first = outcomes.load(gradebook, Submission("bob", COURSE, NEW))
        assert first is not None
        book.enter(gradebook, replace(first, exercises=(replace(first.exercises[0], earned=2.0),)))
        assert gradebook.find_grade(check_id(MOVES), NEW, COURSE, "bob").score == 2.0


def test_a_class_keeps_the_version_that_it_has_released(
    essays: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(moved, "moves", dict)
        as_it_was(essays)
    source = essays.folder("source", COURSE)
    source.mkdir(parents=True)
    (source / f"{OLD}.ipynb").write_text("{}")
    with book.opened(essays) as gradebook:
        assert len(gradebook.find_notebook(OLD, COURSE).grade_cells) == 2
        assert not book.knows(gradebook, COURSE, NEW)
