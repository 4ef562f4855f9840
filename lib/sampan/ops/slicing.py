"""Parts of arrays by bounds, windows and strides, and arrays with such a part exchanged."""

import builtins
import math
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import as_method, composite, operator
from ..engine.tensor import InvalidArgument, Tensor
from .indexing import getitem, setitem, spread
from .shape import _free, _ints, along, assign, expand_view, flip, permute, reshape, unshared

# fmt: off
__all__ = [
    "as_strided", "crop", "diagonal_scatter", "narrow", "reduce_as", "rot90", "select_scatter", "shard_index",
    "slice", "slice_scatter", "strided_slice", "unflatten", "unfold", "view", "view_as",
]
# fmt: on


def _key(x: Any, axes: Any, starts: Any, ends: Any, strides: Any) -> tuple[builtins.slice, ...]:
    """An index with a slice in each of `axes`."""
    axes, starts, ends = _ints(axes, "axes"), _ints(starts, "starts"), _ints(ends, "ends")
    steps = [1] * len(axes) if strides is None else _ints(strides, "strides")
    if not len(axes) == len(starts) == len(ends) == len(steps):
        raise InvalidArgument(f"slice: the lists differ in length: {axes}, {starts}, {ends}, {steps}")
    if 0 in steps:
        raise InvalidArgument("slice: a stride must not be 0")
    key = [builtins.slice(None)] * x.ndim
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        key[_free(x, axis)] = builtins.slice(*bounds)
    return tuple(key)


@composite(method="")
def slice(input, axes, starts, ends) -> Tensor:
    """The part from `starts` up to, not including, `ends` of each of `axes`; as in Python, bounds are
    clipped."""
    return getitem(input, _key(input, axes, starts, ends, None))


@composite(method="")
def strided_slice(x, axes, starts, ends, strides, name=None) -> Tensor:
    """`slice` taking every `strides`-th entry, backwards where that is negative."""
    return getitem(x, _key(x, axes, starts, ends, strides))


@composite(method="")
def slice_scatter(x, value, axes, starts, ends, strides, name=None) -> Tensor:
    """`x` with `value`, broadcast, in the place of its `strided_slice`."""
    return setitem(x, value, _key(x, axes, starts, ends, strides))


@composite(method="")
def select_scatter(x, values, axis, index, name=None) -> Tensor:
    """`x` with `values` in the place of its slice `index` along `axis`."""
    axis = _free(x, axis)
    if values.shape != [n for i, n in enumerate(x.shape) if i != axis]:
        raise RuntimeError(f"select_scatter: values: a slice of {list(x.shape)} is no {list(values.shape)}")
    return setitem(x, values, along(axis, index))


@composite()
def crop(x, shape=None, offsets=None, name=None) -> Tensor:
    """The part of `shape` (-1: up to the end; None: all of x) that begins at `offsets` (zeros when None)."""
    begin = [0] * x.ndim if offsets is None else _ints(offsets, "offsets")
    size = list(x.shape) if shape is None else _ints(shape, "shape")
    if len(begin) != x.ndim or len(size) != x.ndim:
        raise InvalidArgument(f"crop: expected {x.ndim} lengths and offsets, got {size} and {begin}")
    size = [n - b if s == -1 else s for n, b, s in zip(x.shape, begin, size, strict=True)]
    if any(b < 0 or b + s > n for n, b, s in zip(x.shape, begin, size, strict=True)):
        raise InvalidArgument(f"crop: shape {size} from {begin} does not lie in {list(x.shape)}")
    return assign(getitem(x, tuple(builtins.slice(b, b + s) for b, s in zip(begin, size, strict=True))))


@composite(method="")
def narrow(input, dim, start, length) -> Tensor:
    """The `length` slices of axis `dim` from `start` on. A view."""
    axis, start, length = _free(input, dim), int(start), int(length)
    n = input.shape[axis]
    first = start + n if start < 0 else start
    if not (first >= 0 and length >= 0 and first + length <= n):
        raise InvalidArgument(f"narrow: {length} slices from {start} do not lie in an axis of length {n}")
    return getitem(input, along(axis, builtins.slice(first, first + length)))


def _diagonal_scatter_by_x(g: Any, offset: int, axis1: int, axis2: int) -> Any:
    at = (offset, axis1, axis2)
    return diagonal_scatter(g, g.diagonal(*at) * 0, *at)


@operator(_diagonal_scatter_by_x, lambda g, offset, axis1, axis2: g.diagonal(offset, axis1, axis2), method="")
def diagonal_scatter(x, y, offset=0, axis1=0, axis2=1, name=None):
    """`x` with `y` on the diagonal `offset` of two axes: y has the shape of that diagonal."""
    return torch.diagonal_scatter(x, y, offset, axis1, axis2)


@composite(method="", inplace="rewrite")
def fill_diagonal_tensor(x, y, offset=0, dim1=0, dim2=1, name=None) -> Tensor:
    """`x` with `y` on the diagonal `offset` of two axes: y has the shape of that diagonal."""
    return diagonal_scatter(x, y, offset, dim1, dim2)


# The settings are saved, not named: where a derivative names a parameter, the twin in place copies x first.
@operator(lambda g, saved: fill_diagonal(g, 0.0, *saved), inplace="rewrite")
def fill_diagonal(x, value, offset=0, wrap=False, name=None):
    """`x` with a number on its diagonal `offset` (of all axes where there are more than two).

    wrap: in a matrix with more rows than columns the diagonal begins again below.
    """
    columns = x.shape[1]
    step = builtins.sum(math.prod(x.shape[i + 1 :]) for i in range(x.ndim))
    places = torch.arange(0, x.numel() if wrap else min(x.numel(), columns * columns), step, device=x.device)
    if x.ndim == 2:
        inside = (places % columns + offset >= 0) & (places % columns + offset < columns)
        places = places[inside] + offset
    else:
        places = torch.arange(0, x.numel(), step, device=x.device)
    filled = x.clone(memory_format=torch.contiguous_format)
    filled.view(-1)[places] = value
    return filled, (offset, wrap)


# --- windows and views --------------------------------------------------------------------------------------


@operator(
    lambda g, axis, size, step, saved: unfolded_back(g, saved, axis, size, step),
    method="",
    view=True,
)
def unfold(x, axis, size, step, name=None):
    """The windows of `size` entries along `axis`, `step` apart; a window's entries are the last axis. A
    view."""
    return x.unfold(axis, size, step), list(x.shape)


@operator(lambda g, axis, size, step: unfold(g, axis, size, step))
def unfolded_back(x, shape, axis, size, step):
    """Windows added up where they overlap: the transpose of `unfold`."""
    return torch.ops.aten.unfold_backward(x, shape, axis, size, step)


@composite(method="")
def as_strided(x, shape, stride, offset=0, name=None) -> Tensor:
    """The entries of x's memory, `stride` apart along each axis of `shape`, from `offset` bytes on. A
    view."""
    return strided(x, _ints(shape, "shape"), _ints(stride, "stride"), offset // x.element_size())


def _strided_by_x(g: Any, shape: Any, stride: Any, offset: int, saved: Any) -> Any:
    places, whole = saved
    read = places.as_strided(shape, stride, offset).reshape(-1)
    return spread(g.reshape([-1]), (read,), (math.prod(whole),)).reshape(whole)


@operator(_strided_by_x, view=True)
def strided(x, shape, stride, offset):
    """`as_strided`; its gradient goes back to the places that were read, also where they were read twice."""
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    if not x.is_contiguous():
        places = torch.empty_like(x, dtype=torch.int64).copy_(places)
    return torch.as_strided(x, shape, stride, offset), (places, x.shape)


@operator(lambda g, saved: g.view(saved), view=True)
def reinterpreted(x, dtype):
    """The same bytes as entries of another dtype; the last axis changes its length with their size. A
    view."""
    return x.view(dtype), x.dtype


@composite(method="", sizes=True)
def view(x, shape_or_dtype, name=None) -> Tensor:
    """x's memory in another shape, or its bytes as another dtype. A view."""
    if isinstance(shape_or_dtype, (list, tuple)):
        return reshape(x, shape_or_dtype)
    return reinterpreted(x, as_dtype(shape_or_dtype))


@composite(method="")
def view_as(x, other, name=None) -> Tensor:
    """x's memory in the shape of `other`. A view."""
    return reshape(x, other.shape)


@composite(method="")
def unflatten(x, axis, shape, name=None) -> Tensor:
    """`x` with one axis cut into several, of lengths `shape`; -1 is inferred. A view."""
    axis = _free(x, axis)
    return reshape(x, [*x.shape[:axis], *_ints(shape, "shape"), *x.shape[axis + 1 :]])


@composite(method="")
def rot90(x, k=1, axes=[0, 1], name=None) -> Tensor:
    """`x` turned k times by 90 degrees in the plane of two axes, from the first towards the second."""
    if x.ndim < 2 or len(axes) != 2:
        raise InvalidArgument(
            f"rot90: expected at least 2 axes and a plane of two, got {[*x.shape]} and {axes}"
        )
    first, second = (_free(x, a) for a in axes)
    if first == second:
        raise InvalidArgument(f"rot90: expected two different axes, got {axes}")
    order = list(range(x.ndim))
    if k % 2:
        order[first], order[second] = second, first
    flipped = flip(x, [[], [second], [first, second], [first]][k % 4]) if k % 4 else x
    return permute(flipped, order)


@composite(method="")
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1) -> Tensor:
    """Ids from 0 to index_num - 1 as places in shard `shard_id` of `nshards` equal ones; `ignore_value` for
    others'."""
    if not 0 <= shard_id < nshards:
        raise InvalidArgument(f"shard_index: shard_id: expected 0 to {nshards - 1}, got {shard_id}")
    ids, size = input.data, -(-index_num // nshards)
    if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < index_num):
        raise InvalidArgument(f"shard_index: input: expected ids from 0 to {index_num - 1}")
    return type(input)(torch.where(ids // size == shard_id, ids % size, ignore_value))


@composite(method="")
def reduce_as(x, target, name=None) -> Tensor:
    """The sum of x over the axes along which an array of target's shape is repeated to reach x's."""
    shape = [1] * (x.ndim - target.ndim) + list(target.shape)
    axes = [i for i, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if m == 1 and n != 1]
    expand_view(target, x.shape)  # refuses what does not fit
    return unshared(reshape(x.sum(axis=axes, keepdim=True) if axes else x, target.shape), x)


def resize_(x, shape, fill_zero=False, name=None) -> Tensor:
    """Give x another shape, in place: its first entries, and zeros after them where it grows (with
    `fill_zero`)."""
    sizes = _ints(shape, "shape")
    count = math.prod(sizes)
    if count > x.size and not fill_zero:
        raise InvalidArgument(
            f"resize_: {sizes} has more than the {x.size} entries of x; pass fill_zero=True"
        )
    flat = x.data.new_zeros(count)
    flat[: x.size] = x.data.reshape(-1)[:count]
    x.data = flat.reshape(sizes)
    return x


def set_(x, source=None, shape=None, stride=None, offset=0, name=None) -> Tensor:
    """Make x show the memory of `source` (its own when None; empty without any argument) by shape and
    strides."""
    if source is None and shape is None:
        x.data = x.data.new_empty(0)
        return x
    data = x.data if source is None else source.data
    sizes = list(data.shape) if shape is None else _ints(shape, "shape")
    steps = torch.empty(sizes, device="meta").stride() if stride is None else _ints(stride, "stride")
    same = shape is None and stride is None
    x.data = data if same else torch.as_strided(data, sizes, steps, offset // data.element_size())
    return x


for _function in (resize_, set_):
    as_method(_function, _function.__name__)
