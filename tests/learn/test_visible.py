"""Hints, visible checks and predictions: what a learner reads."""

import numpy as np
import pytest

from sampan import learn
from sampan.learn import lessons
from sampan.learn.cases import Case, Holds, difference
from sampan.learn.lessons import Lesson, Prediction
from sampan.learn.plain import Foreign

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
    with pytest.raises(TypeError, match="value must be a number, str came"):
        learn.predict("q", "many")


A = np.array


@pytest.mark.parametrize(
    ("came", "expected", "kind"),
    [
        (A([1.0, 2.0]), A([1.0, 2.0]), None),
        (A([1, 2]), A([1.0, 2.0]), None),
        (A([1.0, 2.0]), A([1, 2]), "dtype"),
        (A([1.0, np.nan]), A([1.0, 2.0]), "values"),
        (A([np.nan]), A([np.nan]), None),
        (A([np.inf]), A([1.0]), "values"),
        (A([[1.0, 2.0]]), A([1.0, 2.0]), "shape"),
        (2.0, 2.0, None),
        (A(2.0), 2.0, None),
        (True, 1, "type"),
        ("2.0", 2.0, "type"),
        (Foreign("Sly"), 2.0, "type"),
        ([1.0], (1.0,), None),
        ([1.0, 2.0], [1.0], "length"),
        (1.0, [1.0], "type"),
        ({"a": 1}, {"a": 1}, None),
        ({"b": 1}, {"a": 1}, "type"),
        (None, None, None),
        (0, None, "type"),
        (1, True, "type"),
        ("a", "a", None),
    ],
)
def test_difference(came, expected, kind):
    found = difference(came, expected, 1e-5, 1e-6)
    assert (found.kind if found else None) == kind


def told(came, expected, names=None):
    found = difference(came, expected, 1e-5, 1e-6, names=names)
    assert found is not None
    return found.told()


def test_a_difference_names_the_part_and_shows_the_first_wrong_number():
    came, expected = A([[1.0, 2.0], [5.5, 3.0]]), A([[1.0, 2.0], [7.25, 4.0]])
    assert told(came, expected) == (
        "your answer[1, 0]: 5.5 given, 7.25 expected (2 of 4 numbers are wrong)",
        "你的结果[1, 0]：给出 5.5，应为 7.25（4 个数中有 2 个不对）",
    )
    names = [("the value", "函数值"), [("`x`", "`x`"), ("`y`", "`y`")]]
    text, text_zh = told([A([1.0]), [A([1.0]), came]], [A([1.0]), [A([1.0]), expected]], names)
    assert text.startswith("`y`[1, 0]: 5.5 given, 7.25 expected")
    assert text_zh.startswith("`y`[1, 0]：给出 5.5，应为 7.25")
    assert told([A([1.0]), [1.0, 2.0]], [A([1.0]), [1.0, 3.0]]) == (
        "result[1][1]: 2 given, 3 expected",
        "result[1][1]：给出 2，应为 3",
    )
    assert told({"bias": 1.5}, {"bias": 2.0})[0] == "bias: 1.5 given, 2 expected"
    assert told([{"x": A([1.0])}], [{"x": A([2.0])}])[0].startswith("result[0].x[0]: 1 given, 2 expected")


def test_numbers_are_shown_with_the_digits_that_tell_them_apart():
    assert told(A([1.00002]), A([1.0]))[0].startswith("your answer[0]: 1.00002 given, 1 expected")
    assert told(A([1.00002e6 + 0.5]), A([1.0e6]))[0].startswith(
        "your answer[0]: 1.00002e+06 given, 1e+06 expected"
    )
    assert told(float("nan"), 1.0)[0] == "your answer: nan given, 1 expected"


def test_shapes_dtypes_and_kinds_are_told_with_both_sides():
    assert told(A([1.0]), A([1.0, 2.0]))[0] == "your answer: shape [1] given, shape [2] expected"
    assert told(None, A([1.0]))[0] == "your answer: nothing (None) given, float64 [1] expected"
    assert difference(A([1.0], "f4"), A([1.0], "f4"), 0, 0, "float64").kind == "dtype"
    held = difference(3, Holds(lambda came: ("odd", "奇数") if came % 2 else None, "an even number"), 0, 0)
    assert held.told() == ("odd", "奇数")


def test_every_lesson_of_the_course_has_hints_and_cases():
    exercises, questions = lessons.installed()
    assert set(exercises) >= {"ops.relu", "autograd.unbroadcast", "kernels.adam_step", "hapi.train_epoch"}
    for lesson in exercises.values():
        assert len(set(lesson.hints)) == 3 and lesson.cases()
    assert len(questions) >= 7
