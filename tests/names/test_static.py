"""static.nn's control flow in a dynamic program, beside PaddlePaddle 3.3.1.

Its while_loop writes each turn into the memory of the last: a square has no gradient there, and a swap loses a value.
"""

from typing import Any

import pytest

import sampan as paddle
from sampan import to_tensor as t

flow: Any = paddle.static.nn


def leaf(value: float) -> Any:
    return t(value, stop_gradient=False)


def one() -> Any:
    return t(1.0)


def two() -> Any:
    return t(2.0)


def three() -> Any:
    return t(3.0)


def test_gradients_go_through_the_branch_that_ran() -> None:
    x = leaf(2.0)
    flow.cond(x > 1, lambda: x * 2, lambda: x * 3).backward()
    assert x.grad == 2
    x = leaf(2.0)
    flow.case([(x < 1, lambda: x * 2), (x < 3, lambda: x * x)], default=lambda: x).backward()
    assert x.grad == 4
    x = leaf(2.0)
    flow.switch_case(t(1, dtype="int32"), {0: lambda: x, 1: lambda: x * x * x}).backward()
    assert x.grad == 12


def test_which_branch() -> None:
    assert flow.cond(t([True]), lambda: (one(), {"a": 2}), None) == (1, {"a": 2})
    assert flow.cond(t(True), None, None) is None and flow.cond(t(False), one) is None
    assert flow.case([(t(False), one), (t(True), two)], default=three) == 2
    assert flow.case([(t(False), one), (t(False), two)], default=three) == 3
    assert flow.case([(t(False), one), (t(False), two)]) == 2
    assert flow.switch_case(t([1]), [one, two]) == 2
    assert flow.switch_case(t(7), {1: one, 2: two}, default=three) == 3
    assert flow.switch_case(t(9), [(2, one), (1, two)]) == 1


def test_a_loop_and_its_gradient() -> None:
    x, i = leaf(1.0), t([0])
    steps, y = flow.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * x * 2], [i, x])
    y.backward()
    assert steps is i and i == 3 and x == 1 and y == 128 and x.grad == 1024  # y = 128 x^8
    i, kept = t(0), {"a": one()}
    found = flow.while_loop(lambda i, d: i < 3, lambda i, d: (i + 1, {"a": d["a"] + 1}), [i, kept])
    assert type(found) is list and i == 3 and found[1]["a"] is kept["a"] and kept["a"] == 4
    assert flow.while_loop(lambda i: i < 3, lambda i: i + 1, (t(5),)) == (5,)
    a, b = flow.while_loop(lambda a, b: a < b, lambda a, b: [b, a], [t(1), t(2)])
    assert a == 2 and b == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: flow.cond(True, one, two), AssertionError, "cond: pred: expected a Tensor, got bool"),
        (lambda: flow.cond(t([True, False]), one), AssertionError, "cond: pred: expected one value, got shape"),
        (lambda: flow.cond(t(True), 3), TypeError, "cond: true_fn: expected a function, got int"),
        (lambda: flow.case([(t(True), 3)]), TypeError, r"case: pred_fn_pairs\[0\]: expected a function"),
        (lambda: flow.case([(t(True),)]), TypeError, r"case: pred_fn_pairs\[0\]: expected a pair"),
        (lambda: flow.switch_case(t(1), [(1, one), (1, two)]), ValueError, "1 occurs more than once"),
        (lambda: flow.switch_case(t(1), [("a", one)]), TypeError, "expected an int as number, got 'a'"),
        (lambda: flow.while_loop(3, one, [t(0)]), TypeError, "while_loop: cond: expected a function"),
        (lambda: flow.while_loop(lambda i: i < 3, one, []), ValueError, "while_loop: loop_vars: expected a list"),
        (lambda: flow.while_loop(lambda i: i < 3, lambda i: [i, i], [t(0)]), ValueError, "expected 1 results, got 2"),
        (lambda: flow.while_loop(lambda i: t([True, True]), one, [t(0)]), ValueError, "expected one value"),
    ],
)  # fmt: skip
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
    with pytest.raises(NotImplementedError, match=r"static\.nn\.sequence_pool"):
        flow.sequence_pool(1)
