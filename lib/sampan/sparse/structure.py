"""What moves entries without changing them: transpose, reshape, slice, concat; and sums over axes."""

import builtins
import math
from collections.abc import Sequence
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.tensor import Tensor
from ..ops.joining import concat as join
from .elementwise import at_entries
from .operators import entries_picked
from .pattern import Coo
from .tensor import SparseTensor, expect_sparse

__all__ = ["coalesce", "concat", "is_same_shape", "mask_as", "reshape", "slice", "sum", "transpose"]


def coalesce(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """Entries in lexicographic order of their places, those of one place added up."""
    return expect_sparse(x).coalesce()


def is_same_shape(x: Any, y: Any) -> bool:
    """Whether two tensors, sparse or dense, have one shape."""
    return list(x.shape) == list(y.shape)


def _as_before(x: SparseTensor, made: SparseTensor) -> SparseTensor:
    """In the layout of x: compressed rows where x has them."""
    return made.as_csr() if x.is_sparse_csr() else made


def transpose(x: SparseTensor, perm: Sequence[int], name: str | None = None) -> SparseTensor:
    """The axes in the order `perm`, the entries in the order they had. Sparse axes stay before dense ones."""
    axes = [int(a) % max(x.ndim, 1) for a in perm]
    lead = len(expect_sparse(x).pattern.shape)
    if sorted(axes) != list(range(x.ndim)) or set(axes[:lead]) != set(range(lead)):
        raise ValueError(
            f"perm: expected an order of {x.ndim} axes, the {lead} sparse ones first, got {list(perm)}"
        )
    coo = x.as_coo()
    pattern = Coo(coo.pattern.indices[axes[:lead]], tuple(coo.pattern.shape[a] for a in axes[:lead]))
    entries = coo.entries
    if axes[lead:] != list(range(lead, x.ndim)):
        entries = entries.transpose([0, *(a - lead + 1 for a in axes[lead:])])
    moved = SparseTensor(pattern, entries)
    return _as_before(x, moved)


def reshape(
    x: SparseTensor | None = None, shape: Sequence[int] = (), name: str | None = None, *, input: Any = None
) -> SparseTensor:
    """The same entries, in flattened order, under another shape. Dense axes keep their lengths.

    One length may be -1, whatever is left; 0 is x's own at that axis, unless x has no places at all. input:
    another name for x.
    """
    x = expect_sparse(input if x is None else x)
    lead = list(x.pattern.shape)
    dense = list(x.shape[len(lead) :])
    total = math.prod(lead)
    wanted = [int(n) or (x.shape[a] if total and a < x.ndim else 0) for a, n in enumerate(shape)]
    new = wanted[: len(wanted) - len(dense)]
    if new.count(-1) == 1:
        rest = -math.prod(new)
        new[new.index(-1)] = total // rest if rest else 0
    if wanted[len(new) :] != dense or min(new, default=0) < 0 or math.prod(new) != total:
        raise ValueError(
            f"shape: expected {total} places followed by the dense lengths {dense}, got {wanted}"
        )
    coo = x.as_coo()
    flat = coo.pattern.flat
    places = torch.stack(torch.unravel_index(flat, new)) if new else flat.new_empty((0, flat.shape[0]))
    pattern = Coo(places.to(coo.pattern.kind), tuple(new), coo.is_coalesced())
    entries = coo.entries.clone() if x.is_sparse_csr() else coo.entries  # as in Paddle
    return _as_before(x, SparseTensor(pattern, entries))


def slice(x: SparseTensor, axes: Any, starts: Any, ends: Any, name: str | None = None) -> SparseTensor:
    """x[starts:ends] along each of `axes`; bounds count from the end where negative, and are clipped."""
    lead = len(expect_sparse(x).pattern.shape)
    axes, starts, ends = (
        v.tolist() if isinstance(v, Tensor) else [int(i) for i in v] for v in (axes, starts, ends)
    )
    if not len(axes) == len(starts) == len(ends):
        raise ValueError(
            f"axes, starts, ends: expected one length, got {len(axes)}, {len(starts)}, {len(ends)}"
        )
    coo = x.as_coo()
    places, shape = coo.pattern.indices.clone(), list(coo.pattern.shape)
    kept = torch.ones(coo.nnz(), dtype=torch.bool, device=places.device)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"axes: expected {-x.ndim} to {x.ndim - 1}, got {axis}")
        axis %= x.ndim
        if axis >= lead:
            within = (builtins.slice(None),) * (axis - lead + 1)
            coo = coo.like(coo.entries[(*within, builtins.slice(start, end))])
            continue
        low, high, _ = builtins.slice(start, end).indices(shape[axis])
        kept &= (places[axis] >= low) & (places[axis] < high)
        places[axis] -= low
        shape[axis] = max(high - low, 0)
    pattern = Coo(places[:, kept], tuple(shape), coo.is_coalesced())
    return _as_before(x, SparseTensor(pattern, entries_picked(coo.entries, kept.nonzero().flatten())))


def concat(x: Sequence[SparseTensor], axis: int = 0, name: str | None = None) -> SparseTensor:
    """Tensors of one layout behind one another along a sparse axis; their other lengths are equal."""
    tensors = [expect_sparse(t, f"x[{i}]") for i, t in enumerate(x)]
    if not tensors:
        raise ValueError("x: expected one tensor or more, got an empty list")
    first = tensors[0]
    axis %= first.ndim
    others = [[n for a, n in enumerate(t.shape) if a != axis] for t in tensors]
    if axis >= len(first.pattern.shape) or any(o != others[0] for o in others):
        raise ValueError(
            f"x: expected equal lengths but along sparse axis {axis}, got {[list(t.shape) for t in tensors]}"
        )
    parts, start = [t.as_coo() for t in tensors], 0
    columns = []
    for part in parts:
        places = part.pattern.indices.clone()
        places[axis] += start
        columns.append(places)
        start += part.pattern.shape[axis]
    shape = [start if a == axis else n for a, n in enumerate(first.pattern.shape)]
    made = SparseTensor(Coo(torch.cat(columns, 1), tuple(shape)), join([p.entries for p in parts], 0))
    return _as_before(first, made.ordered() if all(t.is_coalesced() for t in tensors) else made)


def mask_as(x: Tensor, mask: SparseTensor, name: str | None = None) -> SparseTensor:
    """A dense tensor's values at the entries of `mask`, in its layout; the mask's values are not read."""
    mask = expect_sparse(mask, "mask").distinct()
    if list(x.shape) != list(mask.shape):
        raise ValueError(f"mask: expected x's shape {list(x.shape)}, got {list(mask.shape)}")
    return mask.like(at_entries(x, mask.pattern))


def sum(
    x: SparseTensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None
) -> SparseTensor:
    """The sum over `axis` (an int, a list, or None for all), itself sparse.

    Of all axes it has shape [1], of compressed rows [1, 1], as in Paddle; compressed rows sum over the last
    axis, which stays with length 1. bool sums as int64, and so does int32 over all axes or dense ones.
    """
    coo = expect_sparse(x).as_coo()
    entries = coo.entries
    given = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if any(not -x.ndim <= a < x.ndim for a in given):
        raise ValueError(f"axis: expected {-x.ndim} to {x.ndim - 1}, got {axis}")
    axes, lead = {a % x.ndim for a in given}, len(x.pattern.shape)
    if x.is_sparse_csr():
        if axis is not None and axes != {x.ndim - 1}:
            raise ValueError(f"axis: compressed rows are summed over the last axis or all, got {axis}")
        keepdim = True
    dense = [a - lead + 1 for a in sorted(axes) if a >= lead]
    widened = entries.dtype == torch.bool or (entries.dtype == torch.int32 and (axis is None or dense))
    if dtype is not None or widened:
        entries = entries.astype("int64" if dtype is None else as_dtype(dtype))
    if dense:
        entries = entries.sum(dense, keepdim=keepdim)
    if axes >= set(range(lead)):
        total = entries.sum(0, keepdim=True)
        shape = [1] * (lead if keepdim else 1)
        place = torch.zeros((len(shape), 1), dtype=torch.int64, device=total.data.device)
        made = SparseTensor(Coo(place, tuple(shape), True), total)
        return _as_before(x, made) if len(shape) > 1 else made
    places = coo.pattern.indices.clone()
    for a in axes & set(range(lead)):
        places[a] = 0
    shape = [1 if a in axes else n for a, n in enumerate(coo.pattern.shape)]
    if not keepdim:
        kept = [a for a in range(lead) if a not in axes]
        places, shape = places[kept], [shape[a] for a in kept]
    summed = SparseTensor(Coo(places, tuple(shape)), entries).coalesce()
    return _as_before(x, summed)
