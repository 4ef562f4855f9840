"""More calls of a family, drawn by hypothesis: shapes, dtypes, axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

from .spec import Array, Call, call

DTYPES = st.sampled_from(["float32", "float32", "float64", "int64", "int32", "bool", "bfloat16", "complex64"])
SHAPES = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def _unary(draw: Any, low: float, high: float, more: dict[str, Any]) -> Call:
    return call(Array(draw(SHAPES), draw(DTYPES), low, high), **more)


@st.composite
def _binary(draw: Any, low: float, high: float, more: dict[str, Any]) -> Call:
    shapes = draw(
        mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3)
    ).input_shapes
    kind = draw(DTYPES)
    kinds = [kind, kind if draw(st.integers(0, 3)) else draw(DTYPES)]
    return call(*(Array(s, k, low, high) for s, k in zip(shapes, kinds, strict=True)), **more)


@st.composite
def _reduction(draw: Any, low: float, high: float, more: dict[str, Any]) -> Call:
    more = dict(more)
    many, axis, keepdim = more.pop("many"), more.pop("axis"), more.pop("keepdim")
    shape = draw(array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4))
    one = st.integers(-len(shape) - 1, len(shape))
    several = st.lists(st.integers(-len(shape), max(len(shape) - 1, 0)), max_size=len(shape))
    chosen = draw(st.none() | one | several if many else st.none() | one)
    if chosen is not None:
        more[axis] = chosen
    if keepdim and draw(st.booleans()):
        more["keepdim"] = True
    return call(Array(shape, draw(DTYPES), low, high), **more)


STRATEGIES: dict[str, Callable[..., Any]] = {"unary": _unary, "binary": _binary, "reduction": _reduction}


def mismatches(
    draw: tuple[Any, ...], differs: Callable[[Call], str], count: int
) -> tuple[int, list[tuple[Call, str]]]:
    """(calls made, the smallest call that differs and how), with `count` calls drawn by the family's strategy."""
    made = 0
    worst: list[tuple[Call, str]] = []

    @settings(
        max_examples=count, deadline=None, database=None, derandomize=True, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(STRATEGIES[draw[0]](*draw[1:]))
    def look(drawn: Call) -> None:
        nonlocal made
        made += 1
        text = differs(drawn)
        if text:
            worst[:] = [(drawn, text)]
            raise AssertionError(text)

    try:
        look()
    except Flaky:  # uninitialised memory: the answer to the same call changes
        worst.clear()
    except AssertionError:
        pass
    return made, worst
