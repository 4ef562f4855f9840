"""Picking entries out and putting them in: indexing as NumPy has it, masks, where, diagonals."""

import builtins
from operator import index as as_int
from typing import Any

import numpy as np
import torch

from ..dtype import default_dtype, name_of
from ..engine.apply import AxisError
from ..engine.backward import unbroadcast
from ..engine.operator import as_method, composite, operator
from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .shape import assign, cast, expand_view, number, reshape


def _key(index: Any) -> Any:
    """An index in torch's terms: Tensors and arrays become buffers, negative steps are left to `_flips`."""
    if isinstance(index, tuple):
        return tuple(_key(i) for i in index)
    if isinstance(index, Tensor):
        return _key(index.data)
    if isinstance(index, torch.Tensor):
        if index.dtype is torch.bool:
            return index
        if index.is_floating_point() or index.is_complex():
            raise AxisError(f"an index must be of integers or bools, got {name_of(index.dtype)}")
        return index.long() if index.ndim else int(index)  # torch would take uint8 for a mask
    if isinstance(index, np.ndarray):
        return _key(torch.from_numpy(np.array(index)))
    if isinstance(index, np.integer):
        return int(index)
    if isinstance(index, (float, str)):
        known = "an int, a slice, `...`, None, or an array of integers or bools"
        raise AxisError(f"an index is {known}; got {index!r}")
    if isinstance(index, slice):
        return slice(*(None if v is None else as_int(v) for v in (index.start, index.stop, index.step)))
    if isinstance(index, (list, range)):
        array = np.asarray([i.numpy() if isinstance(i, Tensor) else i for i in index])
        if array.dtype == object or array.dtype.kind in "US":
            raise AxisError(f"a list used as an index must hold integers or bools, got {index!r}")
        return _key(torch.from_numpy(array.astype(np.int64) if array.size == 0 else array))
    return index


def _flipped(x: torch.Tensor, index: Any) -> tuple[list[int], Any]:
    """The axes to flip so that slices with a negative step get a positive one, and the index after that.

    torch has no negative steps; NumPy and Paddle do.
    """
    index = _key(index)
    parts = list(index) if isinstance(index, tuple) else [index]
    if not builtins.any(isinstance(p, slice) and p.step is not None and p.step < 0 for p in parts):
        return [], index
    axis, flips = 0, []
    taken = builtins.sum(_axes_taken(p) for p in parts)
    for place, part in enumerate(parts):
        if part is Ellipsis:
            axis += x.ndim - taken
            continue
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            n = x.shape[axis]
            steps = range(*part.indices(n))
            first = n - 1 - steps[0] if len(steps) else 0
            stop = first + (len(steps) - 1) * -part.step + 1 if len(steps) else 0
            parts[place] = slice(first, stop, -part.step)
            flips.append(axis)
        axis += _axes_taken(part)
    return flips, tuple(parts)


def _axes_taken(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, torch.Tensor) and part.dtype is torch.bool else 1


@operator(lambda g, index, saved: spread(g, index, saved), view=True)
def getitem(x, index):
    """`x[index]`: ints, slices (negative steps too), `...`, None, integer and boolean arrays, and mixtures.

    A view where only ints, slices, `...` and None occur with positive steps. Raises IndexError for an index
    out of range: the text is torch's ("index 5 is out of bounds"), and engine/error_translation.py puts the
    function's name before it.
    """
    flips, key = _flipped(x, index)
    source = x.flip(flips) if flips else x
    return source[key], x.shape


@operator(lambda g, index: getitem(g, index))
def spread(x, index, shape):
    """Zeros of `shape` with `x` added at `index`, where repeated positions add up: the transpose of
    `getitem`."""
    target = x.new_zeros(shape)
    flips, key = _flipped(target, index)
    parts = key if isinstance(key, tuple) else (key,)
    if not _may_repeat(parts):
        target[key] = x
    elif builtins.all(isinstance(p, torch.Tensor) for p in parts):
        target.index_put_(parts, x, accumulate=True)
    else:
        places = torch.arange(target.numel(), device=x.device).reshape(target.shape)[key].reshape(-1)
        target.view(-1).index_add_(0, places, x.reshape(-1))
    return target.flip(flips) if flips else target


def _may_repeat(parts: Any) -> bool:
    return builtins.any(isinstance(p, torch.Tensor) and p.dtype is not torch.bool for p in parts)


@operator(
    lambda g, index: setitem(g, 0, index),
    lambda g, index, saved: _folded(getitem(g, index), saved),
    amp="as_is",
)
def setitem(x, value, index):
    """A copy of `x` with `value`, broadcast, in the places of `index`: what `x[index] = value` leaves."""
    changed = x.clone()
    _put(changed, value, index)
    return changed, getattr(value, "shape", ())  # a number has none


def _folded(gradient: Any, shape: Any) -> Any:
    """The gradient of a value that was broadcast into the places it was written to."""
    if gradient.ndim < len(shape):
        gradient = gradient.reshape([1] * (len(shape) - gradient.ndim) + list(gradient.shape))
    return unbroadcast(gradient, shape)


def _put(target: torch.Tensor, value: Any, index: Any) -> None:
    if (
        value.is_complex() if isinstance(value, torch.Tensor) else isinstance(value, complex)
    ) and not target.is_complex():
        raise InvalidType(f"a complex value does not fit into {name_of(target.dtype)}")
    flips, key = _flipped(target, index)
    if not flips:
        target[key] = value
        return
    flipped = target.flip(flips)  # torch has no views with negative strides
    flipped[key] = value
    target.copy_(flipped.flip(flips))


@operator(amp="as_is")
def put(x, value, index):
    """`x[index] = value` in x's own memory, for what is not on the tape."""
    _put(x, value, index)
    return x


# --- choosing -----------------------------------------------------------------------------------------------


@operator(
    lambda g: None, lambda g, condition: g * condition, lambda g, condition: g * ~condition, broadcasts=True
)
def select(condition, x, y):
    """x where the condition holds, y elsewhere; all three broadcast."""
    return torch.where(condition, x, y)


@spelled(out=True)
def where(condition, x=None, y=None, name=None) -> Any:
    """x where the condition holds, y elsewhere; with the condition alone, the coordinates where it holds.

    >>> x = paddle.to_tensor([-1.0, 2.0])
    >>> paddle.where(x > 0, x, paddle.zeros([2])).tolist()
    [0.0, 2.0]
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise InvalidArgument("where: expected both x and y, or neither")
    if condition.dtype != torch.bool:
        raise InvalidType(f"where: expected a bool condition, got {name_of(condition.dtype)}")
    kinds = {v.data.dtype for v in (x, y) if isinstance(v, Tensor)}
    if len(kinds) == 2 and torch.float16 in kinds and builtins.any(kind.is_complex for kind in kinds):
        # torch would choose complex32, which Paddle does not have
        x, y = (cast(v, torch.float32) if v.data.dtype is torch.float16 else v for v in (x, y))
    return select(condition, x, y)


as_method(where)


def _broadcast(x: Any, mask: Any) -> tuple[Any, Any]:
    """Both in the shape that they broadcast to."""
    if mask.shape == x.shape:
        return x, mask
    shape = torch.broadcast_shapes(x.data.shape, mask.data.shape)
    return expand_view(x, shape), expand_view(mask, shape)


@composite(method="", inplace="rewrite")
def masked_scatter(x, mask, value, name=None) -> Tensor:
    """A copy of `x` whose entries where `mask` (broadcast) is true are the first ones of `value`, in
    order."""
    x, mask = _broadcast(x, mask)
    count = int(mask.data.sum())
    if count > value.size:
        raise InvalidArgument(f"masked_scatter: value: expected at least {count} entries, got {value.size}")
    return setitem(x, reshape(value, [-1])[:count], mask)


@operator(method="", out=True, returns="Any")
def nonzero(x, as_tuple=False):
    """The coordinates of entries that are not zero: [n, axes], or one [n] per axis."""
    found = torch.nonzero(x)
    return tuple(found.unbind(1)) if as_tuple else found


@composite(method="", out=True)
def masked_select(x, mask, name=None) -> Tensor:
    """The entries of `x` where `mask` is true, as a vector; the two broadcast."""
    if mask.dtype != torch.bool:
        raise InvalidType(f"masked_select: mask: expected bools, got {name_of(mask.dtype)}")
    x, mask = _broadcast(x, mask)
    return getitem(x, mask)


@composite(method="", inplace="rewrite")
def masked_fill(x, mask, value, name=None) -> Tensor:
    """`value` where `mask` is true, `x` elsewhere."""
    if not isinstance(value, Tensor):
        value = Tensor(torch.tensor(value, dtype=x.data.dtype))
    return select(mask, value, x)


@operator(lambda g, saved: diagonal_spread(g, *saved), method="", view=True)
def diagonal(x, offset=0, axis1=0, axis2=1, name=None):
    """The diagonal of two axes, as the last axis of the result. A view."""
    return x.diagonal(offset, axis1, axis2), (x.shape, offset, axis1, axis2)


@operator(lambda g, offset, axis1, axis2: g.diagonal(offset, axis1, axis2))
def diagonal_spread(x, shape, offset, axis1, axis2):
    """Zeros of `shape` with `x` on a diagonal."""
    value = x.new_zeros(shape)
    value.diagonal(offset, axis1, axis2).copy_(x)
    return value


@composite(method="")
def diag(x, offset=0, padding_value=0, name=None) -> Tensor:
    """A matrix with the vector `x` on a diagonal, or the diagonal of the matrix `x`."""
    if x.ndim == 2:
        return assign(diagonal(x, offset))
    x = reshape(x, [-1]) if x.ndim == 0 else x
    n = x.shape[0] + builtins.abs(offset)
    matrix = diagonal_spread(x, (n, n), offset, 0, 1)
    if padding_value == 0:
        return matrix
    hole = x.data.new_ones(n, n)
    hole.diagonal(offset).zero_()
    return matrix + Tensor((hole * number(padding_value, "padding_value")).to(hole.dtype))


@operator()
def one_hot(x, num_classes=-1, name=None):
    """1.0 at the place of the class and 0.0 elsewhere, along a new last axis, in the default dtype."""
    return torch.nn.functional.one_hot(x.long(), int(num_classes)).to(default_dtype())
