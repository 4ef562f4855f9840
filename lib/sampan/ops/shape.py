"""Operators that move entries without changing them: reshape, permute, expand, flip, repeat."""

import math
from operator import index
from typing import Any

import numpy as np
import torch

from ..dtype import as_dtype
from ..engine.apply import AxisError, describe
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor


def _ints(values: Any, name: str) -> list[int]:
    """A list of ints from ints, 0-d or 1-D tensors, or one of these."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, int):
        values = [values]
    try:
        return [index(v) for v in values]
    except TypeError:
        raise InvalidType(f"{name}: expected integers, got {values!r}") from None


def number(value: Any, name: str) -> Any:
    """A number of Python's from a number, also one of NumPy's or in an array or tensor without axes."""
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, (np.generic, np.ndarray, Tensor)) or value.ndim:
        raise InvalidType(f"{name}: expected a number, got {describe(value)}")
    return value.item()


def scalar(value: Any) -> Any:
    """A number of NumPy's, or in an array or tensor with one entry, as one of Python's; anything else as it
    is."""
    known = isinstance(value, (np.generic, np.ndarray, torch.Tensor, Tensor))
    return value.item() if known and math.prod(value.shape) == 1 else value


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """An index that takes `part` of one axis, and all of the axes before it."""
    return (*[slice(None)] * axis, part)


def _free(x: Any, axis: int, extra: int = 0) -> int:
    """`axis` counted from the front; AxisError outside."""
    n = x.ndim + extra
    if not -n <= axis < n:
        raise AxisError(f"axis {axis} is outside an array of {n} axes")
    return axis % n if n else 0


@operator(lambda g, saved: g.reshape(saved), method="", view=True, inplace="reshape", sizes=True)
def reshape(x, shape, name=None):
    """The same entries in another shape; -1 is inferred, 0 keeps that axis (as in Paddle).

    A view where the strides allow it, a copy elsewhere and of a 0-d array.

    >>> paddle.arange(6).reshape([2, -1]).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    target = _ints(shape, "shape")
    if 0 in target and x.numel() != 0:
        target = [x.shape[i] if n == 0 else n for i, n in enumerate(target)]
    elif -1 in target and x.numel() == 0 and 0 in target:  # the lengths that are not 0 must agree
        rest, over = divmod(math.prod(n for n in x.shape if n), math.prod(n for n in target if n > 0))
        if over or not rest or x.shape.count(0) > target.count(0):
            raise RuntimeError(f"the lengths that are not 0 in {list(x.shape)} leave none for -1 in {target}")
        target = [rest if n == -1 else n for n in target]
    value = x.reshape(target)
    if x.ndim == 0 and target:
        value = value.clone()
    return value, x.shape


@operator(lambda g, saved: g.permute(saved), method="", view=True, sizes=True)
def permute(x, perm, name=None):
    """The axes in the order `perm`. A view."""
    perm = [_free(x, p) for p in _ints(perm, "perm")]
    if sorted(perm) != list(range(x.ndim)):
        raise RuntimeError(f"perm {perm} is not a permutation of {x.ndim} axes")
    return x.permute(perm), sorted(range(x.ndim), key=perm.__getitem__)


@composite(method="", inplace="reshape")
def transpose(x, perm=None, name=None, *, axis0=None, axis1=None) -> Tensor:
    """The axes in the order `perm`, or two of them exchanged: transpose(x, 0, 1). A view."""
    if isinstance(perm, int) and isinstance(name, int):
        axis0, axis1 = perm, name
    return permute(x, perm) if axis0 is None or axis1 is None else swapaxes(x, axis0, axis1)


@operator(lambda g, axis0, axis1: g.swapaxes(axis0, axis1), method="", view=True, aliases="swapdims")
def swapaxes(x, axis0, axis1, name=None):
    """Two axes exchanged. A view."""
    return x.swapaxes(axis0, axis1)


@composite(method="", inplace="reshape")
def t(input, name=None) -> Tensor:
    """The transpose of a matrix; a vector or scalar as it is."""
    if input.ndim > 2:
        raise InvalidArgument(f"t: expected at most 2 axes, got shape {[*input.shape]}")
    return input if input.ndim < 2 else swapaxes(input, 0, 1)


@operator(lambda g, saved: g.moveaxis(*saved), method="", view=True)
def moveaxis(x, source, destination, name=None):
    """The axes `source` moved to the places `destination`. A view."""
    a, b = _ints(source, "source"), _ints(destination, "destination")
    return x.moveaxis(a, b), (b, a)


@composite(method="", inplace="reshape")
def flatten(x, start_axis=0, stop_axis=-1, name=None) -> Tensor:
    """Axes start_axis to stop_axis, both included, as one."""
    if x.ndim == 0:
        return reshape(x, [1])
    first, last = _free(x, start_axis), _free(x, stop_axis)
    if first > last:
        raise InvalidArgument(f"flatten: start_axis {start_axis} comes after stop_axis {stop_axis}")
    return reshape(x, [*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]])


@composite(method="")
def ravel(input) -> Tensor:
    """All entries as a vector. A view where possible."""
    return reshape(input, [-1])


@operator(lambda g, saved: g.reshape(saved), method="", view=True, inplace="reshape")
def squeeze(x, axis=None, name=None):
    """Without the axes of length 1, or without those of `axis` that have length 1; an empty list
    names all, an empty tensor none. A view."""
    given = [] if axis is None else _ints(axis, "axis")  # as in Paddle no axes are all of them
    every = () if isinstance(axis, torch.Tensor) else range(x.ndim)
    axes = [_free(x, a, x.ndim == 0) for a in given] if given else every
    kept = [n for i, n in enumerate(x.shape) if not (n == 1 and i in axes)]
    return x.reshape(kept), x.shape


@operator(lambda g, saved: g.reshape(saved), method="", view=True, inplace="reshape")
def unsqueeze(x, axis, name=None):
    """With new axes of length 1 at the places `axis` of the result; None adds none. A view."""
    value = x.view(x.shape) if axis is None else x
    for a in () if axis is None else _ints(axis, "axis"):
        value = value.unsqueeze(_free(value, a, 1))
    return value, x.shape


@operator(lambda g: g, method="", broadcasts=True, sizes=True)
def expand(x, shape, name=None):
    """Broadcast to `shape`; -1 keeps an axis."""
    return x.expand(_ints(shape, "shape")).clone(memory_format=torch.contiguous_format)


@operator(lambda g: g, view=True, broadcasts=True)
def expand_view(x, shape):
    """`expand` without a copy: several entries are one in memory, so only for code that reads the result and
    drops it."""
    return x.expand(_ints(shape, "shape"))


@composite(method="", sizes=True)
def broadcast_to(x, shape, name=None) -> Tensor:
    """Broadcast to `shape`; -1 keeps an axis."""
    return expand(x, shape)


@composite(method="")
def expand_as(x, y, name=None) -> Tensor:
    """Broadcast to the shape of `y`."""
    return expand(x, y.shape)


@composite(method="", sizes=True)
def tile(x, repeat_times, name=None) -> Tensor:
    """The whole array repeated `repeat_times` along each axis."""
    times = _ints(repeat_times, "repeat_times")
    shape = [1] * (len(times) - x.ndim) + x.shape
    times = [1] * (len(shape) - len(times)) + times
    split = [n for s in shape for n in (1, s)]
    repeated = [n for s, r in zip(shape, times, strict=True) for n in (r, s)]
    return reshape(expand(reshape(x, split), repeated), [s * r for s, r in zip(shape, times, strict=True)])


@operator(lambda g, saved: g.flip(saved), method="", aliases="reverse")
def flip(x, axis, name=None):
    """In reverse order along `axis` (an int or a list)."""
    axes = _ints(axis, "axis")
    return x.flip(axes), axes


@operator(lambda g, saved: g.roll(*saved), method="")
def roll(x, shifts, axis=None, name=None):
    """Shifted along `axis`, what leaves at one end coming back at the other; flattened first when axis is
    None."""
    by = _ints(shifts, "shifts")
    axes = None if axis is None else _ints(axis, "axis")
    return torch.roll(x, by, axes), ([-b for b in by], axes)


# --- growing and cutting off --------------------------------------------------------------------------------


@operator(lambda g, saved: pad_constant(g, saved, 0.0))
def pad_constant(x, widths, value):
    """Grown by `widths` (before, after pairs from the last axis backwards) filled with `value`; negative
    cuts."""
    return torch.nn.functional.pad(x, widths, value=value), [-w for w in widths]


# `diagonal` is saved, not named: where a derivative names a parameter, the twin in place copies x first.
@operator(lambda g, saved: g.tril(saved), method="", inplace="rewrite", out=True)
def tril(x, diagonal=0, name=None):
    """The lower triangle, zero above `diagonal`."""
    return x.tril(diagonal), diagonal


@operator(lambda g, saved: g.triu(saved), method="", inplace="rewrite", out=True)
def triu(x, diagonal=0, name=None):
    """The upper triangle, zero below `diagonal`."""
    return x.triu(diagonal), diagonal


# --- kind and place -----------------------------------------------------------------------------------------


@operator(lambda g, saved: _converted(g, saved), method="", inplace="retype", amp="as_is")
def cast(x, dtype):
    """A copy in another dtype: of the real part, where that holds no complex numbers. Gradients flow back in
    the input's."""
    kind = as_dtype(dtype)
    part = x.real if x.is_complex() and not kind.is_complex else x
    return part.to(kind, copy=True), x.dtype


def _converted(x: Any, kind: torch.dtype) -> Any:
    if x.is_complex() and not kind.is_complex:
        x = x.real() if isinstance(x, Tensor) else x.real
    return x.to(kind)


@operator(lambda g: g, method="_assign")
def assign(x, output=None):
    """A copy."""
    return x.clone(memory_format=torch.contiguous_format)


def unshared(result: Any, *inputs: Any) -> Any:
    """`result`, or a copy of it where it shows the memory of an input: for what returns new memory in
    Paddle."""
    place = result.data.untyped_storage().data_ptr()
    if any(place == x.data.untyped_storage().data_ptr() for x in inputs):
        return assign(result)
    return result


@operator(lambda g, saved: copy_to(g, saved), method="_on_device", amp="as_is")
def copy_to(x, device):
    """A copy on another device."""
    return x.to(device), x.device


@operator(lambda g: g * 0, method="_full_like", amp="as_is")
def full_like_of(x, value):
    """`value` everywhere; recorded, so that what was overwritten gets a zero gradient."""
    return torch.full_like(x, value)
