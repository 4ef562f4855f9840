"""Functions of torch that layers call on buffers, outside operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...jit.program import Ref
from ...jit.symbolic import Length
from ..graph import Graph, Unsupported
from .shapes import _ints
from .table import FUNCTIONS, OPERATORS, emits

# The name of torch's function: that of the operator with the same arguments.
SAME = {
    "data": "assign",
    "__eq__": "equal", "eq": "equal", "__ne__": "not_equal", "ne": "not_equal", "__gt__": "greater_than",
    "gt": "greater_than", "__ge__": "greater_equal", "ge": "greater_equal", "__lt__": "less_than",
    "lt": "less_than", "__le__": "less_equal", "le": "less_equal", "add": "add", "__add__": "add",
    "__radd__": "add", "sub": "subtract", "__sub__": "subtract", "mul": "multiply", "__mul__": "multiply",
    "__rmul__": "multiply", "div": "divide", "__truediv__": "divide", "neg": "neg", "exp": "exp",
    "log": "log", "sqrt": "sqrt", "abs": "abs", "logical_not": "logical_not", "__invert__": "logical_not",
    "logical_and": "logical_and", "__and__": "logical_and", "logical_or": "logical_or",
    "__or__": "logical_or", "__getitem__": "getitem", "unsqueeze": "unsqueeze", "triu": "triu",
    "tril": "tril", "where": "select", "cumsum": "cumsum", "maximum": "maximum", "minimum": "minimum",
    "clone": "assign", "contiguous": "assign", "detach": "assign", "relu": "relu", "sigmoid": "sigmoid",
    "tanh": "tanh",
}  # fmt: skip  # a table


def _sizes(size: tuple[Any, ...]) -> list[Any]:
    return list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)


def filled(g: Graph, size: list[Any], value: Any) -> str:
    """A value of this size with one number everywhere."""
    return str(g.node("Expand", g.operand(value, g.made.dtype), _ints(size)))


@emits("full", table=FUNCTIONS)
def _full(g, size, fill_value, **_):
    return filled(g, list(size), fill_value)


@emits("zeros", "new_zeros", table=FUNCTIONS)
def _zeros(g, *size, value=0, **_):
    size = size[1:] if size and isinstance(size[0], Ref) else size
    return filled(g, _sizes(size), value)


@emits("ones", "new_ones", table=FUNCTIONS)
def _ones(g, *size, **_):
    return _zeros(g, *size, value=1)


@emits("new_full", table=FUNCTIONS)
def _new_full(g, x, size, fill_value, **_):
    return filled(g, list(size), fill_value)


@emits("zeros_like", table=FUNCTIONS)
def _zeros_like(g, x, **_):
    return OPERATORS["full_like_of"](g, x, 0)


@emits("ones_like", table=FUNCTIONS)
def _ones_like(g, x, **_):
    return OPERATORS["full_like_of"](g, x, 1)


@emits("full_like", table=FUNCTIONS)
def _full_like(g, x, fill_value, **_):
    return OPERATORS["full_like_of"](g, x, fill_value)


@emits("arange", table=FUNCTIONS)
def _arange(g, *bounds, start=0, end=None, step=1, **_):
    first, last, by = (
        (start, bounds[0], step)
        if len(bounds) == 1
        else (*bounds, step)[:3]
        if bounds
        else (start, end, step)
    )
    if not all(isinstance(v, (int, float, Length)) for v in (first, last, by)):
        raise Unsupported("a range between values of Tensors")
    whole = all(isinstance(v, (int, Length)) for v in (first, last, by))
    kind = torch.int64 if whole else torch.float32
    return g.cast(g.node("Range", *(g.number(v, kind) for v in (first, last, by))), g.made.dtype)


@emits("masked_fill", table=FUNCTIONS)
def _masked_fill(g, x, mask, value):
    return g.node("Where", mask, g.operand(value, g.made.dtype), g.cast(x, g.made.dtype))


@emits("to", "type", "float", "long", "int", "bool", "double", "type_as", "half", table=FUNCTIONS)
def _to(g, x, *_, **__):
    return g.cast(x, g.made.dtype)


@emits("reshape", "view", table=FUNCTIONS)
def _reshape(g, x, *shape):
    return OPERATORS["reshape"](g, x, _sizes(shape))


@emits("expand", table=FUNCTIONS)
def _expand(g, x, *shape):
    return OPERATORS["expand"](g, x, _sizes(shape))


@emits("permute", table=FUNCTIONS)
def _permute(g, x, *perm):
    return OPERATORS["permute"](g, x, _sizes(perm))


@emits("transpose", table=FUNCTIONS)
def _transpose(g, x, a, b):
    return OPERATORS["swapaxes"](g, x, a, b)


@emits("squeeze", table=FUNCTIONS)
def _squeeze(g, x, axis=None):
    return OPERATORS["squeeze"](g, x, axis)


@emits("from_numpy", "tensor", "as_tensor", table=FUNCTIONS)
def _constant(g, value, **_):
    if not isinstance(value, (np.ndarray, int, float, bool, list)):
        raise Unsupported("a value from outside the Program")
    return g.buffer(torch.as_tensor(value).to(g.made.dtype))
