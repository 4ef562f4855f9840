"""Activations and softmax of sparse tensors, under Paddle's names in `sparse.nn.functional`."""

import math
from typing import Any

from ... import ops
from ...engine.spelling import spell
from ..attention import attention as attention
from ..blocks import block_attention as block_attention
from ..convolution import *
from ..convolution import __all__ as _convolutions
from ..elementwise import of_entries
from ..operators import row_softmax
from ..structure import transpose
from ..tensor import SparseTensor, expect_sparse

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = ["attention", "block_attention", "leaky_relu", "relu", "relu6", "softmax", *_convolutions]

relu = of_entries(ops.relu)
relu6 = of_entries(ops.relu6)


def leaky_relu(x: SparseTensor, negative_slope: float = 0.01, name: str | None = None) -> SparseTensor:
    """x where it is above 0, else negative_slope x, of each entry."""
    x = expect_sparse(x).distinct()
    return x.like(ops.leaky_relu(x.entries, negative_slope))


def softmax(x: SparseTensor, axis: int = -1, name: str | None = None) -> SparseTensor:
    """e^x over the sum of e^x along `axis`, of the entries alone: a place without one counts as minus
    infinity.

    A dense axis has its softmax within each entry.
    """
    x = expect_sparse(x).distinct()
    axis, lead = axis % x.ndim, len(x.pattern.shape)
    if axis >= lead:
        return x.like(ops.softmax(x.entries, axis - lead + 1))
    if axis != lead - 1:
        if x.is_sparse_csr():
            raise ValueError(f"axis: compressed rows have their softmax along the last axis, got {axis}")
        swapped: list[Any] = list(range(x.ndim))
        swapped[axis], swapped[lead - 1] = swapped[lead - 1], swapped[axis]
        return transpose(softmax(transpose(x, swapped), lead - 1), swapped)
    once = x.ordered()
    rows = once.pattern.by_rows
    if not x.dense_dim():
        return x.in_order(row_softmax(once.entries, rows))
    # Each element of an entry is a matrix of its own.
    width = math.prod(once.entries.shape[1:])
    columns = ops.unbind(ops.reshape(once.entries, [once.nnz(), width]), 1)
    parts = [row_softmax(column, rows) for column in columns]
    return x.in_order(ops.reshape(ops.stack(parts, 1), once.entries.shape))


spell(globals(), "sampan.sparse")
