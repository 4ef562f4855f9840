"""Numbers, comparisons and logic, entry by entry."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...jit.program import Ref
from ..graph import Graph, Unsupported
from .table import OPERATORS, Emitter, emits

_UNARY = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp",
    "floor": "Floor", "log": "Log", "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu",
    "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "softsign": "Softsign",
    "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip  # a table
_BINARY = {"multiply": "Mul", "maximum": "Max", "minimum": "Min", "pow": "Pow"}
_COMPARISONS = {
    "equal": "Equal", "greater_than": "Greater", "greater_equal": "GreaterOrEqual", "less_than": "Less",
    "less_equal": "LessOrEqual",
}  # fmt: skip  # a table
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITS = {"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"}


def _unary(kind: str) -> Emitter:
    return lambda g, x, *_, **__: g.node(kind, g.cast(x, g.made.dtype))


def _binary(kind: str) -> Emitter:
    return lambda g, x, y, *_, **__: g.node(kind, *both(g, x, y))


def both(g: Graph, x: Any, y: Any) -> list[str]:
    """Two operands in the result's dtype."""
    return [g.operand(x, g.made.dtype), g.operand(y, g.made.dtype)]


def common(g: Graph, x: Any, y: Any) -> torch.dtype:
    """The dtype in which two values, Refs or numbers, are compared."""
    x, y = (
        torch.empty((1,) * bool(g.rank(v)), dtype=g.fact(v).dtype) if isinstance(v, Ref) else v
        for v in (x, y)
    )
    return torch.result_type(x, y)


def _comparison(kind: str) -> Emitter:
    def emitter(g, x, y, name=None):
        kind_ = common(g, x, y)
        return g.node(kind, g.operand(x, kind_), g.operand(y, kind_))

    return emitter


def _logic(kind: str) -> Emitter:
    return lambda g, x, y, *_: g.node(kind, g.operand(x, torch.bool), g.operand(y, torch.bool))


def _bits(kind: str) -> Emitter:
    def emitter(g, x, y, out=None, name=None):
        if g.made.dtype is torch.bool:
            return g.node(kind.removeprefix("Bitwise"), *both(g, x, y))
        if g.opset < 18:
            raise Unsupported("bits of integers need opset_version 18")
        return g.node(kind, *both(g, x, y))

    return emitter


OPERATORS.update(
    {name: _unary(kind) for name, kind in _UNARY.items()}
    | {name: _binary(kind) for name, kind in _BINARY.items()}
    | {name: _comparison(kind) for name, kind in _COMPARISONS.items()}
    | {name: _logic(kind) for name, kind in _LOGIC.items()}
    | {name: _bits(kind) for name, kind in _BITS.items()}
)


@emits("add")
def _sum(g, x, y, name=None, *, alpha=1, kind="Add"):
    x, y = both(g, x, y)
    return g.node(kind, x, y if alpha == 1 else g.node("Mul", y, g.number(alpha, g.made.dtype)))


@emits("subtract")
def _difference(g, x, y, name=None, *, alpha=1):
    return _sum(g, x, y, alpha=alpha, kind="Sub")


@emits("summed")
def _summed(g, *tensors):
    return g.node("Sum", *(g.cast(t, g.made.dtype) for t in tensors))


@emits("masked")
def _masked(g, x, mask):
    return g.node("Mul", *both(g, x, mask))


@emits("divide")
def _divide(g, x, y, name=None, *, rounding_mode=None):
    return divided(g, x, y, rounding_mode)


@emits("divide_rounded")
def divided(g, x, y, mode):
    """x / y, rounded down ("floor"), towards zero ("trunc") or not (None)."""
    x, y = both(g, x, y)
    exact = g.made.dtype.is_floating_point
    if mode == "floor" and not exact:  # ONNX divides integers towards zero
        return g.node("Div", g.node("Sub", x, g.node("Mod", x, y)), y)
    quotient = g.node("Div", x, y)
    if mode is None or not exact:
        return quotient
    return g.node("Floor", quotient) if mode == "floor" else truncated(g, quotient)


def truncated(g: Graph, x: str) -> str:
    """x rounded towards zero."""
    return str(g.node("Mul", g.node("Sign", x), g.node("Floor", g.node("Abs", x))))


@emits("floor_divide")
def _floor_divide(g, x, y, name=None):
    return divided(g, x, y, "floor")


@emits("remainder")
def _remainder(g, x, y, name=None):
    x, y = both(g, x, y)
    if not g.made.dtype.is_floating_point:
        return g.node("Mod", x, y)
    return g.node("Sub", x, g.node("Mul", g.node("Floor", g.node("Div", x, y)), y))


@emits("not_equal")
def _not_equal(g, x, y, name=None):
    return g.node("Not", OPERATORS["equal"](g, x, y))


@emits("logical_not", "bitwise_not")
def _not(g, x, out=None, name=None):
    if g.made.dtype is not torch.bool:
        raise Unsupported("bits of integers")
    return g.node("Not", g.cast(x, torch.bool))


@emits("square")
def _square(g, x, name=None):
    return g.node("Mul", x, x)


@emits("rsqrt")
def _rsqrt(g, x, name=None):
    return g.node("Reciprocal", g.node("Sqrt", g.cast(x, g.made.dtype)))


def _scaled(g: Graph, x: Any, factor: float) -> str:
    return str(g.node("Mul", x, g.number(factor, g.made.dtype)))


@emits("log2")
def _log2(g, x, name=None):
    return _scaled(g, g.node("Log", g.cast(x, g.made.dtype)), 1 / math.log(2))


@emits("log10")
def _log10(g, x, name=None):
    return _scaled(g, g.node("Log", g.cast(x, g.made.dtype)), 1 / math.log(10))


@emits("log1p")
def _log1p(g, x, name=None):
    return g.node("Log", g.node("Add", *both(g, x, 1)))


@emits("expm1")
def _expm1(g, x, name=None):
    return g.node("Sub", g.node("Exp", g.cast(x, g.made.dtype)), g.number(1, g.made.dtype))


@emits("deg2rad")
def _deg2rad(g, x, name=None):
    return _scaled(g, g.cast(x, g.made.dtype), math.pi / 180)


@emits("rad2deg")
def _rad2deg(g, x, name=None):
    return _scaled(g, g.cast(x, g.made.dtype), 180 / math.pi)


@emits("trunc")
def _trunc(g, x, name=None):
    return truncated(g, g.name(x)) if g.made.dtype.is_floating_point else g.name(x)


@emits("frac")
def _frac(g, x, name=None):
    return g.node("Sub", x, truncated(g, g.name(x)))


@emits("round")
def _round(g, x, decimals=0, name=None):
    if not g.made.dtype.is_floating_point:
        return g.name(x)
    if not decimals:
        return g.node("Round", x)
    return g.node(
        "Div", g.node("Round", _scaled(g, x, 10.0**decimals)), g.number(10.0**decimals, g.made.dtype)
    )


@emits("clip")
def _clip(g, x, min=None, max=None, name=None):
    given = [None if v is None else g.operand(v, g.made.dtype) for v in (min, max)]
    bounds = [
        v if v is None or not isinstance(w, Ref) else g.node("Reshape", v, [])
        for v, w in zip(given, (min, max), strict=True)
    ]
    return g.node("Clip", g.cast(x, g.made.dtype), *bounds)


@emits("isnan")
def _isnan(g, x, name=None):
    return g.node("IsNaN", x)


@emits("isinf")
def _isinf(g, x, name=None):
    return g.node("IsInf", x)


@emits("isfinite")
def _isfinite(g, x, name=None):
    return g.node("Not", g.node("Or", g.node("IsNaN", x), g.node("IsInf", x)))


@emits("select")
def _select(g, condition, x, y):
    return g.node("Where", g.cast(condition, torch.bool), *both(g, x, y))


@emits("lerp")
def _lerp(g, x, y, weight, name=None):
    x, y = both(g, x, y)
    return g.node("Add", x, g.node("Mul", g.operand(weight, g.made.dtype), g.node("Sub", y, x)))


@emits("cast")
def _cast(g, x, dtype):
    return g.cast(x, g.made.dtype)


@emits("hypot")
def _hypot(g, x, y, name=None):
    x, y = both(g, x, y)
    return g.node("Sqrt", g.node("Add", g.node("Mul", x, x), g.node("Mul", y, y)))


@emits("full_like_of")
def _full_like(g, x, value):
    return g.node("Expand", g.operand(value, g.made.dtype), g.shape(x))
