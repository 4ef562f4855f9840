"""The differentiable operators that sparse tensors are made of: each takes values, dense Tensors and `Rows`.

Their derivatives are written with one another, so every order of derivative is sparse where the operator is:
the gradient of a sparse matrix is computed at its entries alone, never as a dense matrix.
"""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..kernels import sparse as kernels
from ..kernels.device import LOOP_DTYPES, array, arrays, buffer
from .pattern import Rows


def kernel_input(x: torch.Tensor) -> torch.Tensor:
    """A buffer as the kernels take it: contiguous, of the next wider dtype that has loops."""
    if x.dtype not in LOOP_DTYPES:
        wider = torch.float32 if x.is_floating_point() else torch.int64
        x = x.to(torch.complex128 if x.is_complex() else wider)
    return x.resolve_conj().contiguous()


def _values(rows: Rows, values: torch.Tensor) -> torch.Tensor:
    """The values of a matrix's entries as the kernels take them.

    Raises ValueError for another number of them: their memory may have been replaced since, or a hook may
    have returned them.
    """
    if values.shape != (len(rows.cols),):
        raise ValueError(f"values: expected {rows.nnz}, one for each entry, got shape {list(values.shape)}")
    return kernel_input(values)


def _dense(x: torch.Tensor, height: int) -> torch.Tensor:
    """A dense matrix as the kernels take it. Raises ValueError for another height."""
    if x.ndim != 2 or x.shape[0] != height:
        raise ValueError(f"expected a dense matrix of {height} rows, got shape {list(x.shape)}")
    return kernel_input(x)


def _matrix(rows: Rows, values: torch.Tensor) -> tuple[Any, Any, Any]:
    """(crows, cols, values) of a sparse matrix."""
    return rows.crows, rows.cols, array(_values(rows, values))


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.is_complex else x


@operator(
    lambda g, x, rows: sddmm(g, _conj(x), rows),
    lambda g, values, rows: spmm(turned(_conj(values), rows), g, rows.turned[0]),
    amp="half",
)
def spmm(values, x, rows):
    """A x for the sparse A with these entries. values: [entries], x: [columns, k]; returns [rows, k]."""
    v, dense = _values(rows, values), _dense(x, rows.shape[1])
    out = v.new_empty(rows.shape[0], dense.shape[1])
    kernels.spmm(rows.cuts, rows.crows, rows.cols, *arrays(v, dense, out))
    return out.type_as(values)


@operator(
    lambda g, y, rows: spmm(g, _conj(y), rows),
    lambda g, x, rows: spmm(turned(g, rows), _conj(x), rows.turned[0]),
    amp="half",
)
def sddmm(x, y, rows):
    """x y^T at the entries of `rows` alone. x: [rows, k], y: [columns, k]; returns [entries]."""
    a, b = _dense(x, rows.shape[0]), _dense(y, rows.shape[1])
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"expected x and y of one width, got shapes {list(x.shape)} and {list(y.shape)}")
    out = a.new_empty(len(rows.cols))
    kernels.sddmm(rows.cuts, rows.crows, rows.cols, *arrays(a, b, out))
    return out.type_as(x)


@operator(lambda g, rows: turned(g, rows.turned[0]))
def turned(values, rows):
    """The values of the entries of `rows` in the order of its transpose."""
    return values.index_select(0, rows.turned[1])


def _spgemm_by_b(g: Any, a: Any, left: Rows, right: Rows, at: Rows) -> Any:
    made = spgemm_dots(turned(g, at), turned(_conj(a), left), at.turned[0], left.turned[0], right.turned[0])
    return turned(made, right.turned[0])


@operator(lambda g, b, left, right, at: spgemm_dots(g, _conj(b), at, right, left), _spgemm_by_b)
def spgemm(a, b, left, right, at):
    """A B at the entries of `at`. a: [entries of left], b: [entries of right]; returns [entries of at]."""
    out = kernels.spgemm_values(_matrix(left, a), _matrix(right, b), right.shape[1], (at.crows, at.cols))
    return buffer(out).type_as(a)


@operator(
    lambda g, q, rows, others, at: spgemm(g, _conj(q), at, others, rows),
    lambda g, p, rows, others, at: spgemm(turned(g, at), _conj(p), at.turned[0], rows, others),
)
def spgemm_dots(p, q, rows, others, at):
    """P Q^T at the entries of `at`, few of those that it has. p: [entries of rows], q: [entries of
    others]."""
    out = kernels.spgemm_dots(_matrix(rows, p), _matrix(others, q), rows.shape[1], (at.crows, at.cols))
    return buffer(out).type_as(p)


@operator(lambda g, out, rows: row_softmax_back(g, out, rows), amp="float32")
def row_softmax(values, rows):
    """e^v over the sum of e^v of its row. values: [entries]."""
    v = _values(rows, values)
    out = torch.empty_like(v)
    kernels.softmax(rows.cuts, rows.crows, *arrays(v, out))
    return out.type_as(values)


@operator(
    lambda h, y, rows: row_softmax_back(h, y, rows),
    lambda h, g, y, rows: h * g - h * row_sums(y * g, rows) - g * row_sums(y * h, rows),
)
def row_softmax_back(g, y, rows):
    """y (g - the sum of y g over the row)."""
    weights, slopes = _values(rows, y), _values(rows, g)
    out = torch.empty_like(weights)
    kernels.softmax_back(rows.cuts, rows.crows, *arrays(weights, slopes, out))
    return out.type_as(y)


@operator(lambda g, rows: row_sums(g, rows))
def row_sums(values, rows):
    """For each entry, the sum over its row."""
    places = buffer(rows.rows).long()
    sums = values.new_zeros((rows.shape[0], *values.shape[1:])).index_add_(0, places, values)
    return sums[places]


@operator(
    lambda g, from_a, saved: entries_placed(g, from_a, saved[0]),
    lambda g, sign, from_b, saved: sign * entries_placed(g, from_b, saved[1]),
)
def entries_summed(a, b, sign, from_a, from_b):
    """a[from_a] + sign b[from_b], where -1 picks 0 and no other place occurs twice. int32 places."""
    if a.ndim == 1 and b.dtype is a.dtype:
        x, y, *places = arrays(kernel_input(a), kernel_input(b), from_a, from_b)
        out = buffer(kernels.united(x, y, sign, *places)).type_as(a)
    else:
        out = entries_picked(a, from_a) + sign * entries_picked(b, from_b)
    return out, (a.shape[0], b.shape[0])


def _some_missing(places: torch.Tensor) -> bool:
    return len(places) > 0 and int(places.min()) < 0


@operator(lambda g, places, saved: entries_placed(g, places, saved))
def entries_picked(values, places):
    """values[places]; the place -1 picks 0. values: [entries, ...], places: int32 or int64."""
    if not values.shape[0]:
        out = values.new_zeros((places.shape[0], *values.shape[1:]))
    elif _some_missing(places):
        out = values.index_select(0, places.clamp(min=0))
        out.masked_fill_((places < 0).reshape(-1, *[1] * (values.ndim - 1)), 0)
    else:
        out = values.index_select(0, places)
    return out, values.shape[0]


@operator(lambda g, places: entries_picked(g, places))
def entries_placed(values, places, count):
    """Zeros of length `count` with each value added at its place; the place -1 drops it."""
    dropped = _some_missing(places)
    out = values.new_zeros((count + dropped, *values.shape[1:]))
    out.index_add_(0, torch.where(places < 0, count, places) if dropped else places, values)
    return out[:count]


def _columns(values: torch.Tensor) -> Any:
    return array(kernel_input(values)).reshape(values.shape[0], math.prod(values.shape[1:]))


@operator(lambda g, segments: entries_spread(g, segments))
def entries_joined(values, segments):
    """The values of entries that share a place added up, place by place. segments: see `kernels.grouped`."""
    if values.shape[0] != len(segments[1]):
        raise ValueError(f"values: expected {len(segments[1])}, one for each entry, got {values.shape[0]}")
    out = buffer(kernels.segment_sums(segments, _columns(values))).type_as(values)
    return out.reshape(-1, *values.shape[1:])


@operator(lambda h, segments: entries_joined(h, segments))
def entries_spread(g, segments):
    """For each entry what its place has: the transpose of `entries_joined`."""
    if g.shape[0] != len(segments[0]) - 1:
        raise ValueError(f"values: expected {len(segments[0]) - 1}, one for each place, got {g.shape[0]}")
    out = buffer(kernels.segment_spread(segments, _columns(g))).type_as(g)
    return out.reshape(-1, *g.shape[1:])
