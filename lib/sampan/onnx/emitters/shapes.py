"""Shapes, and what joins and cuts."""

from __future__ import annotations

from typing import Any

import torch

from ...jit.symbolic import Length
from ..graph import Graph, Unsupported
from .reductions import axes_of
from .table import emits


def _ints(values: Any) -> list[Any]:
    found = list(values) if isinstance(values, (list, tuple)) else [values]
    if not all(isinstance(value, (int, Length)) for value in found):
        raise Unsupported("lengths that are computed from values")
    return found


@emits("reshape")
def _reshape(g, x, shape, name=None):
    return g.node("Reshape", x, g.lengths(_ints(shape)))


@emits("assign", "copy_to")
def _assign(g, x, *_):
    return g.name(x)


@emits("permute")
def _permute(g, x, perm, name=None):
    return g.node("Transpose", x, perm=[g.axis(x, axis) for axis in perm])


@emits("moveaxis")
def _moveaxis(g, x, source, destination, name=None):
    a, b = ([g.axis(x, i) for i in _ints(v)] for v in (source, destination))
    rest = iter(i for i in range(g.rank(x)) if i not in a)
    moved = dict(zip(b, a, strict=True))
    return g.node("Transpose", x, perm=[moved[i] if i in moved else next(rest) for i in range(g.rank(x))])


@emits("swapaxes")
def _swapaxes(g, x, axis0, axis1, name=None):
    a, b = g.axis(x, axis0), g.axis(x, axis1)
    swapped = {a: b, b: a}
    return g.node("Transpose", x, perm=[swapped.get(i, i) for i in range(g.rank(x))])


@emits("squeeze")
def _squeeze(g, x, axis=None, name=None):
    axes = axes_of(g, x, axis)
    shape = g.fact(x).shape
    gone = [i for i in (range(len(shape)) if axes is None else axes) if shape[i] == 1]
    return g.node("Squeeze", x, gone) if gone else g.name(x)


@emits("unsqueeze")
def _unsqueeze(g, x, axis, name=None):
    axes, rank = _ints(axis), g.rank(x)
    for axis in axes:  # one by one, as Paddle counts them
        x, rank = g.node("Unsqueeze", x, [axis % (rank + 1)]), rank + 1
    return g.name(x)


@emits("expand", "expand_view")
def _expand(g, x, shape, name=None):
    return g.node("Expand", x, [1 if n == -1 else n for n in _ints(shape)])


@emits("flip")
def _flip(g, x, axis, name=None):
    axes = [g.axis(x, a) for a in _ints(axis)]
    low = torch.iinfo(torch.int64).min
    return g.node("Slice", x, [-1] * len(axes), [low] * len(axes), axes, [-1] * len(axes))


@emits("roll")
def _roll(g, x, shifts, axis=None, name=None):
    if axis is None:
        flat = _rolled(g, g.node("Reshape", x, [-1]), _ints(shifts)[0], 0)
        return g.node("Reshape", flat, g.shape(x))
    for shift, a in zip(_ints(shifts), _ints(axis), strict=True):
        a = a if isinstance(x, str) else g.axis(x, a)
        x = _rolled(g, g.name(x), shift, a)
    return g.name(x)


def _rolled(g: Graph, x: str, shift: Any, axis: int) -> str:
    if isinstance(shift, Length) or not shift:
        raise Unsupported("a roll by this number")
    high = torch.iinfo(torch.int64).max
    ends = [g.node("Slice", x, [-shift], [high], [axis]), g.node("Slice", x, [0], [-shift], [axis])]
    return str(g.node("Concat", *ends, axis=axis))


@emits("concat_tensors")
def _concat(g, *tensors, axis=0):
    return g.node("Concat", *tensors, axis=g.axis(tensors[0], axis))


@emits("stack_tensors")
def _stack(g, *tensors, axis=0):
    axis = axis % (g.rank(tensors[0]) + 1)
    return g.node("Concat", *(g.node("Unsqueeze", t, [axis]) for t in tensors), axis=axis)


@emits("split_view", "split_sizes")
def _split(g, x, sizes, axis):
    sizes = _ints(sizes)
    made = g.node("Split", x, sizes, axis=g.axis(x, axis), outputs=len(sizes))
    return [made] if isinstance(made, str) else list(made)


@emits("slices", "unstacked")
def _slices(g, x, axis):
    axis = g.axis(x, axis)
    return [g.node("Gather", x, g.number(i, torch.int64), axis=axis) for i in range(len(g.result))]


@emits("pad_constant")
def _pad(g, x, widths, value):
    widths = _ints(widths)
    rank = g.rank(x)
    before, after = [0] * rank, [0] * rank
    for i in range(len(widths) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = widths[2 * i], widths[2 * i + 1]
    return g.node("Pad", x, before + after, g.number(value or 0, g.made.dtype))


@emits("triu")
def _triu(g, x, diagonal=0, name=None, upper=1):
    if g.fact(x).dtype is torch.bool:
        return g.cast(
            g.node("Trilu", g.cast(x, torch.uint8), g.number(diagonal, torch.int64), upper=upper), torch.bool
        )
    return g.node("Trilu", x, g.number(diagonal, torch.int64), upper=upper)


@emits("tril")
def _tril(g, x, diagonal=0, name=None):
    return _triu(g, x, diagonal, upper=0)


@emits("pixels_shuffled")
def _pixels_shuffled(g, x, r):
    return g.node("DepthToSpace", x, blocksize=r, mode="CRD")


@emits("pixels_gathered")
def _pixels_gathered(g, x, r):
    if g.rank(x) != 4:
        raise Unsupported("pixels of an input without a batch")
    n, c, h, w = g.fact(x).shape
    if c is None or h is None or w is None:
        raise Unsupported("pixels of an input whose size is not known")
    cut = g.node("Reshape", x, [-1 if n is None else n, c, h // r, r, w // r, r])
    moved = g.node("Transpose", cut, perm=[0, 1, 3, 5, 2, 4])
    return g.node("Reshape", moved, [-1 if n is None else n, c * r * r, h // r, w // r])
