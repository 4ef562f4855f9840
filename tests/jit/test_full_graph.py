"""Functions as one Program with their loops and branches, against PaddlePaddle and against themselves."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.jit import to_static
from sampan.jit.record import Refused

from .paddle_flow import PROGRAMS, answers, gradients

_RECORDED = json.loads(Path(__file__).with_name("paddle_flow.json").read_text())


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_programs_answer_as_paddlepaddle_does(function: Any) -> None:
    wanted, slopes = _RECORDED[function.__name__]
    pairs = [*zip(answers(paddle, function), wanted, strict=True)]
    pairs += zip(gradients(paddle, to_static(function, full_graph=True)), slopes, strict=True)
    for found, known in pairs:
        assert np.allclose(found, known, rtol=1e-5, atol=1e-5)


def items(x: Any) -> Any:
    return x * float(x.sum())


def shapes(x: Any) -> Any:
    while x.sum() < 10:
        x = paddle.concat([x, x])
    return x


def effects(x: Any) -> Any:
    found = []
    while x.sum() < 10:
        x = x + 1
        found.append(x)
    return paddle.stack(found)


_kept: list[Any] = []


def outer(x: Any) -> Any:
    _kept.append(x)
    return x + 1


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (items, 1, "item.* of a Tensor decides what is computed; keep it a Tensor"),
        (shapes, 1, r"its shape changes from \[3\] to \[6\]"),
        (effects, 2, r"more than 16 ways .* `found.append\(x\)` is there for its effect; write a loop with"),
        (outer, 0, "it changes a list, dictionary or set; with full_graph=True all of the function is one"),
    ],
)
def test_what_is_refused_names_the_line_and_the_way_out(function: Any, line: int, message: str) -> None:
    place = rf"^test_full_graph\.py:{function.__code__.co_firstlineno + line}: "
    made = to_static(function, full_graph=True)
    for _ in range(2):  # a second call is told too
        with pytest.raises(Refused, match=f"{place}.*{message}"):
            made(paddle.ones([3]))


def test_an_error_of_the_function_is_raised_where_it_is() -> None:
    def checked(x: Any) -> Any:
        if x.min() < 0:
            raise ValueError("negative")
        return x.sqrt()

    made = to_static(checked, full_graph=True)
    assert made(paddle.full([2], 4.0)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="negative"):
        made(-paddle.ones([2]))
