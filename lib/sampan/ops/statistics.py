"""What describes a set of numbers: medians, quantiles, histograms, covariances, counts; and differences and
areas."""

import math
from typing import Any

import torch

from ..dtype import as_dtype, name_of
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .complex_numbers import complex as complex_of
from .gathering import added_along, take_along_axis
from .indexing import diag, select
from .joining import concat_tensors, stack
from .reduction import _axes, _kept, cumsum, sum
from .search import sort
from .shape import along, flatten, moveaxis, pad_constant, reshape

# fmt: off
__all__ = [
    "bincount", "count_nonzero", "cumulative_trapezoid", "diff", "histogram", "histogram_bin_edges",
    "histogramdd", "median", "nanmean", "nanmedian", "nanquantile", "nansum", "quantile", "trapezoid",
]
# fmt: on

# --- without NaN --------------------------------------------------------------------------------------------


def _nansum_by_x(g: Any, saved: Any) -> Any:
    there, kept, kind = saved
    return select(there, g.to(kind).reshape(kept), 0.0)


@operator(_nansum_by_x, method="")
def nansum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum over `axis`, NaN counting as 0."""
    missing = x.isnan() if x.is_floating_point() else torch.zeros_like(x, dtype=torch.bool)
    value = sum(x.masked_fill(missing, 0), axis, dtype, keepdim)
    return value, (~missing, _kept(x, _axes(x, axis)), x.dtype)


@composite(method="")
def nanmean(x, axis=None, keepdim=False, name=None) -> Tensor:
    """The mean over `axis` of what is not NaN; NaN where nothing is."""
    there = ~x.data.isnan()
    return nansum(x, axis, None, keepdim) / Tensor(there.to(x.data.dtype)).sum(axis=axis, keepdim=keepdim)


@operator(method="")
def count_nonzero(x, axis=None, keepdim=False, name=None):
    """How many entries over `axis` are not 0, int64."""
    return sum(x != 0, axis, None, keepdim)


# --- order statistics ---------------------------------------------------------------------------------------


def _folded(x: Any, axis: Any) -> tuple[Any, list[int]]:
    """x with the axes of `axis` as its last one, and its shape with those axes at length 1."""
    axes = _axes(x, axis)
    if len(axes) == x.ndim:
        return reshape(x, [-1]), [1] * x.ndim
    moved = moveaxis(x, axes, list(range(-len(axes), 0)))
    return flatten(moved, -len(axes)), _kept(x, axes)


def _interpolated(rows: Any, place: torch.Tensor, how: str) -> Any:
    """Entries of the sorted last axis of `rows` at fractional places [..., 1]."""
    if how in ("nearest", "lower", "higher"):
        place = {"nearest": place.round, "lower": place.floor, "higher": place.ceil}[how]()
        return take_along_axis(rows, Tensor(place.long()), -1)
    low, high = (take_along_axis(rows, Tensor(p.long()), -1) for p in (place.floor(), place.ceil()))
    weight = torch.full_like(place, 0.5) if how == "midpoint" else place - place.floor()
    return low + (high - low) * Tensor(weight.to(as_dtype(rows.dtype)))


def _quantile(x: Any, q: Any, axis: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    if isinstance(q, Tensor) and q.ndim > 1:
        raise InvalidArgument(f"quantile: q: expected a number or a vector, got shape {[*q.shape]}")
    wanted = q.reshape([-1]).tolist() if isinstance(q, Tensor) else [q] if isinstance(q, (int, float)) else q
    if not isinstance(wanted, (list, tuple)):
        raise InvalidType(f"quantile: q: expected a number, a list of numbers or a Tensor, got {q!r}")
    wanted = [float(v) for v in wanted]
    if not wanted or any(not 0 <= v <= 1 for v in wanted):
        raise InvalidArgument(f"quantile: q: expected numbers from 0 to 1, got {wanted}")
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise InvalidArgument(f"quantile: interpolation: got {interpolation!r}")
    if axis is not None and not isinstance(axis, (int, list)):
        raise InvalidArgument(f"quantile: axis: expected None, an int or a list of ints, got {axis!r}")
    rows, kept = _folded(x, axis)
    rows = sort(rows, -1)
    missing = rows.data.isnan()
    last = (~missing).sum(-1, keepdim=True) - 1
    found = []
    for value in wanted:
        place = (last.double() * value).clamp(min=0)
        if not skip_nan:  # a NaN, which is sorted to the end, is the result
            place = torch.where(missing.any(-1, keepdim=True), float(rows.shape[-1] - 1), place)
        entry = _interpolated(rows, place, interpolation)
        found.append(reshape(entry, kept if keepdim else list(entry.shape[:-1])))
    return stack(found) if len(found) > 1 else found[0]


@composite(method="", out=True)
def quantile(x, q, axis=None, keepdim=False, interpolation="linear", name=None) -> Tensor:
    """The values below which the part `q` of the entries over `axis` lies, NaN where one of them is.

    q: a number from 0 to 1, or several, which are stacked along a new first axis. interpolation between two
    entries: "linear", "lower", "higher", "nearest" or "midpoint".
    """
    return _quantile(x, q, axis, keepdim, interpolation, False)


@composite(method="")
def nanquantile(x, q, axis=None, keepdim=False, interpolation="linear") -> Tensor:
    """`quantile` of what is not NaN."""
    return _quantile(x, q, axis, keepdim, interpolation, True)


def _middle_by_x(g: Any, mode: str, saved: Any) -> Any:
    shape, places, there = saved
    g = g[0] if mode == "min" else g
    if not shape[-1]:
        return g.unsqueeze(-1).expand(shape)
    if mode == "min":
        return added_along((g if there is None else g * there).unsqueeze(-1), places, shape, -1)
    halves = (g * 0.5).unsqueeze(-1)
    found = added_along(halves.expand([*shape[:-1], 2]), places, shape, -1)
    # rows of NaN alone share their gradient
    return found if there is None else found * there + (g / shape[-1]).unsqueeze(-1) * (1 - there)


@operator(_middle_by_x, returns="Any")
def middle(x, mode, skip_nan):
    """The medians of the last axis; for the mode "min" their indices too. NaN counts unless it is skipped."""
    if not x.shape[-1]:
        value = x.sum(-1) * math.nan
        found = (value, value.long() * 0) if mode == "min" else value
        return found, (x.shape, None, None)
    if mode == "min":
        value, place = (torch.nanmedian if skip_nan else torch.median)(x, -1)
        places, there = place[..., None], None
        if skip_nan and x.is_floating_point():
            there = (~value.isnan()).to(x.dtype)  # a row of NaN alone has no median: no place, no gradient
            if there.any():
                place = torch.where(value.isnan(), -1, place)
            else:  # as in Paddle the first place, where all rows are such
                place, places, there = place * 0, places * 0, None
        return (value, place), (x.shape, places, there)
    ordered, order = x.sort(-1)
    last = torch.full((*x.shape[:-1], 1), x.shape[-1] - 1, device=x.device)
    missing = ordered.isnan()  # sorted to the end
    if skip_nan:
        last = (last - missing.sum(-1, True)).clamp(min=0)
    low, high = last // 2, (last + 1) // 2
    if not skip_nan:
        low, high = (torch.where(missing[..., -1:], last, p) for p in (low, high))
    places = torch.cat([low, high], -1)
    there = (~missing.all(-1, True)).to(x.dtype) if skip_nan else None
    return ordered.gather(-1, places).mean(-1), (x.shape, order.gather(-1, places), there)


def _median(x: Any, axis: Any, keepdim: bool, mode: str, skip_nan: bool) -> Any:
    if mode not in ("avg", "min"):
        raise InvalidArgument(f'median: mode: expected "avg" or "min", got {mode!r}')
    if isinstance(axis, (list, tuple)) and not (axis and skip_nan):
        raise InvalidArgument(f"median: axis: expected None or an int, got {axis!r}")
    if mode == "avg" and x.dtype != torch.float64:
        x = x if skip_nan and x.dtype.is_floating_point else x.astype("float32")
    rows, kept = _folded(x, axis)
    both = mode == "min" and isinstance(axis, int)
    if mode == "min" and not both and skip_nan and x.dtype.is_floating_point and bool(x.data.isnan().all()):
        mode = "avg"
    found: Any = middle(rows, mode, skip_nan)
    found = found if mode == "min" else (found,)
    found = [reshape(t, kept) if keepdim else t for t in found]
    return tuple(found) if both else found[0]


@composite(method="", out=True)
def median(x, axis=None, keepdim=False, mode="avg", name=None) -> Any:
    """The middle entry over `axis`, NaN where one of them is. Of an even number, the mean of the two in the
    middle, or with mode="min" the smaller one; that mode also gives its index when there is an `axis`."""
    return _median(x, axis, keepdim, mode, False)


@composite(method="")
def nanmedian(x, axis=None, keepdim=False, mode="avg", name=None) -> Any:
    """`median` of what is not NaN; NaN where nothing is."""
    return _median(x, axis, keepdim, mode, True)


# --- counting -----------------------------------------------------------------------------------------------


@operator(method="")
def bincount(x, weights=None, minlength=0, name=None):
    """How often each of 0, 1, 2, ... occurs in the vector x, or the sum of the weights where it does."""
    if minlength < 0:
        raise RuntimeError(f"minlength: expected 0 or more, got {minlength}")
    return torch.bincount(x, weights, int(minlength))


def _range(x: torch.Tensor, low: float, high: float) -> tuple[float, float]:
    """The ends of a histogram: those of x where both are 0, one unit apart where they are equal."""
    if low == high == 0 and x.numel():
        low, high = float(x.min()), float(x.max())
    if low > high or not math.isfinite(high - low):
        raise RuntimeError(f"the range from {low} to {high} is none")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


@operator(method="")
def histogram(input, bins=100, min=0.0, max=0.0, weight=None, density=False, name=None):
    """How many entries lie in each of `bins` equal parts of [min, max] (of x's own range when they are
    equal), int64.

    weight: what each entry counts for. density: so that the area under the histogram is 1; float32, as with
    weights.
    """
    low, high = _range(input, float(min), float(max)) if min != max else _range(input, 0.0, 0.0)
    inside = (input >= low) & (input <= high)
    values = input[inside]
    values = values if values.is_floating_point() else values.to(torch.float64)
    places = ((values - low) * bins / (high - low)).long().clamp(0, bins - 1)
    counts = torch.bincount(places, None if weight is None else weight[inside], bins)
    if density:
        counts = counts / (counts.sum() * ((high - low) / bins))
    return counts.to(torch.int64 if weight is None and not density else torch.float32)


@operator(method="")
def histogram_bin_edges(input, bins=100, min=0.0, max=0.0, name=None):
    """The bins + 1 ends of the parts that `histogram` counts in, float32."""
    low, high = _range(input, float(min), float(max))
    return torch.linspace(low, high, bins + 1, dtype=torch.float64, device=input.device).float()


@composite(method="")
def histogramdd(
    x, bins=10, ranges=None, density=False, weights=None, name=None
) -> tuple[Tensor, list[Tensor]]:
    """How many of the points x [..., d] lie in each cell of a grid: (counts [bins of each axis], list of the
    ends).

    bins: an int, d ints, or a tuple of d vectors of ends. ranges: 2 d numbers, the ends of each axis; those
    of the points when None.
    """
    if x.ndim < 2 or (weights is not None and weights.shape != x.shape[:-1]):
        raise InvalidArgument(
            f"histogramdd: expected points [..., d], and a weight for each, got shape {[*x.shape]}"
        )
    points = x.data.reshape(-1, x.shape[-1])
    if isinstance(bins, tuple):
        bins = [b.data for b in bins]
    elif isinstance(bins, int):
        bins = [bins] * points.shape[1]
    if len(bins) != points.shape[1] or (ranges is not None and len(ranges) != 2 * points.shape[1]):
        raise InvalidArgument(f"histogramdd: expected {points.shape[1]} bins and twice as many ranges")
    weight = None if weights is None else weights.data.reshape(-1)
    counts, edges = torch.histogramdd(points.cpu(), bins, range=ranges, weight=weight, density=density)
    return Tensor(counts), [Tensor(e) for e in edges]


# --- covariance ---------------------------------------------------------------------------------------------


@composite(method="")
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None) -> Tensor:
    """The covariances of the rows of x (of its columns unless `rowvar`), divided by n - 1 (by n unless
    `ddof`).

    fweights: how often each observation counts, integers; aweights: how much.
    """
    if not 1 <= x.ndim <= 2:
        raise InvalidArgument(f"cov: expected a vector or a matrix, got shape {[*x.shape]}")
    rows = reshape(x, [1, -1]) if x.ndim == 1 else x
    rows = rows.t() if not rowvar and rows.shape[0] != 1 else rows
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None and (given.shape != [rows.shape[1]] or bool((given.data < 0).any())):
            raise InvalidArgument(f"cov: {name}: expected {rows.shape[1]} numbers of 0 or more, got {given}")
    if fweights is not None and bool((fweights.data != fweights.data.round()).any()):
        raise InvalidArgument("cov: fweights must be integers")
    weights = [w.astype(x.dtype) for w in (fweights, aweights) if w is not None]
    weight = math.prod(weights[1:], start=weights[0]) if weights else None
    total = rows.shape[1] if weight is None else weight.sum()
    if weight is not None and float(total) == 0:
        raise InvalidArgument("cov: the weights add up to 0")
    weighted = rows if weight is None else rows * weight
    centred = rows - (weighted.sum(axis=1) / total).unsqueeze(1)
    divisor = total - (ddof if aweights is None or not ddof else (weight * weights[-1]).sum() / total)
    divisor = divisor.clip(min=0) if isinstance(divisor, Tensor) else max(divisor, 0)
    transposed = weighted.t()
    product = centred @ (transposed.conj() if x.dtype.is_complex else transposed)
    return (product / divisor if isinstance(divisor, Tensor) or divisor else product * math.inf).squeeze()


@composite(method="")
def corrcoef(x, rowvar=True, name=None) -> Tensor:
    """The correlations of the rows of x (of its columns unless `rowvar`), held in [-1, 1]."""
    c = cov(x, rowvar)
    if c.ndim == 0:
        return c / c
    deviation = (diag(c).real() if c.dtype.is_complex else diag(c)).sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    return complex_of(c.real().clip(-1, 1), c.imag().clip(-1, 1)) if c.dtype.is_complex else c.clip(-1, 1)


# --- differences and areas ----------------------------------------------------------------------------------


@composite(method="", out=True)
def diff(x, n=1, axis=-1, prepend=None, append=None, name=None) -> Tensor:
    """The n-th differences of neighbours along `axis`, with values put before and after; of bools, where they
    change."""
    if n < 1:
        raise InvalidArgument(f"diff: n: expected at least 1, got {n}")
    (axis,) = _axes(x, axis)
    parts = [t for t in (prepend, x, append) if t is not None]
    x = concat_tensors(*parts, axis=axis) if len(parts) > 1 else x
    for _ in range(min(n, x.shape[axis])):  # one more difference of nothing is nothing
        x = neighbours(x, axis)
    return x


def _neighbours_by_x(g: Any, axis: int) -> Any:
    width = [0, 0] * (g.ndim - 1 - axis) + [1, 1]
    return -neighbours(pad_constant(g, width, 0.0), axis)


@operator(_neighbours_by_x)
def neighbours(x, axis):
    """The differences of neighbours along an axis."""
    return torch.diff(x, dim=axis)


def _areas(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The areas of the trapezoids between neighbours of y along `axis`."""
    if x is not None and dx is not None:
        raise InvalidArgument("trapezoid: expected x or dx, not both")
    for t in (y, x):
        if t is not None and not t.dtype.is_floating_point:
            raise InvalidType(f"trapezoid: expected floating tensors, got {name_of(t.dtype)}")
    (axis,) = _axes(y, axis)
    if x is not None:
        width: Any = diff(x, 1, -1 if x.ndim == 1 else axis)
        width = reshape(width, [-1 if i == axis else 1 for i in range(y.ndim)]) if x.ndim == 1 else width
    else:
        width = 1.0 if dx is None else dx
    return (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]) * width * 0.5


@composite(method="")
def trapezoid(y, x=None, dx=None, axis=-1, name=None) -> Tensor:
    """The area under y along `axis` by the trapezoidal rule, at the places x or dx apart (1 when None)."""
    return _areas(y, x, dx, axis).sum(axis=axis)


@composite(method="")
def cumulative_trapezoid(y, x=None, dx=None, axis=-1, name=None) -> Tensor:
    """The areas under y up to each place along `axis`: see `trapezoid`."""
    return cumsum(_areas(y, x, dx, axis), axis)
