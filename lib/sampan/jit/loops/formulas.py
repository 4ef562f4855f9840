"""What elementwise operators compute, one line of Python each: the texts that generated loops are made of.

T is float32. Comparisons are written so that NaN takes the way that it takes in torch. Other settings than
those here are not fused. gelu of infinity is infinity; torch, which takes oneDNN's, gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Formula(NamedTuple):
    """takes: what its operands are, "f" float32 or "b" bool each. gives: the same of its value.

    text: from the operands, as text, and the settings behind them, as they are; None where there is no such
    formula.
    """

    takes: str
    gives: str
    text: Callable[..., str | None]


def _plain(takes: str, gives: str, text: str) -> Formula:
    """A formula without settings. It is in brackets: other texts hold it."""

    def filled(*operands: Any) -> str | None:
        settings = operands[len(takes) :]
        return f"({text.format(*operands)})" if settings in ((), (None,)) else None

    return Formula(takes, gives, filled)


def number(value: float) -> str:
    """A number as float32."""
    return f"T({float(value)!r})"


def _bounded(x: str, low: Any = None, high: Any = None, name: Any = None) -> str | None:
    if not all(bound is None or isinstance(bound, (int, float)) for bound in (low, high)):
        return None
    if low is not None:
        x = f"({number(low)} if {x} < {number(low)} else {x})"
    return x if high is None else f"({number(high)} if {x} > {number(high)} else {x})"


def _gelu(x: str, approximate: Any = False, name: Any = None) -> str | None:
    if approximate in (False, "none"):
        return f"({x} * T(0.5) * (T(1.0) + erf({x} * T(0.7071067811865476))))"
    inner = f"T(0.7978845608028654) * ({x} + T(0.044715) * {x} * {x} * {x})"
    return f"(T(0.5) * {x} * (T(1.0) + tanh({inner})))"


def _leaky(x: str, slope: Any = 0.01, name: Any = None) -> str | None:
    return f"({x} if {x} > T(0.0) else {x} * {number(slope)})" if isinstance(slope, (int, float)) else None


_POWERS = {
    2: "({0} * {0})",
    3: "({0} * {0} * {0})",
    0.5: "sqrt({0})",
    -0.5: "(T(1.0) / sqrt({0}))",
    -1: "(T(1.0) / {0})",
    -2: "(T(1.0) / ({0} * {0}))",
}


def _pow(x: str, exponent: Any, name: Any = None) -> str | None:
    known = isinstance(exponent, (int, float)) and exponent in _POWERS
    return _POWERS[exponent].format(x) if known else None


_SIX = "(T(0.0) if {0} < T(0.0) else (T(6.0) if {0} > T(6.0) else {0}))"
_SHIFTED = _SIX.format("({0} + T(3.0))")
_SILU = _plain("f", "f", "{0} / (T(1.0) + exp(-{0}))")

FORMULAS = {
    "add": _plain("ff", "f", "{0} + {1}"),
    "subtract": _plain("ff", "f", "{0} - {1}"),
    "multiply": _plain("ff", "f", "{0} * {1}"),
    "divide": _plain("ff", "f", "{0} / {1}"),
    "maximum": _plain("ff", "f", "{0} if ({0} > {1}) | ({0} != {0}) else {1}"),
    "minimum": _plain("ff", "f", "{0} if ({0} < {1}) | ({0} != {0}) else {1}"),
    "neg": _plain("f", "f", "-{0}"),
    "abs": _plain("f", "f", "abs({0})"),
    "exp": _plain("f", "f", "exp({0})"),
    "tanh": _plain("f", "f", "tanh({0})"),
    "erf": _plain("f", "f", "erf({0})"),
    "sigmoid": _plain("f", "f", "sigmoid({0})"),
    "sqrt": _plain("f", "f", "sqrt({0})"),
    "rsqrt": _plain("f", "f", "T(1.0) / sqrt({0})"),
    "square": _plain("f", "f", "{0} * {0}"),
    "reciprocal": _plain("f", "f", "T(1.0) / {0}"),
    "relu": _plain("f", "f", "T(0.0) if {0} < T(0.0) else {0}"),
    "relu6": _plain("f", "f", _SIX),
    "silu": _SILU,
    "swish": _SILU,
    "hardswish": _plain("f", "f", "{0} * " + _SHIFTED + " / T(6.0)"),
    "hardsigmoid": _plain("f", "f", _SHIFTED + " / T(6.0)"),
    "softsign": _plain("f", "f", "{0} / (T(1.0) + abs({0}))"),
    "tanhshrink": _plain("f", "f", "{0} - tanh({0})"),
    "leaky_relu": Formula("f", "f", _leaky),
    "gelu": Formula("f", "f", _gelu),
    "clip": Formula("f", "f", _bounded),
    "pow": Formula("f", "f", _pow),
    "greater_than": _plain("ff", "b", "{0} > {1}"),
    "greater_equal": _plain("ff", "b", "{0} >= {1}"),
    "less_than": _plain("ff", "b", "{0} < {1}"),
    "less_equal": _plain("ff", "b", "{0} <= {1}"),
    "equal": _plain("ff", "b", "{0} == {1}"),
    "not_equal": _plain("ff", "b", "{0} != {1}"),
    "isnan": _plain("f", "b", "{0} != {0}"),
    "bitwise_and": _plain("bb", "b", "{0} & {1}"),
    "bitwise_or": _plain("bb", "b", "{0} | {1}"),
    "bitwise_xor": _plain("bb", "b", "{0} ^ {1}"),
    "bitwise_not": _plain("b", "b", "not {0}"),
    "logical_and": _plain("bb", "b", "{0} & {1}"),
    "logical_or": _plain("bb", "b", "{0} | {1}"),
    "logical_xor": _plain("bb", "b", "{0} ^ {1}"),
    "logical_not": _plain("b", "b", "not {0}"),
    "select": _plain("bff", "f", "{1} if {0} else {2}"),
}
