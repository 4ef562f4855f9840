"""Order and place: sorting, the largest entries, the most frequent one, where a value belongs, what occurs
once."""

from collections.abc import Callable
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .gathering import added_along
from .indexing import nonzero

# fmt: off
__all__ = [
    "argsort", "argwhere", "bucketize", "cummax", "cummin", "kthvalue", "mode", "msort", "searchsorted",
    "sort", "topk", "unique", "unique_consecutive",
]
# fmt: on


def _returned(g: Any, places: Any, shape: Any, axis: int, kept: bool = True) -> Any:
    """The gradient of entries that were picked at `places` along `axis`: back to where they came from."""
    g, places = (g, places) if kept else (g.unsqueeze(axis), places.unsqueeze(axis))
    return added_along(g, places, shape, axis)


def _picked_back(g: Any, saved: Any) -> Any:
    """`_returned` for operators that give the places too, which have no gradient."""
    return _returned(g[0], *saved)


@operator(method="")
def argsort(x, axis=-1, descending=False, stable=False, name=None):
    """The indices that sort `x` along `axis`."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


@operator(lambda g, saved: _returned(g, *saved), method="")
def sort(x, axis=-1, descending=False, stable=False, name=None):
    """The entries sorted along `axis`."""
    value, places = torch.sort(x, dim=axis, descending=descending, stable=stable)
    return value, (places, x.shape, axis)


@composite(method="", out=True)
def msort(input) -> Tensor:
    """The entries sorted along the first axis."""
    return sort(input, 0)


@operator(_picked_back, method="", out=True, returns=tuple[Tensor, Tensor])
def topk(x, k, axis=None, largest=True, sorted=True, name=None):
    """The k largest (or smallest) entries along `axis` (the last when None), and their indices."""
    axis, k = -1 if axis is None else axis, int(k)
    length = x.shape[axis] if x.ndim else 1
    if not 0 < k <= length:
        raise RuntimeError(f"k must be from 1 to {length}, the length of axis {axis}; got {k}")
    value, places = torch.topk(x, k, axis, largest, sorted)
    return (value, places), (places, x.shape, axis)


@operator(_picked_back, method="", returns=tuple[Tensor, Tensor])
def kthvalue(x, k, axis=None, keepdim=False, name=None):
    """The k-th smallest entry along `axis` (the last when None), and its index."""
    axis = -1 if axis is None else axis
    value, places = torch.kthvalue(x, int(k), axis, keepdim or False)
    return (value, places), (places, x.shape, axis, keepdim or not x.ndim)


@operator(_picked_back, method="", returns=tuple[Tensor, Tensor])
def mode(x, axis=-1, keepdim=False, name=None):
    """The most frequent entry along `axis`, the smallest of several, and its last index."""
    value, places = torch.mode(x, axis, keepdim or False)
    return (value, places), (places, x.shape, axis, keepdim or not x.ndim)


def _running_by_x(g: Any, saved: Any) -> Any:
    shape, *where = saved
    return _returned(g[0], *where).reshape(shape)


def _running(name: str, find: Any, doc: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """Declare cummax or cummin."""

    def body(x, axis=None, dtype="int64", name=None):
        kind, shape = as_dtype(dtype), x.shape
        if kind not in (torch.int32, torch.int64):
            raise InvalidType(f"dtype: expected int32 or int64, got {dtype}")
        if axis is None:
            x, axis = x.reshape([-1]), 0
        value, places = find(x, axis)
        return (value, places.to(kind)), (shape, places, x.shape, axis)

    body.__name__, body.__doc__ = (
        name,
        f"{doc} up to each place along `axis` (of the flattened array when None), and its index.",
    )
    return operator(_running_by_x, method="", returns=tuple[Tensor, Tensor])(body)


cummax = _running("cummax", torch.cummax, "The largest entry")
cummin = _running("cummin", torch.cummin, "The smallest entry")


@composite(method="")
def argwhere(input) -> Tensor:
    """The coordinates of entries that are not zero: [n, axes]."""
    return nonzero(input)


@operator(method="", out=True)
def searchsorted(
    sorted_sequence, values, out_int32=False, right=False, name=None, *, side=None, out=None, sorter=None
):
    """Where each value belongs in the last axis of an ascending sequence: before the first entry that is not
    smaller.

    right (or side="right"): before the first entry that is larger. sorter: indices that sort the sequence.
    """
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter.data.long())
    right = right or side == "right"
    return torch.searchsorted(sorted_sequence, values.contiguous(), out_int32=out_int32, right=right)


@composite(method="", out=True)
def bucketize(x, sorted_sequence, out_int32=False, right=False, name=None) -> Tensor:
    """Where each entry of x belongs in an ascending vector: see `searchsorted`."""
    if sorted_sequence.ndim != 1:
        raise InvalidArgument(
            f"bucketize: sorted_sequence: expected a vector, got shape {[*sorted_sequence.shape]}"
        )
    return searchsorted(sorted_sequence, x, out_int32, right)


@composite(method="")
def unique(
    x,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    dtype="int64",
    sorted=True,
    name=None,
) -> Any:
    """What occurs in x, in ascending order: entries, or slices along `axis`.

    Then, if requested, in `dtype`: the index of the first occurrence of each, for each entry of x the
    place of its equal in the result, and how often each occurs.
    """
    axis = None if axis is None or (isinstance(axis, (list, tuple)) and not axis) else int(axis)
    if not (return_index or return_inverse or return_counts):
        return _results(torch.unique(x.data, dim=axis), [], dtype)
    data = x.data.flatten() if axis is None else x.data
    value, inverse, counts = torch.unique(data, return_inverse=True, return_counts=True, dim=axis)
    order = torch.arange(inverse.numel(), device=data.device)
    first = torch.full_like(counts, inverse.numel()).scatter_reduce(0, inverse.flatten(), order, "amin")
    more = zip((return_index, return_inverse, return_counts), (first, inverse, counts), strict=True)
    return _results(value, [v for asked, v in more if asked], dtype)


def _results(value: torch.Tensor, more: list[torch.Tensor], dtype: Any) -> Any:
    kind = as_dtype(dtype)
    if kind not in (torch.int32, torch.int64):
        raise InvalidType(f"dtype: expected int32 or int64, got {dtype}")
    found = (Tensor(value), *(Tensor(v.to(kind)) for v in more))
    return found if more else found[0]


@composite(method="")
def unique_consecutive(
    x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None
) -> Any:
    """x without the entries (slices along `axis`) that equal the one before them.

    Then, if requested, in `dtype`: for each entry of x its place in the result, and the lengths of the
    runs.
    """
    data = x.data.flatten() if axis is None else x.data
    value, inverse, counts = torch.unique_consecutive(data, return_inverse=True, return_counts=True, dim=axis)
    more = [v for asked, v in ((return_inverse, inverse), (return_counts, counts)) if asked]
    return _results(value, more, dtype)


@composite(method="")
def top_p_sampling(
    x, ps, threshold=None, topp_seed=None, seed=-1, k=0, mode="truncated", return_top=False, name=None
) -> tuple[Tensor, ...]:
    """One entry drawn from each row of probabilities x [rows, n], among the most likely whose sum first
    reaches ps [rows]: (value [rows, 1], index [rows, 1]).

    threshold: [rows], smaller entries are not drawn. topp_seed: [rows], or seed: where the draw starts. mode:
    "truncated", or "non-truncated" to draw among all. return_top: also the k largest entries and their
    indices.
    """
    if mode not in ("truncated", "non-truncated") or x.ndim != 2 or ps.size != x.shape[0]:
        came = f"{[*x.shape]}, {[*ps.shape]}, {mode!r}"
        raise InvalidArgument(f"top_p_sampling: expected x [rows, n] and ps [rows], got {came}")
    ordered, order = torch.sort(x.data, dim=-1, descending=True, stable=True)
    dropped = (ordered.cumsum(-1) - ordered >= ps.data.reshape(-1, 1)) & (mode == "truncated")
    if threshold is not None:
        dropped |= ordered < threshold.data.reshape(-1, 1)
    dropped[:, 0] = False  # the most likely one stays
    chances = ordered.masked_fill(dropped, 0).float()
    seeds = [seed] * x.shape[0] if topp_seed is None else topp_seed.data.flatten().tolist()
    own = [None if s == -1 else torch.Generator(chances.device).manual_seed(s) for s in seeds]
    drawn = torch.stack([torch.multinomial(row, 1, generator=o) for row, o in zip(chances, own, strict=True)])
    found = (Tensor(ordered.gather(-1, drawn)), Tensor(order.gather(-1, drawn)))
    return (*found, Tensor(ordered[:, :k]), Tensor(order[:, :k])) if return_top else found
