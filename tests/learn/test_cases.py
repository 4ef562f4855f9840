"""Differences as a learner reads them."""

import numpy as np
import pytest

from sampan.learn.cases import Holds, difference
from sampan.learn.plain import Foreign

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
    held = difference(
        3, Holds(lambda came: ("odd", "奇数") if came % 2 else None, ("an even number", "偶数")), 0, 0
    )
    assert held.told() == ("odd", "奇数")
