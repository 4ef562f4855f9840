"""Attention at the entries of a sparse mask: softmax(Q K^T / sqrt(width)) V with scores nowhere else."""

import math
from itertools import pairwise
from typing import Any

import torch

from .. import ops
from ..dtype import name_of
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels import sparse as kernels
from ..kernels.device import array, arrays, buffer
from ..ops.recorded import recorded
from .operators import kernel_input, row_softmax, sddmm, spmm
from .pattern import Rows, sorted_rows
from .tensor import SparseTensor, by_rows, expect_sparse

__all__ = ["attention"]


def repeated(rows: Rows, masks: int, heads: int) -> Rows:
    """Each of the `masks` square blocks on the diagonal `heads` times, one after the other."""
    if heads == 1:
        return rows
    length = rows.shape[0] // masks
    device, bounds = buffer(rows.crows).device, rows.crows[::length].tolist()
    entries = torch.cat([torch.arange(a, b, device=device).repeat(heads) for a, b in pairwise(bounds)])
    head = torch.cat(
        [torch.arange(heads, device=device).repeat_interleave(b - a) for a, b in pairwise(bounds)]
    )
    row, col = (buffer(part).long()[entries] for part in (rows.rows, rows.cols))
    shift = (row // length * (heads - 1) + head) * length
    side = rows.shape[0] * heads
    return sorted_rows(array(row + shift), array(col + shift), (side, side))[0]


def step_by_step(q: Any, k: Any, v: Any, rows: Rows) -> Any:
    """The same of rows [all, width] in three operators, which every order of derivative goes through."""
    return spmm(row_softmax(sddmm(q, k, rows) * q.shape[-1] ** -0.5, rows), v, rows)


def expect_one_shape(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """[batch, heads, length, width], which all three have. Raises ValueError otherwise."""
    if query.ndim != 4 or not list(query.shape) == list(key.shape) == list(value.shape):
        raise ValueError(
            f"query, key, value: expected one shape [batch, heads, length, width], got {list(query.shape)}, "
            f"{list(key.shape)} and {list(value.shape)}"
        )
    return query.shape


def expect_one_dtype(q: Any, k: Any, v: Any) -> None:
    if not q.dtype == k.dtype == v.dtype or not q.is_floating_point():
        raise TypeError(
            f"expected query, key and value of one floating dtype, got {name_of(q.dtype)}, "
            f"{name_of(k.dtype)} and {name_of(v.dtype)}"
        )


def _again(q: Any, k: Any, v: Any, rows: Rows) -> Any:
    """What `masked_attention` computes, `step_by_step`."""
    masks, heads, _, width = q.shape
    a, b, c = (ops.reshape(x, [-1, width]) for x in (q, k, v))
    return ops.reshape(step_by_step(a, b, c, repeated(rows, masks, heads)), q.shape)


def _masked_back(g: Any, q: Any, k: Any, v: Any, rows: Rows, saved: Any) -> tuple[Any, ...]:
    if not isinstance(g, torch.Tensor):
        return recorded(_again, (q, k, v, rows), g)
    length, width = q.shape[2:]
    if g.shape != q.shape:  # a hook may have returned it
        raise ValueError(f"gradient: expected shape {list(q.shape)}, got {list(g.shape)}")
    given = [kernel_input(x.reshape(-1, width)) for x in (q, k, v, g)]
    gradients = [torch.empty_like(given[0]) for _ in range(3)]
    turned, _ = rows.turned
    across = (turned.cuts, turned.crows, turned.cols, array(turned.turned[1]))
    along = (rows.cuts, rows.crows, rows.cols)
    kernels.attend_back(along, across, arrays(*given), width**-0.5, length, saved, arrays(*gradients))
    return tuple(x.type_as(q).reshape(q.shape) for x in gradients)


@operator(joint=_masked_back, amp="half")
def masked_attention(q, k, v, rows):
    """softmax(q k^T / sqrt(width)) v at the entries of `rows`: masks on the diagonal, each for its heads.

    q, k, v: [masks, heads, length, width]. The weights are saved for the derivative. Source: Vaswani et al.
    2017, formula 1.
    """
    expect_one_dtype(q, k, v)
    heads, length, width = q.shape[1:]
    given = [kernel_input(x.reshape(-1, width)) for x in (q, k, v)]
    weights, out = given[0].new_empty((heads, rows.nnz)), torch.empty_like(given[0])
    kept, into = arrays(weights, out)
    kernels.attend((rows.cuts, rows.crows, rows.cols), *arrays(*given), width**-0.5, length, kept, into)
    return out.type_as(q).reshape(q.shape), kept


def _unmasked(rows: Rows, masks: int, batch: int, padding: Any, among: Any) -> Rows:
    """The entries that neither mask hides with a 0."""
    length = rows.shape[0] // masks
    row, col = buffer(rows.rows).long(), buffer(rows.cols).long()
    kept = torch.ones_like(row, dtype=torch.bool)
    if padding is not None:
        kept &= padding.data[row // (masks // batch * length), col % length] != 0
    if among is not None:
        kept &= among.data[row % length, col % length] != 0
    return rows if bool(kept.all()) else sorted_rows(array(row[kept]), array(col[kept]), rows.shape)[0]


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sparse_mask: SparseTensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """softmax(Q K^T / sqrt(width)) V, where a query sees a key only if `sparse_mask` has an entry for them.

    query, key, value: [batch, heads, length, width], floating; half precision is summed in float32.
    sparse_mask: [batch * heads, length, length], usually compressed rows, whose values are not read; a mask
    for all heads of a sample may be given once, [batch, length, length], and one for everything as [1,
    length, length] or [length, length].
    key_padding_mask: [batch, length], attn_mask: [length, length]: a 0 hides the key there. They take entries
    off the mask, which costs a new pattern each time: hide what never changes in `sparse_mask`. A query that
    sees nothing gets 0. Returns [batch, heads, length, width]. Raises ValueError for shapes that do not fit.
    """
    batch, heads, length, _ = expect_one_shape(query, key, value)
    lead = expect_sparse(sparse_mask, "sparse_mask").shape[:-2]
    masks = math.prod(lead)
    if len(lead) > 1 or sparse_mask.shape[-2:] != [length, length] or masks not in (1, batch, batch * heads):
        raise ValueError(
            f"sparse_mask: expected [masks, {length}, {length}] with 1, {batch} (batch) or {batch * heads} "
            f"(batch * heads) masks, got {list(sparse_mask.shape)}"
        )
    for mask, what, shape in (
        (key_padding_mask, "key_padding_mask", [batch, length]),
        (attn_mask, "attn_mask", [length, length]),
    ):
        if mask is not None and list(mask.shape) != shape:
            raise ValueError(f"{what}: expected shape {shape}, got {list(mask.shape)}")
    if 0 in query.shape:
        return query * key * value
    rows, _ = by_rows(sparse_mask, "sparse_mask")
    if key_padding_mask is not None and masks < batch:
        rows, masks = repeated(rows, masks, batch), batch
    if key_padding_mask is not None or attn_mask is not None:
        rows = _unmasked(rows, masks, batch, key_padding_mask, attn_mask)
    shape = [masks, batch * heads // masks, *query.shape[2:]]
    return ops.reshape(
        masked_attention(*(ops.reshape(x, shape) for x in (query, key, value)), rows), query.shape
    )
