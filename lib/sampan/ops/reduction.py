"""Reductions: sums, means, extremes and others."""

import math
from collections.abc import Callable
from operator import index
from typing import Any

import torch

from ..dtype import as_dtype, default_dtype
from ..engine.apply import AxisError
from ..engine.operator import composite, operator
from ..engine.spelling import give
from ..engine.tensor import InvalidType, Tensor
from .shape import unshared


def _axes(x: Any, axis: Any) -> list[int]:
    """`axis` as a list of non-negative axes; None and the empty list mean all of them."""
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        return [axis % x.ndim]
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return list(range(x.ndim))
    if getattr(axis, "ndim", 0) == 1:
        axis = axis.tolist()
    given = [axis] if not isinstance(axis, (list, tuple)) else list(axis)
    axes = []
    for a in given:
        try:
            # a bool is refused: it was meant for keepdim
            # None raises the TypeError.
            a = index(None if a is True or a is False else a)  # type: ignore[arg-type]
        except TypeError:
            raise InvalidType(f"axis: expected an int, a list of ints or None, got {axis!r}") from None
        if not -(x.ndim or 1) <= a < (x.ndim or 1):
            raise AxisError(f"axis {a} is outside an array of {x.ndim} axes")
        axes.append(a % (x.ndim or 1))
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"axis {list(given)} names one axis twice")
    return [] if x.ndim == 0 else axes


def _kept(x: Any, axes: list[int]) -> list[int]:
    """The shape with the reduced axes at length 1."""
    return [1 if i in axes else n for i, n in enumerate(x.shape)]


def _spread(g: Any, shape: Any) -> Any:
    """Broadcast to `shape`. For a buffer the lengths go in one by one, which torch takes in half the time."""
    return g.expand(*shape) if shape and g.__class__ is torch.Tensor else g.expand(shape)


def _as(g: Any, kind: torch.dtype) -> Any:
    """`g` in that dtype. Asking first is cheaper than a call of torch that finds nothing to do."""
    return g if g.dtype == kind else g.to(kind)


_SMALL = frozenset((torch.int8, torch.int16, torch.uint8))


def _spread_back(g: Any, saved: Any) -> Any:
    """The gradient of a sum: the same for every entry."""
    shape, kept, kind = saved
    return _spread(g if kept is None else _as(g, kind).reshape(kept), shape)


@operator(_spread_back, method="", out=True, amp="float32")
def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum over `axis` (an int, a list, or None for all). bool and int32 sum as int64.

    >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sum().item(), x.sum(axis=0).tolist(), x.sum(axis=1, keepdim=True).tolist()
    (10.0, [4.0, 6.0], [[3.0], [7.0]])
    """
    if dtype is None and x.dtype in _SMALL:
        dtype = x.dtype
    if axis is None and dtype is None and not keepdim:
        return x.sum(), (tuple(x.shape), None, None)
    if type(dtype) is bool:
        dtype, keepdim = keepdim or None, dtype  # as torch has them
    axes = _axes(x, axis)
    kind = None if dtype is None else as_dtype(dtype)
    return x.sum(axis=axes or None, keepdim=keepdim or False, dtype=kind), (x.shape, _kept(x, axes), x.dtype)


def _mean_back(g: Any, saved: Any) -> Any:
    shape, kept, kind, scale = saved
    return _spread(_as(g * scale, kind).reshape(kept), shape)


@operator(_mean_back, method="", out=True, amp="float32")
def mean(x, axis=None, keepdim=False, name=None, *, dtype=None):
    """The mean over `axis` (an int, a list, or None for all), computed in `dtype`. For integers it is
    truncated."""
    given = x.dtype
    if dtype is not None:
        x = x.to(as_dtype(dtype))
    elif not (x.is_floating_point() or x.is_complex()):
        value = sum(x, axis, None, keepdim)
        count = x.numel() // (value.numel() or 1)
        return torch.div(value, count, rounding_mode="trunc").to(given), None
    axes = _axes(x, axis)
    value = x.mean(axis=axes, keepdim=keepdim or False) if axes else x.mean()
    scale = value.numel() / x.numel() if x.numel() else float("nan")
    return value, (x.shape, _kept(x, axes), given, scale)


def _extreme_back(g: Any, x: Any, out: Any, saved: Any) -> Any:
    axes, kept = saved
    return g.reshape(kept) * _share(x, out.reshape(kept), axes)


def _extreme(name: str, reduce: Any, doc: str, **facts: Any) -> Callable[..., Tensor]:
    def body(x, axis=None, keepdim=False, name=None):
        axes = _axes(x, axis)
        out = reduce(x, dim=axes, keepdim=keepdim or False) if axes else x.clone()
        return out, (axes, _kept(x, axes))

    body.__name__, body.__doc__ = name, doc
    return operator(_extreme_back, method="", **facts)(body)


def _share(x: Any, extreme: Any, axes: list[int]) -> Any:
    """1 at the extreme value; where several are equal, each gets its share."""
    hit = (x == extreme).to(x.dtype)
    return hit / hit.sum(axis=axes, keepdim=True) if axes else hit


_TIES = "over `axis`; several equal ones share the gradient."
max = _extreme("max", torch.amax, f"The largest value {_TIES}")
min = _extreme("min", torch.amin, f"The smallest value {_TIES}")
amax = _extreme("amax", torch.amax, f"The largest value {_TIES}", out=True)
amin = _extreme("amin", torch.amin, f"The smallest value {_TIES}", out=True)


@operator(lambda g, x, out, axis: g * _others(x, out, axis), amp="float32")
def prod_along(x, axis):
    """The product along one axis, which stays with length 1."""
    return x.prod(axis=axis, keepdim=True, dtype=x.dtype)


def _others(x: Any, out: Any, axis: int) -> Any:
    """For each entry the product of the others along `axis`; a quotient, unless there are zeros to divide
    by."""
    if not bool((x == 0).any()):
        return out / x
    n, axis = x.shape[axis], axis % x.ndim
    rows = x.unsqueeze(axis + 1).expand([*x.shape[: axis + 1], n, *x.shape[axis + 1 :]])
    device = x.device if isinstance(x, torch.Tensor) else x.data.device
    itself = torch.eye(n, dtype=torch.bool, device=device).reshape([n, n] + [1] * (x.ndim - axis - 1))
    return prod_along(rows * (~itself) + itself, axis).squeeze(axis)


@composite(method="", out=True)
def prod(x, axis=None, keepdim=False, dtype=None, out=None, name=None) -> Tensor:
    """The product over `axis` (an int, a list, or None for all)."""
    if dtype is not None:
        x = x.astype(dtype)
    given, axes = x, _axes(x, axis)
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    for a in axes:
        x = prod_along(x, a)
    result = unshared(x if keepdim else x.reshape(kept), given)
    return result if out is None else give(out, result)


def _var_by_x(g: Any, x: Any, saved: Any) -> Any:
    axes, kept, divisor = saved
    if divisor <= 0:
        return x * math.nan
    return (x - x.mean(axis=axes or None, keepdim=True)) * (g.reshape(kept) * (2 / divisor))


@operator(_var_by_x, method="", out=True)
def var(x, axis=None, unbiased=None, keepdim=False, name=None, *, correction=1):
    """The variance over `axis`: divided by n - 1 when `unbiased`, else by n; or by n - correction."""
    if unbiased is not None and correction != 1:
        raise RuntimeError("expected unbiased or correction, not both")
    given, correction = x.dtype, correction if unbiased is None else int(unbiased)
    axes = _axes(x, axis)
    divisor = math.prod(x.shape[a] for a in axes) - correction
    saved = axes, _kept(x, axes), divisor
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(default_dtype())
    if divisor <= 0:  # torch would warn
        return (x.sum(axes, keepdim) if axes else x) * math.nan, saved
    value = torch.var(x, axes or None, correction=correction, keepdim=keepdim or False)
    return value.to(given), saved


@composite(method="")
def std(x, axis=None, unbiased=True, keepdim=False, name=None) -> Tensor:
    """The standard deviation over `axis`: the square root of `var`."""
    return var(x, axis, unbiased, keepdim).sqrt()


@operator(lambda g, x, out, saved: g.reshape(saved) * (x - out.reshape(saved)).exp(), method="", out=True)
def logsumexp(x, axis=None, keepdim=False, name=None):
    """log(sum(exp(x))) over `axis`, without overflow."""
    axes = _axes(x, axis)
    x = x if x.is_floating_point() or x.is_complex() else x.to(default_dtype())
    return torch.logsumexp(x, axes, keepdim or False) if axes else x.clone(), _kept(x, axes)


def _cumsum_by_x(g: Any, saved: Any) -> Any:
    shape, axis, kind = saved
    return g.flip(axis).cumsum(axis=axis).flip(axis).reshape(shape).to(kind)


@operator(_cumsum_by_x, method="", inplace="accumulate", out=True, amp="float32")
def cumsum(x, axis=None, dtype=None, name=None):
    """Running sums along `axis`; of the flattened array when None."""
    shape, kind = x.shape, x.dtype
    axis = int(axis) if isinstance(axis, torch.Tensor) else axis
    if axis is None:
        x, axis = x.reshape([-1]), 0
    return x.cumsum(axis=axis, dtype=None if dtype is None else as_dtype(dtype)), (shape, axis, kind)


def _cumprod_by_x(g: Any, x: Any, out: Any, dim: int | None) -> Any:
    """The sums of g out from each place on, divided by x; where there is a 0, the products without that
    entry."""
    given, axis = x, dim or 0
    x = x.reshape(out.shape).to(out.dtype)
    if x.dtype.is_complex:
        x, out = x.conj(), out.conj()
    if bool((x == 0).any()):
        n = x.shape[axis]
        itself = torch.eye(n, dtype=torch.bool, device=x.data.device)
        rows = x.moveaxis(axis, -1).unsqueeze(-2) * ~itself + itself  # row i: without entry i
        gradient = cumprod(rows, -1) * g.moveaxis(axis, -1).unsqueeze(-2)
        gradient = gradient.triu().sum(-1).moveaxis(-1, axis)
    else:
        gradient = (g * out).flip([axis]).cumsum(axis=axis).flip([axis]) / x
    return gradient.reshape(given.shape).to(given.dtype)


@operator(_cumprod_by_x, method="", inplace="accumulate", out=True, amp="float32")
def cumprod(x, dim=None, *, dtype=None, name=None):
    """Running products along `dim`; of the flattened array when None."""
    x = x if dtype is None else x.to(as_dtype(dtype))
    return x.cumprod(dim, dtype=x.dtype) if dim is not None else x.reshape([-1]).cumprod(0, dtype=x.dtype)


def _logcumsumexp_by_x(g: Any, x: Any, out: Any, axis: int | None) -> Any:
    """exp(x) times the sums of g exp(-out) from each place on; for buffers in logarithms, so that nothing
    overflows."""
    given, axis = x, axis or 0
    x = x.reshape(out.shape).to(out.dtype)
    if isinstance(g, torch.Tensor):
        up, down = (
            (torch.logcumsumexp((part.log() - out).flip([axis]), axis).flip([axis]) + x).exp()
            for part in (g.clamp(min=0), (-g).clamp(min=0))
        )
        gradient = up - down
    else:
        gradient = x.exp() * (g * (-out).exp()).flip([axis]).cumsum(axis=axis).flip([axis])
    return gradient.reshape(given.shape).to(given.dtype)


@operator(_logcumsumexp_by_x, method="")
def logcumsumexp(x, axis=None, dtype=None, name=None):
    """log of the running sums of exp(x) along `axis` (of the flattened array when None), without overflow."""
    given = x.dtype
    x = x.to(as_dtype(dtype) if dtype is not None else given if given.is_floating_point else default_dtype())
    return torch.logcumsumexp(x, axis) if axis is not None else torch.logcumsumexp(x.reshape([-1]), 0)


@operator(method="", out=True)
def all(x, axis=None, keepdim=False, name=None):
    """Whether every entry over `axis` is true."""
    axes = _axes(x, axis)
    return torch.all(x, axes, keepdim or False) if axes else x.bool()


@operator(method="", out=True)
def any(x, axis=None, keepdim=False, name=None):
    """Whether some entry over `axis` is true."""
    axes = _axes(x, axis)
    return torch.any(x, axes, keepdim or False) if axes else x.bool()


def _position(name: str, search: Any, doc: str) -> Callable[..., Tensor]:
    def body(x, axis=None, keepdim=False, dtype="int64", name=None):
        kind = as_dtype(dtype)
        if kind not in (torch.int32, torch.int64):
            raise RuntimeError(f"dtype: expected int32 or int64, got {dtype}")
        axis = None if axis is None else int(axis)
        value = search(x) if axis is None else search(x, axis, keepdim or False)
        if keepdim and (axis is None or not x.ndim):  # of a number [1] beside an axis, as in Paddle
            value = value.reshape([1] * (x.ndim if axis is None else 1))
        return _as(value, kind)

    body.__name__, body.__doc__ = name, doc
    return operator(method="")(body)


argmax = _position("argmax", torch.argmax, "The index of the largest value along `axis`, or in all of x.")
argmin = _position("argmin", torch.argmin, "The index of the smallest value along `axis`, or in all of x.")
