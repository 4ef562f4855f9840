"""Marks by hand, read back by nbgrader; two teachers at once; grading again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.gradebook import book, marking
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.marking import Changed, Entry, Marked
from studio.gradebook.outcomes import Outcome
from studio.gradebook.work import work
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import EXERCISE, NOTEBOOK, ROOT

AMY, BOB = Submission("amy", "old", "essay"), Submission("bob", "old", "essay")
TYPED = ((1.5, None, "Nice."), (4.0, 0.5, "Why\r\nnot?"), (None, None, ""))


def entries(parts: tuple[Marked, ...], typed: tuple[Any, ...] = TYPED) -> list[Entry]:
    """What a teacher sends who saw these parts, which have a graded cell each."""
    return [
        Entry({part.marks[0].cell: (manual, extra)}, comment, part.version)
        for part, (manual, extra, comment) in zip(parts, typed, strict=True)
    ]


def test_nbgrader_reads_what_was_saved(essays: Classroom) -> None:
    shown = work(essays, AMY)
    assert [(p.part.answer, p.points, p.comment, p.marks[0].open) for p in shown.parts] == [
        ("answer", 2.0, "", True),
        ("why", 4.0, "", True),
        ("task", 3.0, "", True),
    ]
    assert [p.part.written.text for p in shown.parts if p.part.written][1] == "Because."
    marking.save(essays, AMY, entries(shown.parts))
    with book.opened(essays) as gradebook:
        cells = {c: gradebook.find_grade(c, "essay", "old", "amy") for c in ("test-answer", "why", "task")}
        assert {c: (g.manual_score, g.extra_credit, g.needs_manual_grade) for c, g in cells.items()} == {
            "test-answer": (1.5, None, False),
            "why": (4.0, 0.5, False),
            "task": (None, None, True),
        }
        submission = gradebook.find_submission("old", "amy")
        assert (submission.score, submission.needs_manual_grade) == (6.0, True)
        told = [gradebook.find_comment(c, "essay", "old", "amy").comment for c in ("answer", "why", "task")]
        assert told == ["Nice.", "Why\r\nnot?", None]
    again = work(essays, AMY)
    assert sum(part.score for part in again.parts) == 6.0


def test_a_change_that_was_not_seen_is_not_overwritten(essays: Classroom) -> None:
    first = second = work(essays, AMY).parts
    marking.save(essays, AMY, entries(first))
    with pytest.raises(Changed) as refused:  # the second teacher changes two parts; one was changed meanwhile
        marking.save(essays, AMY, entries(second, ((0.0, None, ""), (None, None, ""), (3.0, None, "Fine"))))
    assert refused.value.parts == [0]
    stored = work(essays, AMY).parts
    assert (stored[0].marks[0].manual, stored[2].marks[0].manual, stored[2].comment) == (1.5, None, "")
    # Only what the second teacher changed is compared: the first part stays the first teacher's.
    marking.save(essays, AMY, entries(second, ((None, None, ""), (None, None, ""), (3.0, None, "Fine"))))
    stored = work(essays, AMY).parts
    assert [(p.marks[0].manual, p.comment) for p in stored] == [
        (1.5, "Nice."),
        (4.0, "Why\r\nnot?"),
        (3.0, "Fine"),
    ]
    # The same change twice is not a clash, and neither is a comment as a browser sends it back.
    marking.save(
        essays, AMY, entries(second, ((1.5, None, "Nice."), (4.0, 0.5, " Why\nnot? "), (3.0, None, "Fine")))
    )
    assert work(essays, AMY).parts == stored


def test_entries_of_another_notebook_are_refused(essays: Classroom) -> None:
    parts = work(essays, AMY).parts
    with pytest.raises(ValueError, match="other graded cells"):
        marking.save(essays, AMY, entries(parts)[:2])


@pytest.mark.parametrize(("text", "value"), [("", None), (" ", None), ("1,5", 1.5), ("2", 2.0), ("0", 0.0)])
def test_a_mark_as_it_is_written(text: str, value: float | None) -> None:
    assert marking.number(text, 2.0, "mark") == value


@pytest.mark.parametrize("text", ["2.1", "-1", "nan", "inf", "two", "1e3", "0x1"])
def test_no_mark(text: str) -> None:
    with pytest.raises(ValueError, match="mark: expected a number from 0 to 2"):
        marking.number(text, 2.0, "mark")


def test_from_learner_to_learner(essays: Classroom) -> None:
    with book.opened(essays) as gradebook:
        beside = marking.beside(gradebook, essays, AMY)
        assert (beside.previous, beside.next, beside.position, beside.count) == (None, "bob", 1, 2)
        assert (beside.open, beside.silent) == ("bob", "bob")
    full = ((2.0, None, ""), (4.0, None, ""), (3.0, None, ""))
    marking.save(essays, BOB, entries(work(essays, BOB).parts, full))
    with book.opened(essays) as gradebook:
        beside = marking.beside(gradebook, essays, AMY)
        assert (beside.open, beside.silent) == (None, None)
        assert marking.beside(gradebook, essays, BOB).open == "amy"
    marking.save(essays, AMY, entries(work(essays, AMY).parts, ((0.0, None, ""), *full[1:])))
    with book.opened(essays) as gradebook:  # marked in full, but nothing said about the missing points
        assert marking.beside(gradebook, essays, BOB).open is None
        assert marking.beside(gradebook, essays, BOB).silent == "amy"


def test_grading_again_leaves_a_teachers_marks(essays: Classroom, tmp_path: Path) -> None:
    from studio.gradebook.handout import hand_out

    hand_out(essays, "week1", [ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"])
    place = Submission("amy", "week1", NOTEBOOK)
    copy = essays.path(place)
    copy.parent.mkdir(parents=True)
    copy.write_bytes((essays.folder("release", "week1") / copy.name).read_bytes())
    outcome = Outcome("amy", "week1", NOTEBOOK, "sha256:0", 1.7e9, 1.7e9, exercises=(parse_result(EXERCISE),))
    with book.opened(essays) as gradebook:
        book.enter(gradebook, outcome)
    parts = work(essays, place).parts
    assert [(m.cell, m.auto, m.open) for p in parts for m in p.marks] == [("check-ops-relu", 1.0, False)]
    marking.save(essays, place, entries(parts, ((0.25, 0.5, "Copied?"),)))
    with book.opened(essays) as gradebook:
        book.enter(gradebook, outcome)
        assert gradebook.find_submission("week1", "amy").score == 0.75
    (part,) = work(essays, place).parts
    assert (part.marks[0].manual, part.marks[0].extra, part.comment) == (0.25, 0.5, "Copied?")
    assert part.marks[0].open  # as after nbgrader's own autograder: the teacher may want to look again
