"""The table of operators: for a name such as "pd_op.relu" the function that computes it.

A function takes the Op and its inputs, None where one is left out, and returns the values that the Op makes.
A value is a Tensor; a NumPy array where it is computed from constants and shapes alone, so that lengths are
numbers of Python for the operators of this library; or a list of values.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import torch

from ... import ops
from ...creation import arange
from ...dtype import as_dtype
from ...engine.operator import operators
from ...engine.tensor import Tensor
from ...nn import functional as F
from .reader import Op

Computes = Callable[..., Any]
OPERATORS: dict[str, Computes] = {}


LARGEST = 2**28  # entries that a file may ask for


class Cannot(Exception):
    """An operator asks for what its function does not do; the text says what."""


def computes(*names: str) -> Callable[[Computes], Computes]:
    """A decorator: this function computes these operators of `pd_op`."""

    def entered(function: Computes) -> Computes:
        OPERATORS.update({name if "." in name else f"pd_op.{name}": function for name in names})
        return function

    return entered


def tensor(value: Any) -> Tensor:
    """A value as a Tensor; numbers are recorded, as some may follow a length."""
    if isinstance(value, Tensor):
        return value
    numbers = np.asarray(value)
    return Tensor(torch.tensor(numbers.tolist(), dtype=as_dtype(str(numbers.dtype))))


def ints(value: Any) -> list[int]:
    """A value of numbers that are known, as ints."""
    if isinstance(value, Tensor):
        raise Cannot("a shape or an axis that is computed from the content of the input")
    if isinstance(value, list):
        return [number for part in value for number in ints(part)]
    return [int(n) for n in np.asarray(value).reshape(-1)]


def number(value: Any) -> Any:
    """A value of one number that is known, as a number of Python; a Tensor as it is."""
    return value if isinstance(value, Tensor) else np.asarray(value).reshape(-1)[0].item()


def bounded(lengths: list[int]) -> list[int]:
    """A shape that a file gives, before memory is taken for it. Cannot for one of too many entries."""
    if prod(lengths) > LARGEST:
        raise Cannot(f"a Tensor of shape {lengths}, above {LARGEST} entries,")
    return lengths


# --- one function of this library each ---

_SAME = (  # noqa: SIM905  # one text is shorter than a list of names
    "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor isfinite isinf "
    "isnan lgamma log log10 log1p log2 logical_not reciprocal relu relu6 round rsqrt sigmoid sign silu sin "
    "sinh softsign sqrt square tan tanh tanh_shrink trunc bitwise_not"
).split()
_PAIRS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "maximum": "maximum",
    "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "elementwise_pow": "pow", "remainder": "remainder",
    "floor_divide": "floor_divide", "equal": "equal", "not_equal": "not_equal", "less_than": "less_than",
    "less_equal": "less_equal", "greater_than": "greater_than", "greater_equal": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "bmm": "bmm",
    "atan2": "atan2", "gather_nd": "gather_nd",
}  # fmt: skip  # a table
_NUMPY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "floor_divide": np.floor_divide,
    "remainder": np.remainder, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip  # a table


def function_named(name: str) -> Any:
    """A function of this library."""
    found = getattr(ops, name, None) or getattr(F, name, None)
    return found if found is not None else operators[name].call


def _enter_plain() -> None:
    for name in _SAME:
        ours = {"tanh_shrink": "tanhshrink"}.get(name, name)
        OPERATORS[f"pd_op.{name}"] = lambda op, x, ours=ours: function_named(ours)(tensor(x))
    for name, ours in _PAIRS.items():
        OPERATORS[f"pd_op.{name}"] = lambda op, x, y, ours=ours: _pair(ours, x, y)


def _pair(name: str, x: Any, y: Any) -> Any:
    if not isinstance(x, Tensor) and not isinstance(y, Tensor) and name in _NUMPY:
        return _NUMPY[name](x, y)
    return function_named(name)(tensor(x), tensor(y))


_enter_plain()


@computes("matmul")
def _matmul(op: Op, x: Any, y: Any) -> Any:
    return ops.matmul(tensor(x), tensor(y), bool(op.get("transpose_x")), bool(op.get("transpose_y")))


@computes("scale")
def _scale(op: Op, x: Any, by: Any) -> Any:
    bias = op.get("bias", 0.0)
    if not isinstance(x, Tensor) and not isinstance(by, Tensor):
        x = np.asarray(x)
        scaled = x * number(by) + bias if op.get("bias_after_scale", True) else (x + bias) * number(by)
        return scaled.astype(x.dtype)
    return ops.scale(tensor(x), number(by), bias, bool(op.get("bias_after_scale", True)))


@computes("pow")
def _pow(op: Op, x: Any) -> Any:
    return tensor(x).pow(op.get("y", 1.0))


@computes("leaky_relu", "elu", "celu", "thresholded_relu")
def _slope(op: Op, x: Any) -> Any:
    key = {"leaky_relu": "negative_slope", "thresholded_relu": "threshold"}.get(short_name(op), "alpha")
    return function_named(short_name(op))(tensor(x), op.get(key))


@computes("gelu")
def _gelu(op: Op, x: Any) -> Any:
    return F.gelu(tensor(x), bool(op.get("approximate")))


@computes("hardswish", "swish", "mish", "logsigmoid")
def _activation(op: Op, x: Any) -> Any:
    names = {"logsigmoid": "log_sigmoid"}
    return function_named(names.get(short_name(op), short_name(op)))(tensor(x))


@computes("hardsigmoid")
def _hardsigmoid(op: Op, x: Any) -> Any:
    return F.hardsigmoid(tensor(x), op.get("slope", 1 / 6), op.get("offset", 0.5))


@computes("softplus")
def _softplus(op: Op, x: Any) -> Any:
    return F.softplus(tensor(x), op.get("beta", 1.0), op.get("threshold", 20.0))


@computes("softmax", "log_softmax")
def _softmax(op: Op, x: Any) -> Any:
    return function_named(short_name(op))(tensor(x), op.get("axis", -1))


@computes("clip")
def _clip(op: Op, x: Any, low: Any, high: Any) -> Any:
    return ops.clip(tensor(x), number(low), number(high))


@computes("prelu")
def _prelu(op: Op, x: Any, weight: Any) -> Any:
    return F.prelu(tensor(x), tensor(weight), op.get("data_format", "NCHW"))


@computes("dropout")
def _dropout(op: Op, x: Any, seed: Any, p: Any) -> Any:
    if not op.get("is_test"):
        raise Cannot("dropout in training")
    kept = 1 - number(p) if op.get("mode") == "downgrade_in_infer" else 1
    return (x if kept == 1 else tensor(x) * kept), None


def short_name(op: Op) -> str:
    """The name of an operator without its dialect."""
    return op.name.partition(".")[2]


# --- constants and shapes ---


@computes("full")
def _full(op: Op) -> Any:
    return _filled([n for n in op.get("shape")], op.get("value"), op.get("dtype"))


def _filled(shape: list[int], value: Any, dtype: Any) -> Any:
    kind = as_dtype(dtype)
    if all(type(n) is int for n in shape) and np.prod(shape, dtype=float) <= 1 and kind is not torch.bfloat16:
        return np.full(shape, value, str(kind).removeprefix("torch."))
    return Tensor(torch.full(bounded(shape), value, dtype=kind))


@computes("full_int_array")
def _full_int_array(op: Op) -> Any:
    return np.array(op.get("value") or [], str(op.get("dtype", "int64")))


@computes("assign_value", "assign_value_")
def _assign_value(op: Op, *given: Any) -> Any:
    return np.array(op.get("values") or [], str(op.get("dtype"))).reshape(op.get("shape"))


@computes("full_with_tensor")
def _full_with_tensor(op: Op, value: Any, shape: Any) -> Any:
    return Tensor(torch.full(bounded(ints(shape)), number(value), dtype=as_dtype(op.get("dtype"))))


@computes("full_like")
def _full_like(op: Op, x: Any, value: Any) -> Any:
    return Tensor(
        torch.full(list(tensor(x).shape), number(value), dtype=as_dtype(op.get("dtype") or x.dtype))
    )


@computes("shape", "shape64")
def _shape(op: Op, x: Any) -> Any:
    return np.array([int(n) for n in tensor(x).shape], "int64" if short_name(op) == "shape64" else "int32")


@computes("assign", "assign_out_", "share_data_", "memcpy_h2d", "memcpy_d2h")
def _assign(op: Op, x: Any, *rest: Any) -> Any:
    return x


@computes("arange")
def _arange(op: Op, start: Any, end: Any, step: Any) -> Any:
    given = [number(v) for v in (start, end, step)]
    if any(isinstance(v, Tensor) for v in given):
        raise Cannot("a range of Tensors")
    bounded([int(abs((given[1] - given[0]) / (given[2] or 1)))])
    return arange(*given, dtype=op.get("dtype"))


@computes("cast")
def _cast(op: Op, x: Any) -> Any:
    kind = op.get("dtype")
    return (
        np.asarray(x).astype(kind)
        if not isinstance(x, Tensor) and kind != "bfloat16"
        else tensor(x).astype(kind)
    )


@computes("builtin.combine")
def _combine(op: Op, *values: Any) -> Any:
    return (list(values),)


@computes("builtin.split")
def _parts(op: Op, values: Any) -> Any:
    return tuple(values)


# --- shapes of Tensors ---


@computes("reshape")
def _reshape(op: Op, x: Any, shape: Any) -> Any:
    lengths = ints(shape)
    if not isinstance(x, Tensor):
        return np.asarray(x).reshape([np.shape(x)[i] if n == 0 else n for i, n in enumerate(lengths)])
    return x.reshape(lengths)


@computes("flatten")
def _flatten(op: Op, x: Any) -> Any:
    return tensor(x).flatten(op.get("start_axis", 1), op.get("stop_axis", -1))


@computes("transpose")
def _transpose(op: Op, x: Any) -> Any:
    return tensor(x).transpose(op.get("perm"))


@computes("squeeze", "unsqueeze")
def _squeeze(op: Op, x: Any, axes: Any) -> Any:
    if not isinstance(x, Tensor):
        function = np.squeeze if short_name(op) == "squeeze" else np.expand_dims
        return function(x, tuple(ints(axes)))
    return getattr(x, short_name(op))(ints(axes) or None)


@computes("concat")
def _concat(op: Op, values: Any, axis: Any) -> Any:
    if not any(isinstance(value, Tensor) for value in values):
        return np.concatenate([np.asarray(value) for value in values], number(axis))
    return ops.concat([tensor(value) for value in values], number(axis))


@computes("stack")
def _stack(op: Op, values: Any) -> Any:
    if not any(isinstance(value, Tensor) for value in values):
        return np.stack([np.asarray(value) for value in values], op.get("axis", 0))
    return ops.stack([tensor(value) for value in values], op.get("axis", 0))


@computes("split")
def _split(op: Op, x: Any, sections: Any, axis: Any) -> Any:
    return (list(ops.split(tensor(x), ints(sections), number(axis))),)


@computes("split_with_num")
def _split_with_num(op: Op, x: Any, axis: Any) -> Any:
    return (list(ops.split(tensor(x), op.get("num"), number(axis))),)


@computes("unbind")
def _unbind(op: Op, x: Any) -> Any:
    return (list(ops.unbind(tensor(x), op.get("axis", 0))),)


@computes("slice")
def _slice(op: Op, x: Any, starts: Any, ends: Any) -> Any:
    rank = np.ndim(x) if not isinstance(x, Tensor) else x.ndim
    index: list[Any] = [slice(None)] * rank
    dropped = op.get("decrease_axis") or []
    for axis, start, end in zip(op.get("axes"), ints(starts), ints(ends), strict=True):
        index[axis] = start if axis in dropped else slice(start, min(end, 2**31 - 1))
    return x[tuple(index)] if isinstance(x, Tensor) else np.asarray(x)[tuple(index)]


@computes("strided_slice")
def _strided_slice(op: Op, x: Any, starts: Any, ends: Any, strides: Any) -> Any:
    return ops.strided_slice(tensor(x), op.get("axes"), ints(starts), ints(ends), ints(strides))


@computes("expand")
def _expand(op: Op, x: Any, shape: Any) -> Any:
    return tensor(x).expand(ints(shape))


@computes("tile")
def _tile(op: Op, x: Any, times: Any) -> Any:
    bounded([int(n) for n in tensor(x).shape] + ints(times))
    return tensor(x).tile(ints(times))


@computes("gather")
def _gather(op: Op, x: Any, index: Any, axis: Any) -> Any:
    return ops.gather(tensor(x), tensor(index), number(axis))


@computes("index_select")
def _index_select(op: Op, x: Any, index: Any) -> Any:
    return ops.index_select(tensor(x), tensor(index), op.get("axis", 0))


@computes("where")
def _where(op: Op, truth: Any, x: Any, y: Any) -> Any:
    return ops.where(tensor(truth), tensor(x), tensor(y))


@computes("tril", "triu")
def _triangle(op: Op, x: Any) -> Any:
    return function_named(short_name(op))(tensor(x), op.get("diagonal", 0))


@computes("flip", "roll")
def _flip(op: Op, x: Any, *shifts: Any) -> Any:
    if short_name(op) == "flip":
        return ops.flip(tensor(x), op.get("axis"))
    return ops.roll(tensor(x), ints(shifts[0]), op.get("axis") or None)


@computes("one_hot")
def _one_hot(op: Op, x: Any, classes: Any) -> Any:
    bounded([int(n) for n in tensor(x).shape] + ints(classes))
    return F.one_hot(tensor(x), number(classes))


@computes("pad")
def _pad(op: Op, x: Any, value: Any) -> Any:
    return F.pad(tensor(x), op.get("paddings"), value=number(value))


@computes("pad3d")
def _pad3d(op: Op, x: Any, paddings: Any) -> Any:
    given = ints(paddings)
    if op.get("data_format", "NCDHW") != "NCDHW":
        raise Cannot("channels last")
    wanted = given[: 2 * (tensor(x).ndim - 2)]
    return F.pad(tensor(x), wanted, op.get("mode", "constant"), op.get("pad_value", 0.0), "NCDHW")
