"""Lengths that follow an input."""

from typing import Any

import pytest
import torch

from sampan.jit.program import Call, Program, Ref
from sampan.jit.symbolic import Axis, Frozen, Length, generalized

A, B = Axis(0, 0), Axis(0, 1)
SIZES = [{A: 2, B: 32}, {A: 3, B: 32}, {A: 2, B: 48}, {A: 5, B: 64}]


def joined(argument: Any) -> Any:
    programs = [
        Program([Call(torch.add, "add", (argument(size[A], size[B]),), {}, Ref("v", 0), line="a.py:3")])
        for size in SIZES
    ]
    return generalized(programs, SIZES, [A, B]).calls[0].args[0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a, b: 7, "7"),
        (lambda a, b: a, "x0.shape[0]"),
        (lambda a, b: a * b, "x0.shape[0] * x0.shape[1]"),
        (lambda a, b: 4 * a * b, "4 * x0.shape[0] * x0.shape[1]"),
        (lambda a, b: b // 2, "x0.shape[1] // 2"),
        (lambda a, b: b - 3, "x0.shape[1] + -3"),
        (lambda a, b: 2 * b + 1, "2 * x0.shape[1] + 1"),
        (
            lambda a, b: [a, (b, slice(0, b)), -1],
            "[x0.shape[0], (x0.shape[1], slice(0, x0.shape[1], None)), -1]",
        ),
        (lambda a, b: torch.Size([a, 3]), "(x0.shape[0], 3)"),
    ],
)
def test_a_length_is_found(function: Any, text: str) -> None:
    found = joined(function)
    assert repr(found) == text
    if isinstance(found, Length):
        for a, b in ((1, 1), (7, 10)):
            assert found.at({A: a, B: 2 * b}) == function(a, 2 * b)


@pytest.mark.parametrize(
    "function", [lambda a, b: a + b, lambda a, b: a**3, lambda a, b: 1 if a < 4 else 2, lambda a, b: [0] * a]
)
def test_what_no_length_follows_is_refused_with_its_line(function: Any) -> None:
    with pytest.raises(Frozen, match=r"a\.py:3: add is given"):
        joined(function)


def test_other_calls_by_size_are_refused() -> None:
    call = Call(torch.add, "add", (), {}, Ref("v", 0), line="a.py:3")
    other = Call(torch.mul, "mul", (), {}, Ref("v", 0), line="a.py:4")
    sizes = [{A: 2}, {A: 3}, {A: 5}]
    with pytest.raises(Frozen, match=r"a\.py:3: add for .*mul for"):
        generalized([Program([call]), Program([other]), Program([call])], sizes, [A])
    with pytest.raises(Frozen, match="other calls follow"):
        generalized([Program([call]), Program([call, call]), Program([call])], sizes, [A])
