"""The terms of an assignment: exact at the second of the deadline, fair about lateness, and the same in nbgrader's columns."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio import cli
from studio.gradebook import book, lateness, received, terms
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.outcomes import Outcome
from studio.gradebook.received import NotTaken
from studio.gradebook.submissions import mark
from studio.gradebook.terms import DAY_S, FREE, Terms
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import EXERCISE, NOTEBOOK

DUE = 1_800_000_000.0
moments = st.floats(-1e6, 4e6).map(lambda seconds: DUE + seconds)
percents = st.floats(0, 100)


def rule(percent: float, floor: float, **values: Any) -> Terms:
    return Terms(deadline=DUE, late="penalty", percent=percent, floor=floor, **values)


@given(percents, percents, moments, moments, st.floats(0, 1000))
def test_a_penalty_grows_with_lateness_and_stays_within_its_bounds(
    percent: float, floor: float, one: float, other: float, points: float
) -> None:
    made = rule(percent, floor)
    sooner, later = sorted((one, other))
    low, high = (made.penalty("amy", when, points) for when in (sooner, later))
    assert 0 <= low <= high <= points * (100 - floor) / 100 + 1e-9
    if sooner <= DUE:
        assert low == 0


@given(percents, percents, moments, st.integers(1, terms.MOST_EXTRA_S))
def test_an_extension_shifts_the_deadline_of_one_learner(
    percent: float, floor: float, when: float, extra: int
) -> None:
    made = rule(percent, floor).extended("amy", extra)
    assert made.penalty("amy", when + extra, 10) == pytest.approx(made.penalty("bob", when, 10))
    assert made.due("amy") == DUE + extra and made.due("bob") == DUE
    assert made.extended("amy", 0) == rule(percent, floor)


@pytest.mark.parametrize(
    ("seconds", "late", "cost", "state"),
    [
        *((-1.0, 0, 0.0, "open"), (0.0, 0, 0.0, "open"), (0.999, 0, 0.0, "open")),
        *((1.0, 1, 1.0, "late"), (DAY_S, DAY_S, 1.0, "late"), (DAY_S + 1, DAY_S + 1, 2.0, "late")),
        (30 * DAY_S, 30 * DAY_S, 5.0, "late"),  # half of the points is left
    ],
)
def test_at_the_second(seconds: float, late: int, cost: float, state: str) -> None:
    made = rule(10, 50)
    assert made.seconds_late("amy", DUE + seconds) == late
    assert made.penalty("amy", DUE + seconds, 10) == cost
    assert made.state("amy", DUE + seconds, 0) == state
    refused = Terms(deadline=DUE, late="refused")
    assert refused.state("amy", DUE + seconds, 0) == ("closed" if late else "open")
    assert refused.penalty("amy", DUE + seconds, 10) == 0


def test_what_a_hand_in_meets() -> None:
    made = Terms(opens=DUE - 100, deadline=DUE, late="refused", attempts=2, extensions={"amy": 50})
    states = [
        made.state("amy", DUE + at, used) for at, used in ((-101, 0), (-100, 1), (-1, 2), (50, 0), (51, 0))
    ]
    assert states == ["early", "open", "used", "open", "closed"]
    assert Terms(visible=False).state("amy", DUE, 0) == "hidden"
    assert FREE.state("amy", DUE, 10**6) == "open"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"opens": DUE, "deadline": DUE}, "after the assignment opens"),
        ({"deadline": float("nan")}, "deadline: expected a time"),
        ({"late": "never"}, "refused, marked, penalty"),
        ({"percent": 101}, "percentages from 0 to 100"),
        ({"attempts": -1}, "attempts: expected 0"),
        ({"attempts": True}, "attempts: expected 0"),
        ({"extensions": {"../x": 5}}, "expected a learner"),
        ({"extensions": {"amy": float("inf")}}, "at most 366 days"),
    ],
)
def test_terms_that_do_not_fit(values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Terms(**values)


def test_they_are_kept_and_a_broken_file_opens_nothing(tmp_path: Path) -> None:
    classroom = Classroom(tmp_path)
    assert terms.of(classroom, "week 1") == FREE
    made = rule(20, 30, attempts=3, extensions={"李雷": 3600.0})
    terms.save(classroom, "week 1", made)
    terms.save(classroom, "week 2", FREE)
    assert terms.load(classroom) == {"week 1": made, "week 2": FREE}
    (classroom.private / terms.FILE).write_text('{"week 1": {"deadline": "soon"}}')
    with pytest.raises(ValueError, match="does not hold the terms"):
        terms.of(classroom, "week 1")
    with pytest.raises(ValueError, match="does not hold the terms"):
        received.take(classroom, AMY, b"{}", DUE)


# ---- hand-ins

AMY = Submission("amy", "week1", NOTEBOOK)


def test_a_hand_in_is_stored_before_anything_else_is_said(tmp_path: Path) -> None:
    classroom = Classroom(tmp_path)
    received.take(classroom, AMY, b"one", DUE)
    assert received.used(classroom, AMY) == 1

    def crash() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        received.take(classroom, AMY, b"two", DUE + 1, crash)
    assert classroom.path(AMY).read_bytes() == b"two"
    assert received.used(classroom, AMY) == 1  # no receipt, so it does not count
    assert received.take(classroom, AMY, b"three", DUE + 2).number == 2
    assert classroom.path(AMY).read_bytes() == b"three"


def test_as_many_as_the_terms_allow_and_not_one_more(tmp_path: Path) -> None:
    """From many threads at once; flocks of different opened files exclude each other in processes as well."""
    classroom = Classroom(tmp_path)
    terms.save(classroom, "week1", Terms(attempts=7))
    took, refused, start = [], [], threading.Barrier(20)

    def send(number: int) -> None:
        start.wait()
        try:
            took.append((received.take(classroom, AMY, str(number).encode(), DUE + number).number, number))
        except NotTaken as no:
            refused.append(no.state)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in took) == list(range(1, 8)) and refused == ["used"] * 13
    history = received.history(classroom, AMY)
    assert [(one.number, one.mark) for one in history] == [
        (number, mark(str(content).encode())) for number, content in sorted(took)
    ]
    assert classroom.path(AMY).read_bytes() == str(max(took)[1]).encode()


def test_the_same_once_more_is_not_later(tmp_path: Path) -> None:
    classroom = Classroom(tmp_path)
    for content, at in ((b"a", 1.0), (b"b", 2.0), (b"a", 3.0), (b"a", 4.0)):
        received.take(classroom, AMY, content, DUE + at)
    assert received.received(classroom, AMY, mark(b"a")) == DUE + 3
    assert received.received(classroom, AMY, mark(b"c")) is None


def test_the_record_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "KEPT", 4)
    classroom = Classroom(tmp_path)
    for number in range(8):
        received.take(classroom, AMY, str(number).encode(), DUE)
    assert [one.number for one in received.history(classroom, AMY)] == [5, 6, 7, 8]


# ---- nbgrader's columns


@pytest.mark.servers
def test_formgrader_and_exports_get_the_same_values(make: Callable[[], Classroom]) -> None:
    classroom = make()
    outcome = Outcome(
        "amy", "week1", NOTEBOOK, "sha256:0", submitted=DUE + DAY_S + 1, graded=DUE, stamped=True
    )
    outcome = Outcome(**{**vars(outcome), "exercises": (parse_result(EXERCISE),)})
    made = rule(20, 0)
    terms.save(classroom, "week1", made)
    with book.opened(classroom) as gradebook:
        book.enter(gradebook, outcome, made)
        lateness.enter(gradebook, classroom, "week1")

        def row() -> Any:
            gradebook.db.expire_all()
            return gradebook.find_submission("week1", "amy")

        assert row().late_submission_penalty == pytest.approx(0.4)
        assert row().total_seconds_late == DAY_S + 1
        assert gradebook.find_assignment("week1").duedate.replace(tzinfo=UTC).timestamp() == DUE
        assert [mark["score"] for mark in book.marks(gradebook)] == [pytest.approx(0.6)]

        terms.save(classroom, "week1", made.extended("amy", DAY_S))
        lateness.enter(gradebook, classroom, "week1")
        assert row().late_submission_penalty == pytest.approx(0.2) and row().total_seconds_late == 1

        terms.save(classroom, "week1", FREE)
        lateness.enter(gradebook, classroom, "week1")
        assert row().late_submission_penalty == 0 and row().extension is None and row().duedate is None

        # A date of nbgrader's own tools, before there are terms of ours
        gradebook.update_or_create_assignment("old", duedate="2027-01-15 08:00:00 UTC")
        lateness.adopt(gradebook, classroom)
    when = datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp()
    assert terms.of(classroom, "old") == Terms(deadline=when) and terms.of(classroom, "week1") == FREE


@pytest.mark.servers
def test_what_has_no_hidden_checks_waits_for_marks_by_hand(make: Callable[[], Classroom]) -> None:
    classroom = make()
    terms.save(classroom, "week1", made := rule(20, 0))
    with book.opened(classroom) as gradebook:
        for _ in range(2):
            book.enter_by_hand(gradebook, AMY, DUE + 1, made)
        found = gradebook.find_submission("week1", "amy")
        assert found.needs_manual_grade and found.late_submission_penalty == pytest.approx(0.2)
        (grade,) = found.notebooks[0].grades
        grade.manual_score, grade.needs_manual_grade = 1.0, False
        gradebook.db.commit()
        book.enter_by_hand(gradebook, AMY, DUE + 1, made)  # a later run
        gradebook.db.expire_all()
        assert not gradebook.find_submission("week1", "amy").needs_manual_grade
        book.enter_by_hand(gradebook, AMY, DUE + 2, made)  # handed in again
        gradebook.db.expire_all()
        assert gradebook.find_submission("week1", "amy").needs_manual_grade


@pytest.mark.servers
def test_terms_and_copies_from_the_command_line(
    make: Callable[[], Classroom], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classroom = make()
    command = ["class", "terms", str(classroom.root), "week1"]
    values = ["--deadline", "2027-01-15 08:00", "--late", "penalty", "--attempts", "3", "--extend", "amy=1.5"]
    assert cli.main([*command, *values]) == 0
    made = terms.of(classroom, "week1")
    assert (made.late, made.attempts, made.extensions) == ("penalty", 3, {"amy": 1.5 * DAY_S})
    assert cli.main(command) == 0
    shown = capsys.readouterr().out
    assert "deadline: 2027-01-15 08:00 UTC" in shown and "extension: amy 1.5 days" in shown
    for wrong in (["--extend", "amy"], ["--percent", "200"], ["--deadline", "soon"]):
        assert cli.main([*command, *wrong]) == 2 and terms.of(classroom, "week1") == made
    assert cli.main(["class", "terms", str(classroom.root), "week9"]) == 2
    assert cli.main(["class", "pack", str(classroom.root), "week1", "--to", str(tmp_path / "r.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert archive.namelist() == [f"week1/{NOTEBOOK}.ipynb"]
    assert cli.main(["class", "pack", str(classroom.root), "../x", "--to", str(tmp_path / "r.zip")]) == 2
