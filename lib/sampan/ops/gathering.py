"""Entries gathered from and scattered to the places that arrays of indices name. Negative indices count from
the end."""

import functools
from typing import Any

import torch

from ..dtype import name_of
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .indexing import getitem, setitem, spread
from .shape import _free, _ints, along, assign, cast, expand, expand_view, reshape, squeeze

# fmt: off
__all__ = [
    "gather", "gather_nd", "index_add", "index_fill", "index_put", "index_sample", "index_select",
    "put_along_axis", "scatter", "scatter_add", "scatter_nd", "scatter_nd_add", "scatter_reduce", "take",
    "take_along_axis",
]
# fmt: on


def _integers(index: Any, name: str) -> Any:
    if index.dtype is torch.int64:
        return index
    if index.dtype not in (torch.int32, torch.int16, torch.int8, torch.uint8):
        raise InvalidType(f"{name} must be integers, got {name_of(index.dtype)}")
    return index.long()


def _from_front(index: Any, length: int) -> Any:
    """`index` with negative entries counted from the end of an axis of this length."""
    return torch.where(index < 0, index + length, index)


def _found(pick, x, axis, index, *more):
    """pick(x, axis, index, *more), with negative indices counted from the end, and that index.

    On the CPU the kernels refuse negative ones, so non-negative indices need no check; a GPU must not get
    any. `pick` may run twice, so it must not write into its arguments: a refused call may have written
    in part.
    """
    if not index.is_cuda:
        try:
            return pick(x, axis, index, *more), index
        except (RuntimeError, IndexError):
            if not bool((index < 0).any()):
                raise
    index = _from_front(index, x.shape[axis])
    return pick(x, axis, index, *more), index


def _spread_along(indices: Any, shape: Any, axis: int) -> Any:
    """`indices` repeated along the axes other than `axis` to the lengths in `shape`."""
    if indices.ndim != len(shape):
        raise InvalidArgument(f"indices have {indices.ndim} axes, the array has {len(shape)}")
    target = list(shape)
    axis = _free(indices, axis)
    target[axis] = indices.shape[axis]
    return indices if list(indices.shape) == target else indices.expand(target)


def _several(index: Any) -> Any:
    """An index of at least one axis: Paddle refuses a 0-d one here."""
    if index.ndim == 0:
        raise InvalidArgument("index: expected at least one axis, got a 0-d tensor")
    return index


@operator(lambda g, saved: index_added(g, *saved), method="", out=True)
def index_select(x, index, axis=0, name=None):
    """The slices of `x` along `axis` that the 1-D `index` names."""
    if isinstance(index, int):
        index, axis = axis, index  # as torch has them
    index = _several(_integers(index, "index"))
    if index.ndim > 1:
        index = index.reshape(-1)
    value, index = _found(torch.index_select, x, axis, index)
    return value, (index, x.shape, axis)


@operator(lambda g, axis, saved: index_select(g, saved, axis))
def index_added(x, index, shape, axis):
    """Zeros of `shape` with the slices of `x` added at the places `index` of `axis`."""
    index = _from_front(index, shape[axis])
    return x.new_zeros(shape).index_add_(axis, index, x), index


@composite(method="", out=True)
def gather(x, index, axis=None, name=None, out=None) -> Tensor:
    """The slices of `x` along `axis` (0 when None) that the 1-D or [n, 1] `index` names; a 0-d one drops the
    axis."""
    axis = 0 if axis is None else int(axis)
    if index.ndim == 1:
        picked = index_select(x, index, axis)
    elif index.ndim == 0:
        picked = squeeze(index_select(x, reshape(index, [-1]), axis), axis)
    elif index.ndim == 2 and index.shape[1] == 1:
        picked = index_select(x, index, axis)
    else:
        raise InvalidArgument(f"gather: expected an index of shape [n] or [n, 1], got {list(index.shape)}")
    return picked if out is None else out._write(picked)


@composite(method="")
def gather_nd(x, index, name=None) -> Tensor:
    """`x` at the coordinates in the last axis of `index`: [..., k] picks slices of x over its first k
    axes."""
    if index.shape[-1] > x.ndim:
        raise InvalidArgument(f"gather_nd: index names {index.shape[-1]} axes, x has shape {list(x.shape)}")
    if not index.shape[-1]:  # every row of the index names x itself
        return expand(x, [*index.shape[:-1], *x.shape])
    return getitem(x, tuple(index.data.unbind(-1)))


@operator(lambda g, axis, saved: added_along(g, *saved, axis))
def picked_along(x, indices, axis):
    """For each entry of `indices`, the entry of `x` at that place along `axis` and the same place
    elsewhere."""
    value, indices = _found(torch.gather, x, axis, indices)
    return value, (indices, x.shape)


@operator(lambda g, indices, axis: picked_along(g, indices, axis))
def added_along(x, indices, shape, axis):
    """Zeros of `shape` with each entry of `x` added at its place `indices` along `axis`."""
    return x.new_zeros(shape).scatter_add_(axis, indices, x)


@composite(method="", aliases="take_along_dim", out=True)
def take_along_axis(arr, indices, axis, broadcast=True) -> Tensor:
    """For each entry of `indices`, the entry of `arr` at that place along `axis` and the same place
    elsewhere.

    broadcast: `indices`, of length 1 along other axes, is repeated along them.
    """
    places = _integers(indices.data, "indices")
    places = _spread_along(places, arr.shape, axis) if broadcast else places
    return picked_along(arr, places, axis)


_REDUCES = {"add": "sum", "mul": "prod", "multiply": "prod", "mean": "mean", "amin": "amin", "amax": "amax"}


def _scatter_reduce(reduce: str, include_self: bool, x: Any, axis: int, index: Any, source: Any) -> Any:
    return torch.scatter_reduce(x, axis, index, source, reduce, include_self=include_self)


def _put_along_back(g: Any, x: Any, source: Any, out: Any, saved: Any) -> tuple[Any, None, Any]:
    index, axis, reduce, include_self = saved
    if reduce == "sum" and include_self:
        return g, None, picked_along(g, index, axis)
    ones = torch.ones_like(x.data)
    others = ones.scatter(axis, index, 0)  # what keeps its value where x itself does not count
    if reduce == "":
        order = torch.arange(index.numel(), device=index.device).reshape(index.shape)
        last = torch.zeros(x.shape, dtype=torch.int64, device=index.device).scatter(axis, index, order)
        # of several values for one place one is kept
        won = (last.gather(axis, index) == order).to(ones.dtype)
        return g * others, None, picked_along(g, index, axis) * won
    if reduce == "mean":
        counts = (ones if include_self else others).scatter_add(axis, index, torch.ones_like(source.data))
        g = g / counts
    if reduce in ("sum", "mean"):
        return g if include_self else g * others, None, picked_along(g, index, axis)
    if reduce == "prod":
        whole = g * out
        return whole / x if include_self else g * others, None, picked_along(whole, index, axis) / source
    # an extreme is shared by all that have it
    hits = (source.data == out.data.gather(axis, index)).to(ones.dtype)
    mine = (x.data == out.data).to(ones.dtype) if include_self else others
    g = g / mine.scatter_add(axis, index, hits).clamp(min=1)
    return g * mine, None, picked_along(g, index, axis) * hits


@operator(joint=_put_along_back, amp="float32_always")
def put_along(x, index, source, axis, reduce, include_self):
    """`x` with the entries of `source` put, or for a `reduce` put together, at the places `index` along
    `axis`."""
    if reduce == "":
        kernel = torch.scatter
    elif reduce == "sum" and include_self:
        kernel = torch.scatter_add
    else:
        kernel = functools.partial(_scatter_reduce, reduce, include_self)
    out, index = _found(kernel, x, axis, index, source)
    return out, (index, axis, reduce, include_self)


def _put(x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool) -> Any:
    """`put_along` of as many entries of `source` as there are indices."""
    places = _integers(index.data, "index")
    if source.shape != places.shape:
        source = getitem(source, tuple(slice(n) for n in places.shape))
    return put_along(x, places, source, axis, reduce, include_self)


@composite(method="", inplace="rewrite")
def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True) -> Tensor:
    """A copy of `arr` with `values` at the places `indices` along `axis`.

    reduce: "assign", or what is done with several values for one place: "add", "mul" ("multiply"), "mean",
    "amin" or "amax". include_self: whether what was in that place is one of them. broadcast: `indices` and
    `values` broadcast to arr's lengths along the other axes.
    """
    if reduce != "assign" and reduce not in _REDUCES:
        known = f"'assign' or one of {', '.join(_REDUCES)}"
        raise InvalidArgument(f"put_along_axis: reduce: expected {known}, got {reduce!r}")
    places = _integers(indices.data, "indices")
    if broadcast:
        places = _spread_along(places, arr.shape, axis)
    if not isinstance(values, Tensor):
        values = Tensor(arr.data.new_tensor(values))
    if broadcast or values.ndim < places.ndim:
        values = expand_view(values, places.shape) if values.shape != places.shape else values
    return _put(arr, places, values, axis, _REDUCES.get(reduce, ""), include_self)


@composite(method="", inplace="rewrite")
def scatter_add(input, dim, index, src) -> Tensor:
    """`input` with entries of `src` added at the places `index` along `dim`: index[i, j] takes src[i, j]."""
    return _put(input, index, src, dim, "sum", True)


@composite(method="")
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True) -> Tensor:
    """`scatter_add` with another way to put several entries together: "sum", "prod", "mean", "amin" or
    "amax"."""
    if reduce not in (*_REDUCES, "sum", "prod"):
        raise InvalidArgument(
            f"scatter_reduce: reduce: expected sum, prod, mean, amin or amax, got {reduce!r}"
        )
    return _put(input, index, src, dim, _REDUCES.get(reduce, reduce), include_self)


@composite(method="", inplace="rewrite", out=True)
def scatter(x, index, updates, overwrite=True, name=None, out=None) -> Tensor:
    """A copy of `x` whose rows `index` are those of `updates`; with overwrite=False they are first zeroed and
    added up.

    index: [n], or a number for one row, whose `updates` have an axis less than x.
    """
    places = _integers(index.data, "index").reshape(-1)
    if index.ndim == 0:
        if updates.ndim != x.ndim - 1:
            raise InvalidArgument(
                f"scatter: updates: expected {x.ndim - 1} axes for one row, got shape {updates.shape}"
            )
        updates = updates.unsqueeze(0)
    if overwrite:
        result = setitem(x, updates, (places,))
    else:
        result = setitem(x, 0, (places,)) + index_added(updates, places, x.data.shape, 0)
    return result if out is None else out._write(result)


def _coordinates(index: Any) -> tuple[Any, ...]:
    return tuple(_integers(index.data, "index").unbind(-1))


@composite(method="")
def scatter_nd_add(x, index, updates, name=None) -> Tensor:
    """`x` plus `updates` added at the coordinates in the last axis of `index`; with no coordinates x +
    updates."""
    if not index.shape[-1]:
        return x + updates
    return x + spread(updates, _coordinates(index), x.data.shape)


@composite(method="")
def scatter_nd(index, updates, shape, name=None) -> Tensor:
    """Zeros of `shape` with `updates` added at the coordinates in the last axis of `index`; with none a copy
    of them."""
    if not index.shape[-1]:
        return assign(updates)
    return spread(updates, _coordinates(index), tuple(_ints(shape, "shape")))


@composite(method="", inplace="rewrite", out=True)
def index_add(x, index, axis, value, alpha=1, name=None) -> Tensor:
    """`x` with `alpha` times the slices of `value` added at the places `index` of `axis`."""
    if isinstance(index, int):
        index, axis = axis, index  # as torch has them
    value = value if alpha == 1 else value * alpha
    return x + index_added(value, _several(_integers(index.data, "index")), x.data.shape, axis)


@composite(method="", inplace="rewrite")
def index_fill(x, index, axis, value, name=None) -> Tensor:
    """`x` with `value` in the slices of `axis` that `index` names."""
    places = _several(_integers(index.data, "index")).reshape(-1)
    return setitem(x, value, along(axis % max(x.ndim, 1), places))


@composite(method="", inplace="rewrite")
def index_put(x, indices, value, accumulate=False, name=None) -> Tensor:
    """`x` with `value`, broadcast, at the places that a tuple of index arrays (or a mask) names; added if
    `accumulate`."""
    if not isinstance(indices, (tuple, list)):
        raise InvalidType(f"index_put: indices: expected a tuple of tensors, got {type(indices).__name__}")
    key = tuple(i.data if i.dtype == torch.bool else _several(_integers(i.data, "indices")) for i in indices)
    if x.data.is_complex() and isinstance(value, Tensor) and not value.data.is_complex():
        value = cast(value, x.data.dtype)
    if any(
        k.dtype is torch.bool and not k.any() for k in key
    ):  # no place to put anything, whatever its shape
        value = reshape(reshape(value, [-1])[:0], x.data[key].shape)
    if not accumulate:
        return setitem(x, value, key)
    return x + spread(expand_view(value, list(x.data[key].shape)), key, x.data.shape)


@composite(method="")
def index_sample(x, index) -> Tensor:
    """From each row of x [n, d] the entries that the same row of index [n, k] names: [n, k]."""
    if x.ndim != 2 or index.ndim != 2 or x.shape[0] != index.shape[0]:
        raise InvalidArgument(
            f"index_sample: expected x [n, d], index [n, k], got {[*x.shape]}, {[*index.shape]}"
        )
    return take_along_axis(x, index, 1, False)


@composite(method="")
def take(x, index, mode="raise", name=None) -> Tensor:
    """The entries of the flattened x that `index` names, in index's shape.

    mode: what an index outside does: "raise" an error, "wrap" around, or "clip" to the last entry (and
    negative ones to the first).
    """
    if mode not in ("raise", "wrap", "clip"):
        raise InvalidArgument(f'take: mode: expected "raise", "wrap" or "clip", got {mode!r}')
    if not isinstance(index, Tensor) or index.dtype not in (torch.int32, torch.int64):
        raise InvalidType("take: index: expected a tensor of int32 or int64")
    places = index.data.long().reshape(-1)
    if mode == "wrap":
        places = places % x.size
    elif mode == "clip":
        places = places.clamp(0, max(x.size - 1, 0))
    return reshape(index_select(reshape(x, [-1]), places), index.shape)
