"""Earlier submissions: kept with the time of their receipt and their marks, and not for ever."""

from __future__ import annotations

import pytest

from studio.gradebook import history, statistics
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.intake import accept, take_in
from studio.gradebook.outcomes import Outcome
from studio.gradebook.submissions import mark
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import EXERCISE

AMY = Submission("amy", "old", "essay")
DAY = 86_400.0
NOON = 1_700_049_600.0  # 2023-11-15 12:00 UTC


def outcome(content: bytes, submitted: float, **values: object) -> Outcome:
    exercise = {**EXERCISE, **values}
    return Outcome(
        *("amy", "old", "essay"), mark(content), submitted, submitted + 9, exercises=(parse_result(exercise),)
    )


def test_each_version_that_was_handed_in(essays: Classroom) -> None:
    accept(essays, AMY, b"first", NOON)
    accept(essays, AMY, b"second", NOON + 1.5)
    history.graded(essays, outcome(b"second", NOON + 1.5), b"second")
    later, earlier = history.versions(essays, AMY)
    assert (later.received, later.graded, later.earned, later.points, later.passed) == (
        *(NOON + 1.5, NOON + 10.5),
        *(1.0, 1.0, 1),
    )
    assert (earlier.received, earlier.graded, earlier.exercises) == (NOON, 0.0, ())
    assert history.content(essays, AMY, earlier.key) == b"first"
    accept(essays, AMY, b"first", NOON + 9)  # the learner goes back
    history.graded(essays, outcome(b"first", NOON + 9, passed=False, earned=0), b"first")
    assert [(v.received, v.graded > 0) for v in history.versions(essays, AMY)] == [
        *((NOON + 9, True), (NOON + 1.5, True), (NOON, False)),
    ]
    assert history.versions(essays, Submission("bob", "old", "essay")) == []


def test_what_came_another_way_is_kept_when_it_is_graded(essays: Classroom) -> None:
    history.graded(essays, outcome(b"copied in", NOON), b"copied in")
    (version,) = history.versions(essays, AMY)
    assert version.kept and version.received == NOON
    history.graded(essays, Outcome("amy", "old", "essay", "link:x", NOON, NOON, trouble="link"), b"")
    assert len(history.versions(essays, AMY)) == 1


def test_a_zip_or_folder_that_is_collected(essays: Classroom, tmp_path: object) -> None:
    source = essays.root / "inbox" / "cem"
    source.mkdir(parents=True)
    (source / "essay.ipynb").write_bytes(b"{}")
    assert take_in(essays, "old", source.parent).submissions == ["cem/old/essay"]
    assert take_in(essays, "old", source.parent).submissions == []  # nothing new
    (version,) = history.versions(essays, Submission("cem", "old", "essay"))
    assert history.content(essays, Submission("cem", "old", "essay"), version.key) == b"{}"


def test_the_oldest_contents_go_and_their_marks_stay(
    essays: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(history.MOST_KEPT + 3):
        content = str(number).encode()
        history.keep(essays, AMY, content, NOON + number)
        history.graded(essays, outcome(content, NOON + number), content)
    kept = [version.kept for version in history.versions(essays, AMY)]
    assert kept == [True] * history.MOST_KEPT + [False] * 3
    assert all(version.graded for version in history.versions(essays, AMY))
    monkeypatch.setattr(history, "MOST_BYTES", 10)
    history.keep(essays, AMY, b"x" * 11, NOON + 99)
    assert [version.kept for version in history.versions(essays, AMY)].count(True) == 1


@pytest.mark.parametrize("key", ["", "..", "../../gradebook", "0" * 16 + "-" + "g" * 16, "*"])
def test_only_keys_are_looked_up(essays: Classroom, key: str) -> None:
    assert history.content(essays, AMY, key) is None


def test_days(essays: Classroom) -> None:
    versions: tuple[tuple[Submission, int, list[tuple[str, float, float, bool]]], ...] = (
        (AMY, 0, [("a", 0.0, 1.0, False), ("b", 1.0, 1.0, True)]),
        (AMY, 1, [("a", 1.0, 1.0, True), ("b", 1.0, 1.0, True)]),  # b was passed before
        (Submission("bob", "old", "essay"), 3, []),
    )
    for place, day, exercises in versions:
        content = f"{place.student} {day}".encode()
        results = tuple(
            parse_result({**EXERCISE, "id": slot, "earned": earned, "points": points, "passed": passed})
            for slot, earned, points, passed in exercises
        )
        when = NOON + day * DAY
        one = Outcome(place.student, "old", "essay", mark(content), when, when, exercises=results)
        history.graded(essays, one, content)
    found = statistics.days(essays, "old")
    assert [(day.submissions, day.passed) for day in found] == [(1, 1), (1, 1), (0, 0), (1, 0)]
    assert [day.day.toordinal() - found[0].day.toordinal() for day in found] == [0, 1, 2, 3]
    assert statistics.days(essays, "nothing") == []


def test_distribution() -> None:
    assert statistics.distribution([0.0, 0.05, 0.1, 0.3, 0.7, 0.99, 1.0]) == [2, 1, 0, 1, 0, 0, 0, 1, 0, 2]
