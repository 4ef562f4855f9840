"""Sparse tensors from coordinates and from compressed rows, with every index checked."""

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
import torch

from ..dtype import as_dtype, name_of
from ..engine.spelling import spell
from ..engine.tensor import Tensor, to_tensor
from ..kernels.arena import copied
from .operators import entries_joined
from .pattern import Coo, Csr, sorted_rows
from .tensor import SparseTensor

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor"]


def _integers(value: Any, name: str, device: torch.device) -> torch.Tensor:
    """int32 or int64 on `device`, perhaps in the caller's memory: to be copied before it is checked and
    kept."""
    found = value.data if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))
    kind = found.dtype
    if kind not in (torch.int32, torch.int64):
        if found.is_floating_point() or found.is_complex() or kind is torch.bool:
            raise TypeError(f"{name}: expected integers, got {name_of(kind)}")
        kind = torch.int64
    return found.to(device, kind)


def _lengths(shape: Sequence[Any]) -> list[int]:
    try:
        lengths = [index(n) for n in shape]
    except TypeError:
        raise TypeError(f"shape: expected integers, got {shape!r}") from None
    if any(n < 0 for n in lengths):
        raise ValueError(f"shape: expected lengths of 0 or more, got {lengths}")
    return lengths


def _entries(values: Any, dtype: Any, place: Any, stop_gradient: bool) -> Tensor:
    made = to_tensor(values, dtype=dtype, place=place) if not isinstance(values, Tensor) else values
    if dtype is not None and made.data.dtype is not as_dtype(dtype):
        made = made.astype(dtype)
    if not stop_gradient:
        made.stop_gradient = False  # of the caller's tensor too, as Paddle has it: its `.grad` is the values'
    return made


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseTensor:
    """A tensor by coordinates. indices: [sparse axes, nnz] integers; values: [nnz, dense axes ...].

    shape: of the whole tensor, dense axes included; None takes the smallest that holds the indices. Places
    may repeat: their values add up (see coalesce). Raises ValueError for lengths that differ, a shape that
    does not fit, and an index outside the shape, naming which.

    >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [2, 0]], [5.0, 7.0], [2, 3])
    >>> x.to_dense().tolist()
    [[0.0, 0.0, 5.0], [7.0, 0.0, 0.0]]
    """
    entries = _entries(values, dtype, place, stop_gradient)
    places = _integers(indices, "indices", entries.data.device)
    if places.ndim != 2:
        raise ValueError(f"indices: expected [sparse axes, nnz], got shape {list(places.shape)}")
    axes, count = places.shape
    if entries.ndim < 1 or entries.shape[0] != count:
        raise ValueError(
            f"values: expected {count}, one for each column of indices, got shape {[*entries.shape]}"
        )
    dense = list(entries.shape[1:])
    if shape is None:
        if count == 0:
            raise ValueError("shape: must be given where there are no indices to take it from")
        shape = [*(max(int(row.max()) + 1, 0) for row in places), *dense]
    shape = _lengths(shape)
    if len(shape) != axes + len(dense) or shape[axes:] != dense:
        raise ValueError(
            f"shape: expected {axes} sparse lengths followed by those of the values, {dense}, got {shape}"
        )
    pattern = Coo.ordered(places, tuple(shape[:axes]))
    if pattern is not None:
        return SparseTensor(pattern, entries)
    places = copied(places)
    low, high = places.aminmax(dim=1) if count else (places[:, 0:0], places[:, 0:0])
    for axis in range(axes if count else 0):
        if int(low[axis]) < 0 or int(high[axis]) >= shape[axis]:
            at = int(((places[axis] < 0) | (places[axis] >= shape[axis])).nonzero()[0])
            raise ValueError(
                f"indices[{axis}, {at}]: expected 0 to {shape[axis] - 1}, for shape {shape}, got "
                f"{int(places[axis, at])}"
            )
    return SparseTensor(Coo(places, tuple(shape[:axes])), entries)


def sparse_csr_tensor(
    crows: Any,
    cols: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseTensor:
    """A matrix by compressed rows, or a batch of them. crows: [rows + 1] for each batch, one after the other.

    shape: [rows, columns] or [batch, rows, columns]; None takes as many columns as there must be, and a new
    matrix wherever crows decrease. Row r has the entries crows[r] to crows[r + 1]: columns `cols`, values
    `values`, both [nnz]. Columns that do not ascend within a row are sorted. Raises ValueError for crows that
    do not start at 0, decrease, or do not end at the number of entries, and for a column outside the shape,
    naming the place.
    """
    entries = _entries(values, dtype, place, stop_gradient)
    starts, columns = (
        copied(_integers(v, name, entries.data.device)) for v, name in ((crows, "crows"), (cols, "cols"))
    )
    if starts.ndim != 1 or columns.ndim != 1 or entries.ndim != 1:
        raise ValueError(
            f"crows, cols, values: expected one axis each, got {starts.ndim}, {columns.ndim}, {entries.ndim}"
        )
    count = columns.shape[0]
    if entries.shape[0] != count:
        raise ValueError(f"values: expected {count}, one for each of cols, got {entries.shape[0]}")
    if shape is None:
        if count == 0:
            raise ValueError("shape: must be given where there are no columns to take it from")
        matrices = 1 + int((starts[1:] < starts[:-1]).sum())  # the pointers of each start at 0 again
        width = int(columns.max()) + 1
        shape = [matrices, len(starts) // matrices - 1, width] if matrices > 1 else [len(starts) - 1, width]
    shape = _lengths(shape)
    if len(shape) not in (2, 3):
        raise ValueError(f"shape: expected [rows, columns] or [batch, rows, columns], got {shape}")
    *lead, height, width = shape
    batch = math.prod(lead)
    if starts.shape[0] != batch * (height + 1):
        raise ValueError(f"crows: expected {batch * (height + 1)} for shape {shape}, got {starts.shape[0]}")
    table = starts.reshape(batch, height + 1)
    if batch and bool((table[:, 0] != 0).any()):
        raise ValueError(f"crows: expected 0 at the start of each matrix, got {table[:, 0].tolist()}")
    falls = (table[:, 1:] < table[:, :-1]).flatten().nonzero()
    if len(falls):
        at = int(falls[0]) + 1 + int(falls[0]) // max(height, 1)
        raise ValueError(
            f"crows[{at}]: expected {int(starts[at - 1])} or more, as before it, got {int(starts[at])}"
        )
    ends = sum(table[:, -1].tolist())  # of Python's integers, which do not overflow
    if ends != count:
        raise ValueError(f"crows: expected to end at the number of entries, {count}, got {ends}")
    outside = (columns < 0) | (columns >= width)
    if count and bool(outside.any()):
        at = int(outside.nonzero()[0])
        raise ValueError(f"cols[{at}]: expected 0 to {width - 1}, for shape {shape}, got {int(columns[at])}")
    pattern = Csr((starts, columns), tuple(shape))
    blocks = pattern.by_rows
    rows, segments = sorted_rows(blocks.rows, blocks.cols, blocks.shape)
    if segments is None:
        return SparseTensor(pattern, entries)
    summed = entries_joined(entries, segments)
    return SparseTensor(Csr(None, tuple(shape), rows, columns.dtype), summed)


spell(globals(), __name__)
