"""Functions with loops and branches over values, for Sampan and PaddlePaddle.

`python tests/jit/paddle_flow.py` with PaddlePaddle 3.3.1 writes `paddle_flow.json`: what its
`to_static(full_graph=True)` answers (of `returned_from_loop`, which that refuses, the function itself), and the
gradients of x of the functions themselves, since its compiled loops have no gradients or fail, and those of an
early return are zeros.
"""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

INPUTS = [
    ([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], 3),
    ([[-2.0, 0.5, -0.5], [0.0, 1.0, -3.0]], 0),
    ([[4.0, 3.0, 5.0]], 5),
]


def branch(x, n):
    if x.mean() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def early_return(x, n):
    if x.sum() > 10:
        return x / 2
    x = x + 1
    if x.max() < 2.5:
        return x * x
    return x - 3


def halved(x, n):
    while x.abs().sum() > 3:
        x = x * 0.5
    return x


def counted(x, n):
    total = x * 0
    for i in range(n):
        total = total + x * i
    return total


def left_early(x, n):
    while x.mean() < 50:
        x = x * 1.5
        if x.max() > 6:
            break
        x = x + 0.125
    return x


def skipped(x, n):
    total = x * 0
    for i in range(n + 2):
        if i == 2:
            continue
        total = total + x + i
    return total


def nested(x, n):
    total = x * 0
    for i in range(n):
        j = 0
        while j < i:
            if total.mean() > 4:
                break
            total = total + x.abs()
            j += 1
    return total


def both(x, n):
    if x.min() > 0 and n > 2:
        x = x + 10
    elif x.min() < -2 or n == 0:
        x = -x
    return x


def chosen(x, n):
    scale = 2.0 if x.sum() > 3 else 0.5
    return x * scale


def returned_from_loop(x, n):
    for _ in range(n):
        x = x + 1
        if x.max() > 4:
            return x * 2
    return x - 1


def helper(x):
    if x.mean() > 1:
        return x / 3
    return x + 2


def calls(x, n):
    i = 0
    while i < n and x.sum() < 20:
        x = helper(x)
        i += 1
    return x


def negated(x, n):
    done = n > 4
    while not done:
        x = x + 0.5
        done = x.mean() > 2
    return x


PROGRAMS: list[Callable[..., Any]] = [
    branch, early_return, halved, counted, left_early, skipped, nested, both, chosen, returned_from_loop, calls,
    negated,
]  # fmt: skip  # a list of names


def gradients(paddle: Any, function: Callable[..., Any]) -> list[Any]:
    """The gradients of x of the sum of the squares of what a function answers."""
    found = []
    for values, number in INPUTS:
        x = paddle.to_tensor(values, dtype="float32", stop_gradient=False)
        (function(x, paddle.to_tensor(number, dtype="int64")) ** 2).sum().backward()
        found.append(x.grad.tolist())
    return found


def answers(paddle: Any, function: Callable[..., Any]) -> list[Any]:
    """What a function of `to_static(full_graph=True)` answers."""
    made = paddle.jit.to_static(function, full_graph=True)
    with paddle.no_grad():
        return [
            made(paddle.to_tensor(values, dtype="float32"), paddle.to_tensor(number, dtype="int64")).tolist()
            for values, number in INPUTS
        ]


if __name__ == "__main__":
    paddle: Any = import_module("paddle")
    recorded: dict[str, Any] = {}
    for function in PROGRAMS:
        try:
            found = answers(paddle, function)
        except Exception as error:
            if function is not returned_from_loop or "different return type" not in str(error):
                raise
            found = [function(paddle.to_tensor(x), paddle.to_tensor(n)).tolist() for x, n in INPUTS]
        recorded[function.__name__] = [found, gradients(paddle, function)]
    Path(__file__).with_suffix(".json").write_text(json.dumps(recorded) + "\n")
