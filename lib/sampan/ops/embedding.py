"""Rows of a table: the look-up of `F.embedding`, and its transpose, which adds rows up."""

from typing import Any

import torch

from ..engine.operator import operator
from ..kernels.cpu_embedding import all_inside, rows_read
from ..row_sparse import RowGradient
from .elementwise import Buffer, aten

_BACKWARD = aten.embedding_dense_backward.default._op


def _rows_at_by_weight(g, x, padding, by_frequency, as_rows, saved):
    return (row_gradient if as_rows else rows_summed)(g, x, saved, padding, by_frequency)


@operator(lambda g: None, _rows_at_by_weight, amp="as_is")
def rows_at(x, weight, padding=-1, by_frequency=False, as_rows=False):
    """The rows `x`, any shape of ints, of weight [n, d].

    padding: `padding_idx` of `F.embedding`, a row that is read as zeros and gets no gradient; -1 for none.
    by_frequency: a row's gradient is divided by how often it was looked up. as_rows: weight is a leaf, and
    its first gradient is a RowGradient.
    """
    value = rows_read(weight, x)
    if padding >= 0:
        value.masked_fill_((x == padding).unsqueeze(-1), 0)
    return value, weight.shape[0]


@operator(lambda g, x, padding, saved: rows_at(x, g, padding) * saved)
def rows_summed(g, x, count, padding, by_frequency):
    """[count, d]: the rows of g added up where `x` says; the transpose of `rows_at`. The row `padding`
    (padding_idx) gets none: torch's embedding_dense_backward leaves it out."""
    share = _share(x, count).unsqueeze(-1).to(g.dtype) if by_frequency else 1.0
    return _BACKWARD(g, x, count, padding, by_frequency), share


def row_gradient(g, x, count, padding, by_frequency):
    """`rows_summed`, without adding anything up yet where nothing is recorded."""
    if g.__class__ is not Buffer:
        return rows_summed(g, x, count, padding, by_frequency)
    ids, scale = x.flatten().long(), _share(x, count).flatten() if by_frequency else None
    ids = ids.masked_fill(ids == padding, -1) if padding >= 0 else ids
    return RowGradient([(ids, g.reshape(-1, g.shape[-1]), None, scale)], (count, g.shape[-1]))


def _share(x: Any, count: int) -> Any:
    """One over how often each id occurs. Raises ValueError for ids that were overwritten since they were
    checked."""
    if not all_inside(x, count):
        raise ValueError(
            f"embedding: expected ids from 0 to {count - 1} as in the look-up; they were overwritten since"
        )
    return 1.0 / torch.bincount(x.flatten()).double()[x]
