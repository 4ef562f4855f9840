"""Errors begin with the name of the function that the user called, through each of its names.

The calls are those that are compared with PaddlePaddle (tests/parity/cases), each with one argument made wrong.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.engine.errors import InvalidArgument, prefix_function_name, with_name
from sampan.engine.operator import names
from sampan.models.bert import MaskedLM
from tools.parity import cases, surface
from tools.parity.perform import called
from tools.parity.spec import Array, Call, Made, call

AREAS = [
    "paddle", "Tensor", "paddle.linalg", "paddle.fft", "paddle.signal", "paddle.nn", "paddle.nn.functional",
    "paddle.metric", "paddle.vision.ops",
]  # fmt: skip
ELSEWHERE = {"paddle.Size": "is a list, and says what lists say"}
TWO_FUNCTIONS = {
    "unfold": "Tensor.unfold gives windows along one axis, nn.functional.unfold columns of images"
}


class Thing:
    def __repr__(self) -> str:
        return "a thing"


def wrong(value: Any) -> Iterator[tuple[str, Any]]:
    """What is wrong with an argument, and that argument."""
    if isinstance(value, Array):
        yield "a text", "x"
        yield "a list", [1.0]
        yield "more axes", replace(value, shape=(*value.shape, 7), given=None)
        yield "other lengths", replace(value, shape=(5, *value.shape[1:]), given=None)
        yield "a number", replace(value, shape=(), given=None)
        for dtype in ("bool", "complex64", "int64"):
            yield dtype, replace(value, dtype=dtype, given=None, low=90, high=99)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # Beyond every length of the cases, but no layer in three dimensions takes gigabytes for it.
        yield from {"far": 19, "below": -99, "half": 1.5, "a text": "x", "a thing": Thing()}.items()
    elif isinstance(value, (list, tuple)):
        yield from {"empty": type(value)(), "a thing": Thing()}.items()
        for how, other in wrong(value[0]) if value else ():
            yield f"first {how}", type(value)([other, *value[1:]])
    elif isinstance(value, str):
        yield from {"nonsense": "nonsense", "a thing": Thing()}.items()


def variants(one: Call) -> Iterator[tuple[str, Call]]:
    for place, value in enumerate(one.args):
        for how, other in wrong(value):
            yield f"{place} {how}", replace(one, args=(*one.args[:place], other, *one.args[place + 1 :]))
    for key, value in one.settings.items():
        for how, other in wrong(value):
            yield f"{key} {how}", replace(one, settings={**one.settings, key: other})
    for place, value in enumerate(one.layer or ()):
        for how, other in wrong(value):
            given = (*one.layer[:place], other, *one.layer[place + 1 :])
            yield f"called on {place} {how}", replace(one, layer=given)
    yield "an unknown keyword", replace(one, settings={**one.settings, "nonsense": 1})
    yield "too many", replace(one, args=(*one.args, *[Thing()] * 12))


@cache
def refusals(area: str) -> list[tuple[str, str, type, str]]:
    """(name, the call and what is wrong with it, class of the error, its text) of what an area's functions refuse."""
    found = []
    for name, calls in (pair for table in cases.load().values() for pair in table.items()):
        if (
            surface.area_of(name) != area
            or name in ELSEWHERE
            or surface.find(paddle, name) is surface.MISSING
        ):
            continue
        kinds = {(len(c.args), *c.settings): c for c in reversed(calls) if c.program is None}
        for one in list(kinds.values())[: 1 if area == "paddle.nn" else 2]:
            for how, other in variants(one):
                if area != "Tensor" or isinstance(other.args[0], Array | Made):  # else it has no methods
                    found += [(name, f"{other!r}, {how}", *error) for error in refused(name, other)]
    return found


def refused(name: str, one: Call) -> list[tuple[type, str]]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            called(paddle, name, one, True)
        except Exception as error:  # what class it has is looked at by the tests
            return [(type(error), str(error))]
    return []


def is_class(name: str) -> bool:
    return isinstance(surface.find(paddle, name), type)


def begins(name: str, text: str) -> bool:
    """Whether a text begins with the name: `add: ...`, or in Python's own words `add() takes ...`."""
    last = surface.find(paddle, name).__name__ if is_class(name) else name.rpartition(".")[2]
    return re.match(rf"{last}: |(Tensor\.)?{last}\(\) ", text) is not None


@pytest.mark.parametrize("area", AREAS)
def test_an_error_begins_with_the_name_that_was_called(area: str) -> None:
    """Of a class only what the library words itself: Python's own errors pass through a layer as they are."""
    found = [e for e in refusals(area) if issubclass(e[2], InvalidArgument) or not is_class(e[0])]
    assert len(found) > 10
    others = [f"{name}{how}: {text}" for name, how, _, text in found if not begins(name, text)]
    assert not others, f"{len(others)} of {len(found)}:\n" + "\n".join(others[:40])


@pytest.mark.parametrize("area", ["paddle.sparse", "paddle.sparse.nn.functional"])
def test_an_error_of_a_sparse_function_begins_with_its_name(area: str) -> None:
    for last in surface.areas()[area]:
        function = surface.find(paddle, f"{area}.{last}")
        needed = [p for p in signature(function).parameters.values() if p.default is p.empty]
        for given in ("x", [[1.0]], paddle.ones([7, 5, 3, 1])):
            for _, text in refused(f"{area}.{last}", call(*[given] * len(needed))):
                assert begins(f"{area}.{last}", text), text
        assert refused(f"{area}.{last}", call(*["x"] * len(needed)))


def test_one_mistake_is_one_class_through_each_name() -> None:
    """A function, a method and a second name refuse one call with errors of one of Python's classes."""
    first_of = {
        f"{a}{end}": f"{n}{end}"
        for n, facts in names.items()
        for a in facts.aliases.split()
        for end in ("", "_")
    }
    classes: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for area in ("paddle", "Tensor", "paddle.linalg", "paddle.nn.functional"):
        for name, how, error, _ in refusals(area):
            last = name.rpartition(".")[2]
            kind = next(k for k in (IndexError, TypeError, ValueError, RuntimeError) if issubclass(error, k))
            if last not in TWO_FUNCTIONS:
                classes[first_of.get(last, last), how][name] = kind.__name__
    assert Counter(len(by_name) > 1 for by_name in classes.values())[True] > 1000
    differing = {key: by_name for key, by_name in classes.items() if len({*by_name.values()}) > 1}
    assert not differing


def test_a_layer_is_named_before_the_function_that_it_calls() -> None:
    class Net(paddle.nn.Layer):
        def forward(self, x):
            return paddle.mul(x, paddle.ones([7]))

    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match=r"^Sequential: linear: expected x \[\.\.\., in\]"):
        paddle.nn.Sequential(paddle.nn.Linear(4, 2))(x)
    with pytest.raises(ValueError, match=r"^mul: The size of tensor a"):
        Net()(x)  # a user's own layer is no function of this library
    with pytest.raises(ValueError, match=r"^MaskedLM: BERT: ids: expected at most context=2 tokens"):
        MaskedLM(vocab_size=4, width=4, num_layers=1, num_heads=2, context=2)(paddle.ones([1, 3], "int64"))
    with pytest.raises(ValueError, match=r"^Conv2D: groups: expected a divisor"):
        paddle.nn.Conv2D(3, 8, 3, groups=2)


def test_signs_and_indices_are_named() -> None:
    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match=r"^matmul: "):
        _ = x @ paddle.ones([2, 4])
    with pytest.raises(ValueError, match=r"^subtract: "):
        _ = x - paddle.ones([7])
    with pytest.raises(IndexError, match=r"^getitem: "):
        _ = x[5]
    x.stop_gradient = False
    with pytest.raises(ValueError, match=r"^setitem: Tensor float32\[2, 3\] is a leaf that wants a gradient"):
        x[0] = 1.0


def test_a_copy_under_another_name() -> None:
    def power(x, n=2, *, offset=0):
        """x to the n-th."""
        return x**n + offset

    other = with_name("to_the", power)
    assert (other.__name__, other.__code__.co_name, power.__name__) == ("to_the", "to_the", "power")
    assert other(3) == 9 and other(2, 3, offset=1) == 9 and other.__doc__ == power.__doc__
    assert (
        prefix_function_name("n: expected a number") == "n: expected a number"
    )  # nothing of the library was called
