"""What makes one number of many, and what puts entries in order."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..graph import Graph, Unsupported
from .table import emits


def axes_of(g: Graph, x: Any, axis: Any) -> list[int] | None:
    """The axes of a setting: an int, a list, or None and [] for all."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return None
    return [g.axis(x, a) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]


@emits("sum")
def _sum(g, x, axis=None, dtype=None, keepdim=False, name=None):
    if isinstance(dtype, bool):
        keepdim = dtype
    return g.reduce("Sum", g.cast(x, g.made.dtype), axes_of(g, x, axis), keepdim)


@emits("mean")
def _mean(g, x, axis=None, keepdim=False, name=None, *, dtype=None):
    if not g.made.dtype.is_floating_point:
        raise Unsupported("the mean of integers")
    return g.reduce("Mean", g.cast(x, g.made.dtype), axes_of(g, x, axis), keepdim)


@emits("max", "amax")
def _max(g, x, axis=None, keepdim=False, name=None, kind="Max"):
    if not isinstance(g.result, (list, tuple)):
        return g.reduce(kind, x, axes_of(g, x, axis), keepdim)
    raise Unsupported("the largest entries with their places")


@emits("min", "amin")
def _min(g, x, axis=None, keepdim=False, name=None):
    return _max(g, x, axis, keepdim, kind="Min")


@emits("prod_along")
def _prod(g, x, axis):
    return g.reduce("Prod", x, [g.axis(x, axis)], True)


@emits("any")
def _any(g, x, axis=None, keepdim=False, name=None, kind="Max"):
    found = g.reduce(kind, g.cast(g.cast(x, torch.bool), torch.int32), axes_of(g, x, axis), keepdim)
    return g.cast(found, torch.bool)


@emits("all")
def _all(g, x, axis=None, keepdim=False, name=None):
    return _any(g, x, axis, keepdim, kind="Min")


@emits("logsumexp")
def _logsumexp(g, x, axis=None, keepdim=False, name=None):
    return g.reduce("LogSumExp", g.cast(x, g.made.dtype), axes_of(g, x, axis), keepdim)


@emits("argmax")
def _argmax(g, x, axis=None, keepdim=False, dtype="int64", name=None, kind="ArgMax"):
    if axis is None:
        flat = g.node(kind, g.node("Reshape", x, [-1]), axis=0, keepdims=0)
        return g.cast(g.node("Expand", flat, [1] * g.made.ndim) if keepdim else flat, g.made.dtype)
    return g.cast(g.node(kind, x, axis=g.axis(x, axis), keepdims=int(bool(keepdim))), g.made.dtype)


@emits("argmin")
def _argmin(g, x, axis=None, keepdim=False, dtype="int64", name=None):
    return _argmax(g, x, axis, keepdim, dtype, kind="ArgMin")


@emits("var")
def _var(g, x, axis=None, unbiased=None, keepdim=False, name=None, *, correction=1):
    axes = axes_of(g, x, axis)
    axes = list(range(g.rank(x))) if axes is None else axes
    rest = g.node("Sub", x, g.reduce("Mean", x, axes, True))
    total = g.reduce("Sum", g.node("Mul", rest, rest), axes, keepdim)
    sizes = g.node("Gather", g.shape(x), g.ints(axes), axis=0)
    count = g.cast(g.reduce("Prod", sizes, [0], False), g.made.dtype)
    less = correction if unbiased is None else int(unbiased)
    return g.node("Div", total, g.node("Sub", count, g.number(less, g.made.dtype)))


@emits("cumsum")
def _cumsum(g, x, axis=None, dtype=None, name=None):
    given = g.cast(x, g.made.dtype)
    if axis is None:
        given, axis = g.node("Reshape", given, [-1]), 0
    return g.node("CumSum", given, g.number(axis, torch.int64))


@emits("p_norm")
def _p_norm(g, x, p, axes, keepdim=False):
    axes = axes_of(g, x, axes)
    if p in (1, 2):
        return g.reduce(f"L{int(p)}", x, axes, bool(keepdim))
    large = g.node("Abs", x)
    if p in (math.inf, -math.inf):
        return g.reduce("Max" if p > 0 else "Min", large, axes, bool(keepdim))
    if not p:
        raise Unsupported("the number of entries that are not 0")
    power = g.number(p, g.made.dtype)
    total = g.reduce("Sum", g.node("Pow", large, power), axes, bool(keepdim))
    return g.node("Pow", total, g.number(1 / p, g.made.dtype))


@emits("topk")
def _topk(g, x, k, axis=None, largest=True, sorted=True, name=None):
    axis = -1 if axis is None else axis
    return g.node("TopK", x, g.ints([k]), axis=axis, largest=int(largest), sorted=int(sorted), outputs=2)


def _ordered(g: Graph, x: Any, axis: int, descending: bool) -> Any:
    length = g.node("Gather", g.shape(x), g.ints([g.axis(x, axis)]), axis=0)
    return g.node("TopK", x, length, axis=axis, largest=int(descending), outputs=2)


@emits("sort")
def _sort(g, x, axis=-1, descending=False, stable=False, name=None):
    return _ordered(g, x, axis, descending)[0]


@emits("argsort")
def _argsort(g, x, axis=-1, descending=False, stable=False, name=None):
    return _ordered(g, x, axis, descending)[1]


@emits("count_nonzero")
def _count(g, x, axis=None, keepdim=False, name=None):
    return g.reduce("Sum", g.cast(g.cast(x, torch.bool), torch.int64), axes_of(g, x, axis), bool(keepdim))


@emits("mean_cross_entropy")
def _cross_entropy(g, x, label, ignore_index=-100):
    logs = g.node("LogSoftmax", x, axis=1)
    lost = g.node("NegativeLogLikelihoodLoss", logs, label, ignore_index=ignore_index, reduction="none")
    if ignore_index < 0:
        return g.reduce("Mean", lost, None)
    return g.node("NegativeLogLikelihoodLoss", logs, label, ignore_index=ignore_index, reduction="mean")


@emits("picks")
def _picks(g, label, weight, classes, ignore_index, axis, one, dtype, smoothing):
    if smoothing:
        raise Unsupported("smoothed labels")
    hard = g.cast(g.node("Squeeze", label, [axis]) if one else g.name(label), torch.int64)
    ignored = g.node("Equal", hard, g.number(ignore_index, torch.int64))
    places = g.node("Where", ignored, g.number(0, torch.int64), hard)
    own = g.number(1, dtype) if weight is None else g.node("Gather", weight, places, axis=0)
    factor = g.node("Where", ignored, g.number(0, dtype), own)
    total = g.reduce("Sum", factor, None)
    empty = g.node("Equal", total, g.number(0, dtype))
    total = g.node("Where", empty, g.number(math.inf, dtype), total)
    return [g.node("Unsqueeze", places, [axis]), factor, total]
