"""Numbers, comparisons, logic, activations and reductions."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import torch

import sampan as paddle

from ...engine.tensor import Tensor
from ...nn import functional as F
from ..library import DTYPES
from .table import READERS, Cannot, array, fixed, ints, reads, tensor

_UNARY = {
    "Abs": paddle.abs, "Acos": paddle.acos, "Acosh": paddle.acosh, "Asin": paddle.asin, "Asinh": paddle.asinh,
    "Atan": paddle.atan, "Atanh": paddle.atanh, "Ceil": paddle.ceil, "Cos": paddle.cos, "Cosh": paddle.cosh,
    "Erf": paddle.erf, "Exp": paddle.exp, "Floor": paddle.floor, "Log": paddle.log, "Neg": paddle.neg,
    "Reciprocal": paddle.reciprocal, "Round": paddle.round, "Sign": paddle.sign, "Sin": paddle.sin,
    "Sinh": paddle.sinh, "Sqrt": paddle.sqrt, "Tan": paddle.tan, "Tanh": paddle.tanh, "Relu": F.relu,
    "Sigmoid": F.sigmoid, "Softplus": F.softplus, "Softsign": F.softsign, "HardSwish": F.hardswish,
    "Mish": F.mish, "IsNaN": paddle.isnan, "Not": paddle.logical_not, "BitwiseNot": paddle.bitwise_not,
}  # fmt: skip  # a table
_BINARY = {
    "Add": paddle.add, "Sub": paddle.subtract, "Mul": paddle.multiply, "Equal": paddle.equal,
    "Greater": paddle.greater_than, "GreaterOrEqual": paddle.greater_equal, "Less": paddle.less_than,
    "LessOrEqual": paddle.less_equal, "And": paddle.logical_and, "Or": paddle.logical_or,
    "Xor": paddle.logical_xor, "BitwiseAnd": paddle.bitwise_and, "BitwiseOr": paddle.bitwise_or,
    "BitwiseXor": paddle.bitwise_xor,
}  # fmt: skip  # a table
_ARRAYS: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Equal": np.equal, "Greater": np.greater,
    "Less": np.less, "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal, "And": np.logical_and,
    "Or": np.logical_or, "Xor": np.logical_xor, "Not": np.logical_not, "Neg": np.negative, "Abs": np.abs,
    "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt, "Exp": np.exp, "Sign": np.sign,
}  # fmt: skip  # a table


def _of(kind: str, function: Any) -> Any:
    """A reader that computes with arrays where all inputs are."""
    plain = _ARRAYS.get(kind)

    def reader(node: Any, *inputs: Any) -> Any:
        if plain is not None and fixed(*inputs):
            return np.asarray(plain(*inputs))
        return function(*map(tensor, inputs))

    return reader


READERS.update({kind: _of(kind, f) for kind, f in (_UNARY | _BINARY).items()})


@reads("Div")
def _div(node, x, y):
    whole = (array(x) if fixed(x) else x.data).dtype
    exact = "int" not in str(whole)
    if fixed(x, y):
        return np.asarray(x / y if exact else np.trunc(x / y).astype(x.dtype))
    return paddle.divide(tensor(x), tensor(y), rounding_mode=None if exact else "trunc")


@reads("Mod")
def _mod(node, x, y):
    if fixed(x, y):
        return np.asarray(np.fmod(x, y) if node.get("fmod") else np.mod(x, y))
    x, y = tensor(x), tensor(y)
    if not node.get("fmod"):
        return x % y
    return x - paddle.divide(x, y, rounding_mode="trunc") * y


@reads("Pow")
def _pow(node, x, y):
    x, y = tensor(x), tensor(y)
    return paddle.pow(x, y.astype(x.dtype) if x.is_floating_point() else y).astype(x.dtype)


@reads("Max", "Min")
def _extreme(node, *inputs):
    largest = node.kind == "Max"
    if fixed(*inputs):
        return np.asarray(reduce(np.maximum if largest else np.minimum, inputs))
    return reduce(paddle.maximum if largest else paddle.minimum, map(tensor, inputs))


@reads("Sum", "Mean")
def _sum(node, *inputs):
    found = reduce(paddle.add, map(tensor, inputs))
    return found / len(inputs) if node.kind == "Mean" else found


@reads("BitShift")
def _shift(node, x, y):
    shift = paddle.bitwise_left_shift if node.get("direction") == "LEFT" else paddle.bitwise_right_shift
    return shift(tensor(x), tensor(y))


@reads("Identity", "Dropout")
def _identity(node, x, *rest):
    if node.kind == "Dropout" and len(rest) > 1 and rest[1] is not None and bool(array(rest[1])):
        raise Cannot("dropout in training")
    if len(node.outputs) > 1:
        return x, paddle.ones_like(tensor(x), dtype="bool")
    return x


@reads("Where")
def _where(node, condition, x, y):
    if fixed(condition, x, y):
        return np.where(condition, x, y)
    return paddle.where(tensor(condition), tensor(x), tensor(y))


@reads("IsInf")
def _isinf(node, x):
    x, high, low = tensor(x), node.get("detect_positive", 1), node.get("detect_negative", 1)
    infinite = paddle.isinf(x)
    if not high:
        infinite = paddle.logical_and(infinite, x < 0)
    return infinite if low else paddle.logical_and(infinite, x > 0)


@reads("Cast")
def _cast(node, x):
    kind = DTYPES.get(node.get("to"))
    if kind is None:
        raise Cannot(f"dtype number {node.get('to')}")
    if not fixed(x) or kind is torch.bfloat16:
        return tensor(x).astype(kind)
    if x.dtype.kind not in "biuf":
        raise Cannot(f"values of dtype {x.dtype}")
    return tensor(x).data.to(kind).numpy()


@reads("CastLike")
def _cast_like(node, x, like):
    return tensor(x).astype(tensor(like).dtype)


@reads("Clip")
def _clip(node, x, low=None, high=None):
    x = tensor(x)
    low, high = (node.get("min") if low is None else low), (node.get("max") if high is None else high)
    for bound, smaller in ((low, paddle.maximum), (high, paddle.minimum)):
        if bound is not None:
            x = smaller(x, tensor(bound).astype(x.dtype))
    return x


# --- activations ---


@reads("Gelu")
def _gelu(node, x):
    return F.gelu(tensor(x), node.get("approximate", "none") == "tanh")


@reads("Swish")
def _swish(node, x):
    x = tensor(x)
    return x * F.sigmoid(x * node.get("alpha", 1.0))


@reads("LeakyRelu")
def _leaky_relu(node, x):
    return F.leaky_relu(tensor(x), node.get("alpha", 0.01))


@reads("Elu")
def _elu(node, x):
    return F.elu(tensor(x), node.get("alpha", 1.0))


@reads("Celu")
def _celu(node, x):
    return F.celu(tensor(x), node.get("alpha", 1.0))


@reads("Selu")
def _selu(node, x):
    return F.selu(tensor(x), node.get("gamma", 1.0507009873554805), node.get("alpha", 1.6732632423543772))


@reads("HardSigmoid")
def _hardsigmoid(node, x):
    return paddle.clip(tensor(x) * node.get("alpha", 0.2) + node.get("beta", 0.5), 0, 1)


@reads("ThresholdedRelu")
def _thresholded(node, x):
    return F.thresholded_relu(tensor(x), node.get("alpha", 1.0))


@reads("Shrink")
def _shrink(node, x):
    x, bias, bound = tensor(x), node.get("bias", 0.0), node.get("lambd", 0.5)
    zero = paddle.zeros_like(x)
    return paddle.where(x < -bound, x + bias, paddle.where(x > bound, x - bias, zero)).astype(x.dtype)


@reads("PRelu")
def _prelu(node, x, slope):
    x = tensor(x)
    return paddle.where(x < 0, x * tensor(slope), x)


@reads("Softmax", "LogSoftmax", "Hardmax")
def _softmax(node, x):
    x = tensor(x)
    axis = node.get("axis", -1 if node.opset >= 13 else 1)
    shape = x.shape
    if node.opset < 13:  # over all axes from this one on
        x, axis = x.reshape([math.prod(shape[:axis]), -1]), -1
    if node.kind == "Hardmax":
        best = F.one_hot(x.argmax(axis), x.shape[axis]).astype(x.dtype)
        return best.moveaxis(-1, axis).reshape(shape)
    return (F.softmax if node.kind == "Softmax" else F.log_softmax)(x, axis).reshape(shape)


# --- reductions ---


def _reduced(node: Any, x: Tensor, axes: list[int] | None, keep: bool) -> Tensor:
    kind = node.kind.removeprefix("Reduce")
    if kind in ("Max", "Min"):
        whole = x.astype("int32") if x.dtype is paddle.bool else x
        if 0 in x.shape:
            raise Cannot("the largest entry of none")
        return (paddle.amax if kind == "Max" else paddle.amin)(whole, axes, keep).astype(x.dtype)
    exact = x.astype("float32") if kind in ("L2", "LogSum", "LogSumExp") and not x.is_floating_point() else x
    found = {
        "Sum": lambda: exact.sum(axes, None, keep),
        "Mean": lambda: exact.mean(axes, keep),
        "Prod": lambda: exact.prod(axes, keep),
        "SumSquare": lambda: (exact * exact).sum(axes, None, keep),
        "L1": lambda: exact.abs().sum(axes, None, keep),
        "L2": lambda: paddle.sqrt((exact * exact).sum(axes, None, keep)),
        "LogSum": lambda: paddle.log(exact.sum(axes, None, keep)),
        "LogSumExp": lambda: paddle.logsumexp(exact, axes, keep),
    }[kind]()
    return found.astype(x.dtype)


@reads(
    *(
        f"Reduce{kind}"
        for kind in ("Sum", "Mean", "Prod", "Max", "Min", "SumSquare", "L1", "L2", "LogSum", "LogSumExp")
    )
)
def _reduce(node, x, axes=None):
    listed = node.get("axes") if axes is None else ints(axes)
    keep = bool(node.get("keepdims", 1))
    if not listed:
        if node.get("noop_with_empty_axes"):
            return x
        listed = list(range(tensor(x).ndim))
    if fixed(x) and node.kind == "ReduceProd":
        return np.asarray(np.prod(x, tuple(listed), keepdims=keep, dtype=x.dtype))
    x = tensor(x)
    return _reduced(node, x, listed, keep) if listed else x


@reads("ArgMax", "ArgMin")
def _argmax(node, x):
    x, axis = tensor(x), node.get("axis", 0)
    keep, last = bool(node.get("keepdims", 1)), node.get("select_last_index", 0)
    x = x.flip(axis) if last else x
    found = (paddle.argmax if node.kind == "ArgMax" else paddle.argmin)(x, axis, keep)
    return x.shape[axis] - 1 - found if last else found


@reads("CumSum")
def _cumsum(node, x, axis):
    x, axis = tensor(x), ints(axis)[0]
    x = x.flip(axis) if node.get("reverse") else x
    found = paddle.cumsum(x, axis)
    found = (found - x if node.get("exclusive") else found).astype(x.dtype)
    return found.flip(axis) if node.get("reverse") else found


@reads("TopK")
def _topk(node, x, k=None):
    count = node.get("k") if k is None else ints(k)[0]
    largest, ordered = bool(node.get("largest", 1)), bool(node.get("sorted", 1))
    return tuple(paddle.topk(tensor(x), count, node.get("axis", -1), largest, ordered))
