"""How a call is written down so that both libraries can make it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Array:
    """A tensor argument: shape and dtype of random values in [low, high), or the `given` values.

    The values are drawn from the shape, the dtype and the place in the call; floating values are all different.
    numpy: pass a NumPy array instead of a Tensor. grad: whether a floating tensor needs a gradient.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: float = -2
    high: float = 2
    given: Any = None
    numpy: bool = False
    grad: bool = True

    def __repr__(self) -> str:
        kind = "" if self.dtype == "float32" else f" {self.dtype}"
        span = (
            "" if (self.low, self.high) == (-2, 2) or self.given is not None else f" {self.low}..{self.high}"
        )
        flags = " numpy" * self.numpy + " const" * (not self.grad)
        body = str(list(self.shape)) if self.given is None else f"={self.given!r}"
        return f"<{body}{kind}{span}{flags}>"

    def values(self, place: int) -> np.ndarray:
        """The values, of a dtype that NumPy has (float32 for bfloat16)."""
        kind = np.dtype("float32" if self.dtype in ("bfloat16", "float16") else self.dtype)
        if self.given is not None:
            return np.asarray(self.given, kind)
        seed = zlib.crc32(f"{place} {self.shape} {kind}".encode())
        generator = np.random.default_rng(seed)
        count = int(np.prod(self.shape))
        if kind.kind == "b":
            drawn = generator.integers(0, 2, count)
        elif kind.kind in "iu":
            drawn = generator.integers(
                max(int(self.low), 0) if kind.kind == "u" else int(self.low), int(self.high), count
            )
        else:
            parts = 2 if kind.kind == "c" else 1
            steps = [(generator.permutation(count) + 0.37) / max(count, 1) for _ in range(parts)]
            drawn = self.low + (self.high - self.low) * steps[0]
            if parts == 2:
                drawn = drawn + 1j * (self.low + (self.high - self.low) * steps[1])
        return drawn.astype(kind).reshape(self.shape)


def array(*shape: int, dtype: str = "float32", low: float = -2, high: float = 2, **facts: Any) -> Array:
    """A tensor of random values: `array(2, 3)`, `array(4, dtype="int64", low=0, high=5)`."""
    return Array(shape, dtype, low, high, **facts)


def given(values: Any, dtype: str = "float32", **facts: Any) -> Array:
    """A tensor of these values."""
    return Array(np.shape(values), dtype, given=values, **facts)


@dataclass(frozen=True)
class Made:
    """An argument that each library makes for itself: `made(lambda P: P.ParamAttr(name="w"))`."""

    make: Callable[[Any], Any]
    text: str = ""

    def __repr__(self) -> str:
        return f"<made {self.text}>"


def made(make: Callable[[Any], Any], text: str = "") -> Made:
    return Made(make, text)


@dataclass(frozen=True)
class Call:
    """One call: its arguments, and what of the answer is compared.

    layer: the arguments construct a Layer, which is then called on these.
    program: instead of the named function this is called, with the library and the arguments.
    values: False compares shapes and dtypes only (random results). grad: False leaves gradients out.
    tolerance: relative, instead of the dtype's usual one.
    """

    args: tuple[Any, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    layer: tuple[Any, ...] | None = None
    layer_settings: dict[str, Any] = field(default_factory=dict)
    program: Callable[..., Any] | None = None
    values: bool = True
    grad: bool = True
    tolerance: float | None = None
    text: str = ""

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.settings.items()]
        given = [repr(a) for a in self.layer or ()] + [f"{k}={v!r}" for k, v in self.layer_settings.items()]
        where = "" if self.layer is None else f" on {', '.join(given)}"
        return f"{self.text}({', '.join(parts)}){where}"

    def on(self, *inputs: Any, **settings: Any) -> Call:
        """The arguments construct a Layer; call it on these."""
        return replace(self, layer=inputs, layer_settings=settings)

    def but(self, **facts: Any) -> Call:
        """The same call with other settings: `call(...).but(values=False)`."""
        return replace(self, **facts)


def call(*args: Any, **settings: Any) -> Call:
    return Call(args, settings)


def program(function: Callable[..., Any], *args: Any, text: str = "", **settings: Any) -> Call:
    """`function(P, *args)` on both libraries: for behaviour that needs several calls.

    text names it in the records; give one when a name has several programs, or when a program changes.
    """
    return Call(args, settings, program=function, text=text)


class Family(list[Call]):
    """Related calls. draw: which strategy of draw.py makes more of them, and its settings."""

    def __init__(self, calls: Iterable[Call], *draw: Any) -> None:
        super().__init__(calls)
        self.draw = draw

    def __add__(self, more: list[Call]) -> Family:  # type: ignore[override]  # joins calls to a Family
        return Family([*self, *more], *self.draw)

    def but(self, **facts: Any) -> Family:
        return Family([c.but(**facts) for c in self], *self.draw)


def _typed(kinds: str, low: float, high: float, *shapes: tuple[int, ...]) -> list[list[Array]]:
    return [[Array(shape, kind, low, high) for shape in shapes] for kind in kinds.split()]


def unary(
    low: float = -2, high: float = 2, also: str = "float64 float16 bfloat16 int32 int64 bool", **settings: Any
) -> Family:
    """One tensor: 0-d, empty, three shapes, other dtypes, a NumPy array where a Tensor belongs."""
    shapes: list[tuple[int, ...]] = [(), (3,), (2, 3), (0, 3), (2, 1, 3, 2)]
    calls = [call(Array(s, "float32", low, high), **settings) for s in shapes]
    calls += [call(*inputs, **settings) for inputs in _typed(also, low, high, (2, 3))]
    return Family(calls, "unary", low, high, settings)


def binary(
    low: float = -2, high: float = 2, also: str = "float64 bfloat16 int32 int64 bool", numbers: bool = True,
    mixed: bool = True, **settings: Any,
) -> Family:  # fmt: skip
    """Two tensors: equal and broadcast shapes, 0-d, empty, other dtypes, mixed dtypes, a number, shapes that clash."""
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((2, 3), (2, 3)), ((), ()), ((2, 3), ()), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (3,)), ((2, 3), (2, 4)),
    ]  # fmt: skip
    calls = [call(*(Array(s, "float32", low, high) for s in pair), **settings) for pair in pairs]
    calls += [call(*inputs, **settings) for inputs in _typed(also, low, high, (2, 3), (3,))]
    if mixed:
        for first, second in (
            ("float32", "float64"),
            ("int64", "int32"),
            ("float32", "int64"),
            ("int32", "float64"),
        ):
            calls.append(call(Array((2, 3), first, low, high), Array((3,), second, low, high), **settings))
    if numbers:
        calls += [
            call(Array((2, 3), kind, low, high), number) for kind, number in (("float32", 2.0), ("int64", 2))
        ]
    return Family(calls, "binary", low, high, settings)


def reduction(
    low: float = -2, high: float = 2, also: str = "float64 bfloat16 int32 int64 bool", many: bool = True,
    axis: str = "axis", keepdim: bool = True, **settings: Any,
) -> Family:  # fmt: skip
    """One tensor over an axis: none, positive, negative, several (many), kept, 0-d, empty, out of range."""

    def one(shape: tuple[int, ...], kind: str = "float32", **more: Any) -> Call:
        return call(Array(shape, kind, low, high), **{**settings, **more})

    calls = [
        one((2, 3)),
        one(()),
        one((2, 3), **{axis: 0}),
        one((2, 3, 4), **{axis: -1}),
        one((2, 3), **{axis: 5}),
    ]
    calls += [one((0, 3), **{axis: 1}), one((0, 3), **{axis: 0}), one((2, 3), **{axis: -3})]
    if keepdim:
        calls += [one((2, 3, 4), **{axis: 1, "keepdim": True}), one((2, 3), keepdim=True)]
    if many:
        calls += [
            one((2, 3, 4), **{axis: [0, -1]}),
            one((2, 3, 4), **{axis: (1,)}),
            one((2, 3, 4), **{axis: []}),
        ]
    calls += [one((2, 3), kind, **{axis: 1}) for kind in also.split()]
    return Family(calls, "reduction", low, high, {**settings, "many": many, "axis": axis, "keepdim": keepdim})


@functools.cache
def _surface() -> set[str]:
    from .surface import names

    return set(names())


def spread(
    names: str, calls: list[Call], areas: str = "paddle Tensor paddle.nn.functional"
) -> dict[str, list[Call]]:
    """The same calls for each of the names, in every one of the areas that has the name."""
    full = [f"{area}.{name}" for name in names.split() for area in areas.split()]
    return {name: calls for name in full if name in _surface()}
