"""Reading and writing by places."""

from __future__ import annotations

from typing import Any

import torch

from ...jit.program import Ref
from ...jit.symbolic import Length
from ..graph import Graph, Unsupported
from .layers import counted
from .table import emits

_HIGH, _LOW = torch.iinfo(torch.int64).max, torch.iinfo(torch.int64).min


@emits("getitem")
def _getitem(g, x, index):
    return taken(g, g.name(x), g.rank(x), index)


def taken(g: Graph, x: str, rank: int, index: Any) -> str:
    """x[index] for x of so many axes: slices, ints and None first, then what Tensors name, as torch does."""
    items = _every_axis(g, index, rank)
    x = _cut(g, x, items)
    axis, found, tensors = 0, x, []  # tensors: (axis of the result, index)
    for item in items:
        if item is None:
            found, axis = g.node("Unsqueeze", found, [axis]), axis + 1
        elif isinstance(item, slice):
            axis += 1
        elif isinstance(item, Ref):
            parts = [item] if g.fact(item).dtype is not torch.bool else _places(g, item)
            tensors += [(axis + i, part) for i, part in enumerate(parts)]
            axis += len(parts)
        else:
            found = g.node("Gather", found, g.number(item, torch.int64), axis=axis)
    if not tensors:
        return found
    if len(tensors) == 1:
        place, one = tensors[0]
        return str(g.node("Gather", found, one, axis=place))
    return _many(g, found, axis, tensors)


def _every_axis(g: Graph, index: Any, rank: int) -> list[Any]:
    """The index as a list with an entry for each axis, and None for each new one."""
    items = list(index) if isinstance(index, tuple) else [index]
    for i, item in enumerate(items):
        if isinstance(item, (list, torch.Tensor)):
            data = torch.as_tensor(item)
            if data.dtype is torch.bool:
                raise Unsupported("a list of bools as an index")
            items[i] = Ref("index", len(g.known))
            g.known[items[i]] = g.constant_fact(data)
            g.names[items[i]] = g.buffer(data)
        elif isinstance(item, bool):
            raise Unsupported("a bool as an index")
    used = sum(
        (g.rank(i) if isinstance(i, Ref) and g.fact(i).dtype is torch.bool else 1)
        for i in items
        if i is not None and i is not Ellipsis
    )
    rest = [slice(None)] * (rank - used)
    if Ellipsis not in [i for i in items if not isinstance(i, Ref)]:
        return items + rest
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    return items[:at] + rest + items[at + 1 :]


def _cut(g: Graph, x: str, items: list[Any]) -> str:
    """x with the slices among the items."""
    cuts, axis = [], 0
    for item in items:
        if isinstance(item, slice) and item != slice(None):
            step = 1 if item.step is None else item.step
            if isinstance(step, Length):
                raise Unsupported("a step that follows the input")
            start = (0 if step > 0 else _HIGH) if item.start is None else item.start
            stop = (_HIGH if step > 0 else _LOW) if item.stop is None else item.stop
            if any(isinstance(v, Ref) for v in (start, stop)):
                raise Unsupported("a slice between values of Tensors")
            cuts.append((start, stop, axis, step))
        if item is not None:
            axis += g.rank(item) if isinstance(item, Ref) and g.fact(item).dtype is torch.bool else 1
    if not cuts:
        return x
    starts, stops, axes, steps = map(list, zip(*cuts, strict=True))
    return str(g.node("Slice", x, starts, stops, axes, steps))


def _places(g: Graph, mask: Ref) -> list[str]:
    """The places where a mask is true, one vector for each of its axes."""
    found = g.node("NonZero", mask)  # [axes, places]
    return [g.node("Gather", found, g.number(i, torch.int64), axis=0) for i in range(g.rank(mask))]


def _many(g: Graph, x: str, rank: int, tensors: list[tuple[int, Any]]) -> str:
    """x [...] at several indices, which broadcast."""
    axes = [axis for axis, _ in tensors]
    width = max(g.rank(t) if isinstance(t, Ref) else 1 for _, t in tensors)
    given = [g.cast(t, torch.int64) for _, t in tensors]
    zero = g.node("Mul", _added(g, given), g.number(0, torch.int64))
    joined = g.node("Concat", *(g.node("Unsqueeze", g.node("Add", t, zero), [-1]) for t in given), axis=-1)
    rest = [i for i in range(rank) if i not in axes]
    found = g.node("GatherND", g.node("Transpose", x, perm=axes + rest), joined)
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    order = [*range(width, width + first), *range(width), *range(width + first, width + len(rest))]
    return str(g.node("Transpose", found, perm=order)) if first else str(found)


def _added(g: Graph, values: list[str]) -> str:
    found = values[0]
    for value in values[1:]:
        found = g.node("Add", found, value)
    return found


@emits("setitem", "put")
def _setitem(g, x, value, index):
    dtype = g.fact(x).dtype
    given = g.operand(value, dtype)
    plain = not isinstance(value, Ref) or g.rank(value) == 0
    if isinstance(index, Ref) and g.fact(index).dtype is torch.bool and plain:
        mask: Any = index
        for _ in range(g.rank(x) - g.rank(index)):
            mask = g.node("Unsqueeze", mask, [-1])
        return g.node("Where", mask, given, x)
    # The place in memory of each entry, then of those that the index names.
    count = g.node("Reshape", g.numel(x), [])
    places = taken(g, g.node("Reshape", counted(g, count), g.shape(x)), g.rank(x), index)
    spread = g.node("Expand", given, g.node("Shape", places))
    flat = [g.node("Reshape", v, [-1]) for v in (x, places, spread)]
    return g.node("Reshape", g.node("ScatterElements", *flat, axis=0), g.shape(x))


@emits("index_select")
def _index_select(g, x, index, axis=0, name=None):
    if isinstance(index, int):
        index, axis = axis, index
    return g.node("Gather", x, g.node("Reshape", index, [-1]), axis=g.axis(x, axis))


@emits("picked_along")
def _picked_along(g, x, indices, axis):
    return g.node("GatherElements", x, indices, axis=g.axis(x, axis))


_REDUCTIONS = {
    "": "none",
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "mul": "mul",
    "amax": "max",
    "amin": "min",
}


@emits("put_along")
def _put_along(g, x, index, source, axis, reduce, include_self):
    how = _REDUCTIONS.get(reduce)
    if how is None or (how != "none" and not include_self):
        raise Unsupported(f"entries put together by {reduce!r}")
    return g.node("ScatterElements", x, index, source, axis=g.axis(x, axis), reduction=how)


@emits("one_hot")
def _one_hot(g, x, num_classes=-1, name=None):
    if not isinstance(num_classes, int) or num_classes < 0:
        raise Unsupported("a number of classes that is not known")
    values = g.buffer(torch.tensor([0, 1], dtype=g.made.dtype))
    return g.node("OneHot", x, g.number(num_classes, torch.int64), values, axis=-1)


@emits("nonzero")
def _nonzero(g, x, as_tuple=False):
    if as_tuple:
        raise Unsupported("as_tuple=True")
    return g.node("Transpose", g.node("NonZero", x), perm=[1, 0])
