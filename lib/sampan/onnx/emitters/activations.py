"""Activations, by the formulas of their operators where ONNX has no name for them."""

from __future__ import annotations

import math
from typing import Any

from ..graph import Graph, Unsupported
from .table import emits


def _number(g: Graph, value: float) -> str:
    return g.number(value, g.made.dtype)


def _softplus(g: Graph, x: Any) -> str:
    return str(g.node("Softplus", x))


@emits("silu", "swish")
def _silu(g, x, name=None):
    return g.node("Mul", x, g.node("Sigmoid", x))


@emits("gelu")
def _gelu(g, x, approximate=False, name=None):
    if approximate in (True, "tanh"):
        cube = g.node("Mul", g.node("Mul", x, x), x)
        inner = g.node("Add", x, g.node("Mul", cube, _number(g, 0.044715)))
        grown = g.node("Tanh", g.node("Mul", inner, _number(g, math.sqrt(2 / math.pi))))
    else:
        grown = g.node("Erf", g.node("Div", x, _number(g, math.sqrt(2))))
    return g.node("Mul", g.node("Mul", x, g.node("Add", grown, _number(g, 1))), _number(g, 0.5))


@emits("relu6")
def _relu6(g, x, name=None):
    return g.node("Clip", x, _number(g, 0), _number(g, 6))


@emits("hardtanh")
def _hardtanh(g, x, min=-1.0, max=1.0, name=None):
    return g.node("Clip", x, _number(g, min), _number(g, max))


@emits("hardsigmoid")
def _hardsigmoid(g, x, slope=0.1666667, offset=0.5, name=None):
    slope = 1 / 6 if slope == 0.1666667 else slope
    return g.node("HardSigmoid", x, alpha=float(slope), beta=float(offset))


@emits("hardswish")
def _hardswish(g, x, name=None):
    return g.node("HardSwish", x)


@emits("leaky_relu")
def _leaky_relu(g, x, negative_slope=0.01, name=None):
    return g.node("LeakyRelu", x, alpha=float(negative_slope))


@emits("elu")
def _elu(g, x, alpha=1.0, name=None):
    return g.node("Elu", x, alpha=float(alpha))


@emits("celu")
def _celu(g, x, alpha=1.0, name=None):
    return g.node("Celu", x, alpha=float(alpha))


@emits("selu")
def _selu(g, x, scale=1.0507009873554805, alpha=1.6732632423543772, name=None):
    return g.node("Selu", x, alpha=float(alpha), gamma=float(scale))


@emits("mish")
def _mish(g, x, name=None):
    return g.node("Mul", x, g.node("Tanh", _softplus(g, x)))


@emits("softplus")
def _beta_softplus(g, x, beta=1, threshold=20, name=None):
    if beta == 1:
        return _softplus(g, x)
    return g.node("Div", _softplus(g, g.node("Mul", x, _number(g, beta))), _number(g, beta))


@emits("log_sigmoid")
def _log_sigmoid(g, x, name=None):
    return g.node("Neg", _softplus(g, g.node("Neg", x)))


@emits("tanhshrink")
def _tanhshrink(g, x, name=None):
    return g.node("Sub", x, g.node("Tanh", x))


@emits("hardshrink")
def _hardshrink(g, x, threshold=0.5, name=None):
    return g.node("Shrink", x, bias=0.0, lambd=float(threshold))


@emits("softshrink")
def _softshrink(g, x, threshold=0.5, name=None):
    return g.node("Shrink", x, bias=float(threshold), lambd=float(threshold))


@emits("thresholded_relu")
def _thresholded_relu(g, x, threshold=1.0, value=0.0, name=None):
    return g.node("Where", g.node("Greater", x, _number(g, threshold)), x, _number(g, value))


@emits("parametric_relu")
def _parametric_relu(g, x, weight):
    return g.node("PRelu", x, weight)


@emits("glu")
def _glu(g, x, axis=-1, name=None):
    axis = g.axis(x, axis)
    length = g.fact(x).shape[axis]
    if length is None:
        raise Unsupported("halves of an axis whose length is not known")
    a, b = g.node("Split", x, [length // 2] * 2, axis=axis, outputs=2)
    return g.node("Mul", a, g.node("Sigmoid", b))


@emits("softmax")
def _softmax(g, x, axis=-1, dtype=None, name=None):
    return g.node("Softmax", g.cast(x, g.made.dtype), axis=-1 if axis is None else axis)


@emits("log_softmax")
def _log_softmax(g, x, axis=-1, dtype=None, name=None):
    return g.node("LogSoftmax", g.cast(x, g.made.dtype), axis=-1 if axis is None else axis)
