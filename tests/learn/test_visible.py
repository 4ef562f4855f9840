"""Hints, visible checks and predictions."""

import numpy as np
import pytest

from sampan import learn
from sampan.learn import lessons
from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

CASE = Case(
    ("a pair", "一对"), "call", (np.array([1.0, 2.0]),), np.array([2.0, 4.0]), ("Twice each.", "各两倍。")
)


@pytest.fixture
def lesson(practice, monkeypatch):
    made = Lesson("practice.double", ("look", "think", "write"), lambda: [CASE])
    questions = {
        "q": Prediction("q", "How many?", 100, "Because.", tolerance=0.1, unit=" bytes"),
        "zero": Prediction("zero", "How many?", lambda: 0, "None at all."),
    }
    monkeypatch.setattr(lessons, "installed", lambda: ({made.slot: made}, questions))
    return made


def test_hints_come_one_at_a_time_and_the_last_one_stays(lesson, capsys):
    for _ in range(4):
        learn.hint("practice.double")
    said = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": ")[2] for line in said] == ["look", "think", "write", "write"]
    assert "hint 1 of 3" in said[0]


def test_a_right_answer_lists_its_cases(lesson, capsys):
    learn.exercise("practice.double")(lambda x: x * 2)
    learn.check("practice.double")
    assert capsys.readouterr().out == "practice.double: 1 of 1 cases\n  right: a pair\n"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x * 3, ["came", "[3., 6.]", "expected", "[2., 4.]", "Twice each."]),
        (lambda x: x[:1], ["float64 [1]", "float64 [2]"]),
        (lambda x: None, ["nothing (None)"]),
        (lambda x: x / "a", ["stopped with TypeError", "Twice each."]),
        (lambda x: x[5], ["stopped with IndexError", "Twice each."]),
        (lambda x: {}["a"], ["stopped with KeyError", "Twice each."]),
        (lambda x: object(), ["an object of type object"]),
    ],
)
def test_a_wrong_answer_says_which_case_what_came_and_what_was_expected(lesson, function, words):
    learn.exercise("practice.double")(function)
    with pytest.raises(learn.CheckFailed) as caught:
        learn.check("practice.double")
    for word in ["practice.double, case 'a pair'", *words]:
        assert word in str(caught.value)
    assert caught.value._render_traceback_() == str(caught.value).splitlines()


def test_nothing_written_yet(lesson):
    with pytest.raises(learn.CheckFailed, match="run its cell first"):
        learn.check("practice.double")

    @learn.exercise("practice.double")
    def double(x):
        raise NotImplementedError("still yours to write")

    with pytest.raises(learn.CheckFailed, match=r"^still yours to write$"):
        learn.check("practice.double")


def test_unknown_names_are_listed(lesson):
    with pytest.raises(ValueError, match=r"no exercise 'x'; there are practice\.double"):
        learn.check("x")
    with pytest.raises(ValueError, match="there are q, zero"):
        learn.predict("x", 1)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(100, "Right"), (109, "Right"), (91.0, "Right"), (111, "Not quite"), (-100, "Not quite")],
)
def test_predictions_have_a_tolerance(lesson, capsys, value, verdict):
    learn.predict("q", value)
    said = capsys.readouterr().out
    assert said.startswith(verdict) and "100 bytes" in said and said.endswith("Because.\n")


def test_predictions_of_nothing_and_without_an_answer(lesson, capsys):
    learn.predict("zero", 0)
    learn.predict("zero", 1)
    learn.predict("q", ...)
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("Right") and second.startswith("Not quite") and third.startswith("How many?")
    with pytest.raises(TypeError, match="value must be a number, got str"):
        learn.predict("q", "many")
