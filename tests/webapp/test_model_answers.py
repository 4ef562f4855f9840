"""When a model answer may be opened, how failed checks are counted, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.grading.checker import Assignment
from studio.grading.model_answer import ModelAnswer, model_answer
from studio.grading.verdict import Result, Verdict, VerdictKind
from studio.model_answers import ModelAnswers, Record, Rule

PLACE = Assignment("course", "00_orientation")
RELU = ModelAnswer("def relu(x): ...", "Hold it.", "压住。")


def verdict(**kinds: VerdictKind) -> Verdict:
    results = (
        Result(slot, slot, slot, 1, float(kind == "passed"), kind == "passed", "", "", verdict=kind)
        for slot, kind in kinds.items()
    )
    return Verdict(tuple(results))


@pytest.mark.parametrize(
    ("rule", "failed", "now", "allowed"),
    [
        (Rule(), 2, 0.0, False),
        (Rule(), 3, 0.0, True),
        (Rule(failures=1), 1, 0.0, True),
        (Rule("never", 1, 5.0), 99, 9.0, False),
        (Rule("deadline", 1, 5.0), 99, 5.0, False),
        (Rule("deadline", 1, 5.0), 0, 5.1, True),
        (Rule("deadline"), 99, 9.0, False),
    ],
)
def test_the_rule(rule: Rule, failed: int, now: float, allowed: bool) -> None:
    assert rule.allows(failed, now) == allowed


def test_failed_checks_are_counted_by_exercise_and_untouched_ones_are_not(tmp_path: Path) -> None:
    answers = ModelAnswers(tmp_path / "answers")
    assert answers.of(PLACE) == Record()
    answers.checked(PLACE, verdict(a="failed", b="not_attempted", c="passed"))
    answers.checked(PLACE, verdict(a="timed_out", b="error", c="passed"))
    assert ModelAnswers(tmp_path / "answers").of(PLACE).failed == {"a": 2, "b": 1}
    assert answers.of(Assignment("week 1", PLACE.notebook)) == Record()


def test_what_was_opened_first_counts(tmp_path: Path) -> None:
    answers = ModelAnswers(tmp_path)
    first = answers.open(PLACE, "ops.relu", RELU, 5.0)
    assert answers.open(PLACE, "ops.relu", ModelAnswer("changed"), 9.0) == first
    answers.checked(PLACE, verdict(a="failed"))
    assert answers.of(PLACE) == Record({"a": 1}, {"ops.relu": first})
    assert (first.answer.explained("en"), first.answer.explained("zh")) == ("Hold it.", "压住。")


@pytest.mark.parametrize("text", ["[]", '{"failed": {}}', "{", '{"failed": {}, "opened": {"a": {}}}'])
def test_a_broken_record_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "00_orientation.json").write_text(text)
    with pytest.raises(ValueError, match=r"00_orientation\.json|Expecting"):
        ModelAnswers(tmp_path).of(PLACE)


def test_the_answer_is_the_librarys_version_and_the_last_hint() -> None:
    from sampan.learn import lessons

    made = model_answer("ops.relu")
    assert (
        "threshold_backward" in made.source
        and (made.why, made.why_zh) == lessons.exercise("ops.relu").hints[-1]
    )
    with pytest.raises(ValueError, match=r"ops\.nothing"):
        model_answer("ops.nothing")
