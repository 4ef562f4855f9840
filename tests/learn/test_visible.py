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
    made = Lesson("practice.double", (("look", "看"), ("think", "想"), ("write", "写")), lambda: [CASE])
    questions = {
        "q": Prediction("q", ("How many?", "多少？"), 100, ("Because.", "因为。"), 0.1, (" bytes", " 字节")),
        "zero": Prediction("zero", ("How many?", "多少？"), lambda: 0, ("None at all.", "一个也没有。")),
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


@pytest.fixture
def chinese():
    learn.language("zh")
    yield
    learn.language("en")


def test_everything_is_printed_in_chinese_on_request(lesson, chinese, capsys):
    learn.hint("practice.double")
    learn.predict("q", ...)
    learn.predict("q", 105)
    learn.exercise("practice.double")(lambda x: x * 2)
    learn.check("practice.double")
    assert capsys.readouterr().out.splitlines() == [
        "practice.double，提示 1/3：看",
        "多少？ 先用你的数字替换省略号，再看答案。",
        "正确：你说 105 字节，答案是 100 字节。因为。",
        "practice.double：1 个用例全部正确",
        "  正确：一对",
    ]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda x: x * 3,
            ["用例“一对”", "给出  float64 [2] [3., 6.]", "应为  float64 [2] [2., 4.]", "各两倍。"],
        ),
        (lambda x: None, ["什么也没有（None）", "每条路径都以 `return` 结束"]),
        (lambda x: x[5], ["你的函数出错中断：IndexError", "各两倍。"]),
        (lambda x: object(), ["类型为 object 的对象", "有几个结果"]),
    ],
)
def test_a_wrong_answer_in_chinese(lesson, chinese, function, words):
    learn.exercise("practice.double")(function)
    with pytest.raises(learn.CheckFailed) as caught:
        learn.check("practice.double")
    for word in words:
        assert word in str(caught.value)
