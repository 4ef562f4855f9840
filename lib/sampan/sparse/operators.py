"""The differentiable operators that sparse tensors are made of: each takes values, dense Tensors and `Rows`.

Their pullbacks are written with one another, so every order of derivative is sparse where the operator is: the
gradient of a sparse matrix is computed at its entries alone, never as a dense matrix.
"""

import math
from typing import Any

import numpy as np
import torch

from .. import kernels
from ..operator import operator
from .pattern import Rows

_LOOPS = (torch.float32, torch.float64, torch.int32, torch.int64, torch.complex64, torch.complex128)


def _array(buffer: torch.Tensor) -> np.ndarray:
    """A buffer as the loops take it: contiguous, half precision (which has no loop) as float32."""
    if buffer.dtype not in _LOOPS:
        buffer = buffer.to(torch.int32 if buffer.dtype is torch.bool else torch.float32)
    return buffer.resolve_conj().contiguous().numpy()


def _buffer(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    made = torch.from_numpy(array)
    return made if made.dtype is like.dtype else made.to(like.dtype)


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.is_complex else x


@operator
def spmm(values, x, rows):  # type: ignore[no-untyped-def]
    """A x for the sparse A with these entries. values: [entries], x: [columns, k]; returns [rows, k]."""
    v, dense = _array(values), _array(x)
    out = np.empty((rows.shape[0], dense.shape[1]), v.dtype)
    kernels.sparse.times_dense(rows.cuts, rows.crows, rows.cols, v, dense, out)
    return _buffer(out, values), (
        lambda g, rows=rows: sddmm(g, _conj(x), rows),
        lambda g, rows=rows: spmm(entries_picked(_conj(values), rows.turned[1]), g, rows.turned[0]),
    )


@operator
def sddmm(x, y, rows):  # type: ignore[no-untyped-def]
    """x y^T at the entries of `rows` alone. x: [rows, k], y: [columns, k]; returns [entries]."""
    a, b = _array(x), _array(y)
    out = np.empty(rows.nnz, a.dtype)
    kernels.sparse.sampled(rows.cuts, rows.crows, rows.cols, a, b, out)
    return _buffer(out, x), (
        lambda g, rows=rows: spmm(g, _conj(y), rows),
        lambda g, rows=rows: spmm(entries_picked(g, rows.turned[1]), _conj(x), rows.turned[0]),
    )


@operator
def spgemm(a, b, left, right, product):  # type: ignore[no-untyped-def]
    """The values of A B at the entries of `product`. a: [entries of left], b: [entries of right]."""
    out = kernels.sparse.product_at(
        left.cuts, left.crows, left.cols, _array(a), right.crows, right.cols, _array(b), right.shape[1],
        product.crows, product.cols,
    )  # fmt: skip
    return _buffer(out, a), (
        lambda g, left=left, right=right, product=product: spgemm(
            g, entries_picked(_conj(b), right.turned[1]), product, right.turned[0], left
        ),
        lambda g, left=left, right=right, product=product: spgemm(
            entries_picked(_conj(a), left.turned[1]), g, left.turned[0], product, right
        ),
    )


def product_pattern(left: Rows, right: Rows, a: torch.Tensor, b: torch.Tensor) -> tuple[Rows, torch.Tensor]:
    """Where A B has entries, and their values."""
    crows, cols, values = kernels.sparse.product(
        left.cuts, left.crows, left.cols, _array(a), right.crows, right.cols, _array(b), right.shape[1]
    )
    return Rows(crows, cols, (left.shape[0], right.shape[1])), _buffer(values, a)


@operator
def row_softmax(values, rows):  # type: ignore[no-untyped-def]
    """e^v over the sum of e^v of its row. values: [entries]."""
    v = _array(values)
    result = np.empty_like(v)
    kernels.sparse.softmax(rows.cuts, rows.crows, v, result)
    out = _buffer(result, values)
    return out, lambda g, rows=rows: (row_softmax_back(g, out, rows),)


@operator
def row_softmax_back(g, y, rows):  # type: ignore[no-untyped-def]
    """y (g - the sum of y g over the row)."""
    into = np.empty(rows.nnz, _array(y).dtype)
    kernels.sparse.softmax_back(rows.cuts, rows.crows, _array(y), _array(g), into)
    return _buffer(into, y), (
        lambda h, rows=rows: row_softmax_back(h, y, rows),
        lambda h, rows=rows: h * g - h * row_sums(y * g, rows) - g * row_sums(y * h, rows),
    )


@operator
def row_sums(values, rows):  # type: ignore[no-untyped-def]
    """For each entry, the sum over its row."""
    places = torch.from_numpy(rows.rows).long()
    sums = torch.zeros((rows.shape[0], *values.shape[1:]), dtype=values.dtype).index_add_(0, places, values)
    return sums[places], lambda g, rows=rows: (row_sums(g, rows),)


@operator
def entries_summed(a, b, sign, from_a, from_b):  # type: ignore[no-untyped-def]
    """a[from_a] + sign b[from_b], where -1 picks 0 and no other place occurs twice. int32 places."""
    if a.ndim == 1 and a.dtype in _LOOPS and b.dtype is a.dtype:
        out = torch.from_numpy(
            kernels.sparse.united(_array(a), _array(b), sign, from_a.numpy(), from_b.numpy())
        )
    else:
        out = entries_picked(a, from_a) + sign * entries_picked(b, from_b)
    return out, (
        lambda g, places=from_a, count=a.shape[0]: entries_placed(g, places, count),
        lambda g, places=from_b, count=b.shape[0], sign=sign: sign * entries_placed(g, places, count),
    )


@operator
def entries_picked(values, places):  # type: ignore[no-untyped-def]
    """values[places]; the place -1 picks 0. values: [entries, ...], places: int64."""
    missing = places < 0
    if not values.shape[0]:
        out = values.new_zeros((places.shape[0], *values.shape[1:]))
    elif bool(missing.any()):
        out = values.index_select(0, places.clamp(min=0))
        out[missing] = 0
    else:
        out = values.index_select(0, places)
    return out, lambda g, places=places, count=values.shape[0]: (entries_placed(g, places, count),)


@operator
def entries_placed(values, places, count):  # type: ignore[no-untyped-def]
    """Zeros of length `count` with each value added at its place; the place -1 drops it."""
    out = values.new_zeros((count, *values.shape[1:]))
    if values.ndim == 1 and values.dtype in _LOOPS:
        kernels.sparse.add_at(out.numpy(), places.numpy(), _array(values))
    else:
        kept = places >= 0
        out.index_add_(0, places[kept], values[kept])
    return out, lambda g, places=places: (entries_picked(g, places),)


def _columns(values: torch.Tensor) -> np.ndarray:
    return _array(values).reshape(values.shape[0], math.prod(values.shape[1:]))


@operator
def entries_joined(values, segments):  # type: ignore[no-untyped-def]
    """The values of entries that share a place added up, place by place. segments: see kernels.sparse.grouped."""
    out = _buffer(kernels.sparse.segment_sums(segments, _columns(values)), values)
    return out.reshape(-1, *values.shape[1:]), lambda g, segments=segments: (entries_spread(g, segments),)


@operator
def entries_spread(g, segments):  # type: ignore[no-untyped-def]
    """For each entry what its place has: the transpose of `entries_joined`."""
    out = _buffer(kernels.sparse.segment_spread(segments, _columns(g)), g)
    return out.reshape(-1, *g.shape[1:]), lambda h, segments=segments: (entries_joined(h, segments),)
