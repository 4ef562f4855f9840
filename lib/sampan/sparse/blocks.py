"""Attention under a mask made of blocks, as in Longformer and BigBird: small dense products where the blocks
are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .. import ops
from ..dtype import name_of
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..ops.recorded import recorded
from .attention import expect_one_dtype, expect_one_shape

__all__ = ["BlockMask", "block_attention", "create_block_mask", "sliding_window"]


CELLS = 1 << 18  # scores that are computed at a time: they stay in the cache


@dataclass(eq=False)
class _Group:
    """Rows of blocks with equally many blocks: which rows [n], which columns [n, m], what their blocks hide.

    hidden: [n, block, m * block] bool, or None where they let everything through.
    """

    rows: torch.Tensor
    cols: torch.Tensor
    hidden: torch.Tensor | None

    def on(self, device: torch.device) -> "_Group":
        parts = (self.rows, self.cols, self.hidden)
        # In the order of its fields.
        return _Group(*(None if x is None else x.to(device) for x in parts))  # type: ignore[arg-type]

    def parts(self, count: int) -> Iterator["_Group"]:
        """So many rows at a time."""
        hidden = [None] * len(self.rows) if self.hidden is None else self.hidden.split(count)
        return map(_Group, self.rows.split(count), self.cols.split(count), hidden)


class BlockMask:
    """Which of `length` keys each of `length` queries sees, by square blocks; `layout`: [blocks, blocks]
    bool.

    Only blocks that let something through are kept, in groups of rows with equally many. Made by
    `create_block_mask` or `sliding_window`; the name and the idea of full and partial blocks are
    FlexAttention's (Dong et al. 2024).
    """

    def __init__(self, length: int, block_size: int, layout: torch.Tensor, groups: list[_Group]) -> None:
        self.length, self.block_size, self.layout, self.groups = length, block_size, layout, groups
        self._copies: dict[torch.device, list[_Group]] = {}

    @property
    def density(self) -> float:
        """The share of all blocks that is computed."""
        return float(self.layout.float().mean())

    def on(self, device: torch.device) -> list[_Group]:
        """The groups, where values on `device` need them. The copy is kept."""
        if device not in self._copies:
            self._copies[device] = [group.on(device) for group in self.groups]
        return self._copies[device]

    def to_dense(self) -> torch.Tensor:
        """[length, length] bool: True where a query sees a key."""
        count, size = len(self.layout), self.block_size
        dense = torch.zeros(count, size, count, size, dtype=torch.bool)
        for g in self.groups:
            for k, (row, cols) in enumerate(zip(g.rows.tolist(), g.cols, strict=True)):
                dense[row][:, cols] = True if g.hidden is None else ~g.hidden[k].reshape(size, -1, size)
        return dense.reshape(count * size, -1)[: self.length, : self.length]


def create_block_mask(seen: Any, length: int | None = None, block_size: int = 64) -> BlockMask:
    """The blocks of a mask. seen: a bool matrix [length, length], or a function of query and key numbers.

    The function gets int64 buffers [queries, 1] and [1, keys] and returns bool [queries, keys], some rows of
    the mask at a time: `lambda q, k: k <= q` is the causal mask. The mask is exact inside of blocks too.
    """
    if not callable(seen):
        matrix = seen.data if isinstance(seen, Tensor) else torch.as_tensor(seen)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype is not torch.bool:
            raise ValueError(
                f"seen: expected bool [length, length] or a function, got {name_of(matrix.dtype)} "
                f"{list(matrix.shape)}"
            )
        length, matrix = len(matrix), matrix.cpu()
        return create_block_mask(lambda q, k: matrix[q, k], length, block_size)
    if length is None or length < 1 or block_size < 1:
        raise ValueError(f"length, block_size: expected 1 or more, got {length} and {block_size}")
    count = -(-length // block_size)
    keys = torch.arange(length)[None]
    layout = torch.zeros(count, count, dtype=torch.bool)
    found: dict[tuple[int, bool], list[tuple[int, torch.Tensor, torch.Tensor]]] = {}
    for row in range(count):
        queries = torch.arange(row * block_size, min((row + 1) * block_size, length))[:, None]
        whole = torch.zeros(block_size, count * block_size, dtype=torch.bool)
        whole[: len(queries), :length] = seen(queries, keys)
        blocks = whole.reshape(block_size, count, block_size)
        layout[row] = blocks.any(2).any(0)
        cols = layout[row].nonzero().flatten()
        part = blocks[:, cols].flatten(1)
        if len(cols):
            found.setdefault((len(cols), bool(part.all())), []).append((row, cols, part))
    groups = []
    for (_, full), rows in sorted(found.items()):
        numbers, columns, parts = zip(*rows, strict=True)
        groups.append(
            _Group(torch.tensor(numbers), torch.stack(columns), None if full else ~torch.stack(parts))
        )
    return BlockMask(length, block_size, layout, groups)


def sliding_window(
    length: int, window: int, global_tokens: int = 0, causal: bool = False, block_size: int = 64
) -> BlockMask:
    """A query sees keys at most `window` away; the first `global_tokens` see all and are seen by all.

    causal: none sees what comes after it. Source: Longformer (Beltagy et al. 2020), section 3.1.
    """
    if window < 0 or not 0 <= global_tokens <= length:
        raise ValueError(
            f"window, global_tokens: expected 0 or more, and tokens up to {length}, got {window} and "
            f"{global_tokens}"
        )

    def seen(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        near = ((q - k).abs() <= window) | (q < global_tokens) | (k < global_tokens)
        return near & (k <= q) if causal else near

    return create_block_mask(seen, length, block_size)


def _scores(q: Any, k: Any, hidden: Any) -> Any:
    """[heads * rows, block, m * block]; hidden scores are the dtype's least number, so that no row has a
    nan."""
    scores = torch.bmm(q, k.mT)
    if hidden is not None:
        low = torch.finfo(scores.dtype).min
        scores.view(-1, *hidden.shape).masked_fill_(hidden, low)
    return scores


def _zero_hidden_queries(weights: Any, hidden: Any) -> Any:
    """A query that sees nothing has no weights."""
    if hidden is not None and bool(hidden.all(-1).any()):
        weights.view(-1, *hidden.shape).masked_fill_(hidden.all(-1, keepdim=True), 0)
    return weights


def _picked(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The blocks [n, m] of x [heads, blocks, block, width] as matrices [heads * n, m * block, width]."""
    n, m = places.shape
    return x.index_select(1, places.flatten()).reshape(len(x) * n, m * x.shape[2], x.shape[3])


def _add(out: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> None:
    """The transpose of `_picked`: blocks that several rows share are added up, always in the same order."""
    values = values.reshape(len(out), places.numel(), *out.shape[2:])
    if out.is_cuda:  # its index_add_ adds in any order
        out.transpose(0, 1).index_put_((places.flatten(),), values.transpose(0, 1), accumulate=True)
    else:
        out.index_add_(1, places.flatten(), values)


def _parts(q: torch.Tensor, mask: BlockMask) -> Iterator[_Group]:
    for group in mask.on(q.device):
        cells = len(q) * group.cols.shape[1] * mask.block_size**2
        yield from group.parts(len(group.rows) if q.is_cuda else max(CELLS // cells, 1))


def _blockwise_back(
    g: Any, q: Any, k: Any, v: Any, mask: BlockMask, scale: float, saved: list[torch.Tensor]
) -> tuple[Any, ...]:
    if not isinstance(g, torch.Tensor):
        return recorded(_step_by_step, (q, k, v, mask, scale), g)
    kind = saved[0].dtype if saved else q.dtype
    a, b, c, d = q.to(kind) * scale, k.to(kind), v.to(kind), g.to(kind)
    dq, dk, dv = (torch.zeros_like(x, memory_format=torch.contiguous_format) for x in (a, b, c))
    for part, weights in zip(_parts(a, mask), saved, strict=True):
        here = part.rows[:, None]
        along, keys = _picked(d, here), _picked(b, part.cols)
        _add(dv, part.cols, torch.bmm(weights.mT, along))
        slopes = torch.bmm(along, _picked(c, part.cols).mT)
        slopes = torch.ops.aten._softmax_backward_data(slopes, weights, -1, kind)
        dq[:, part.rows] = torch.bmm(slopes, keys).mul_(scale).view(len(a), -1, *a.shape[2:])
        _add(dk, part.cols, torch.bmm(slopes.mT, _picked(a, here)))
    return tuple(x.to(q.dtype) for x in (dq, dk, dv))


@operator(joint=_blockwise_back, amp="half")
def blockwise_attention(q, k, v, mask, scale):
    """softmax(q k^T scale) v at the blocks of `mask`. q, k, v: [heads, blocks, block, width]. The weights are
    kept."""
    expect_one_dtype(q, k, v)
    kind = torch.float32 if q.dtype in (torch.float16, torch.bfloat16) else q.dtype
    a, b, c = q.to(kind) * scale, k.to(kind), v.to(kind)
    out, kept = torch.zeros_like(a), []
    for part in _parts(a, mask):
        here = part.rows[:, None]
        weights = _zero_hidden_queries(
            _scores(_picked(a, here), _picked(b, part.cols), part.hidden).softmax(-1), part.hidden
        )
        out[:, part.rows] = torch.bmm(weights, _picked(c, part.cols)).view(len(a), -1, *a.shape[2:])
        kept.append(weights)
    return out.to(q.dtype), kept


def _step_by_step(q: Any, k: Any, v: Any, mask: BlockMask, scale: float) -> Any:
    """The same in operators that record, for derivatives of higher order."""
    heads, count, size, width = q.shape
    parts = [Tensor(torch.zeros_like(q.data[:, :1]))]  # of rows without blocks
    order = torch.zeros(count, dtype=torch.int64, device=q.data.device)
    for group in mask.on(q.data.device):
        n, m = group.cols.shape
        order[group.rows] = torch.arange(n, device=order.device) + sum(p.shape[1] for p in parts)
        keys, values = (
            ops.reshape(ops.index_select(x, Tensor(group.cols.flatten()), 1), [heads, n, m * size, width])
            for x in (k, v)
        )
        scores = ops.matmul(ops.index_select(q, Tensor(group.rows), 1) * scale, keys, transpose_y=True)
        if group.hidden is not None:
            low = torch.zeros(group.hidden.shape, dtype=scores.data.dtype, device=group.hidden.device)
            scores = scores + Tensor(low.masked_fill_(group.hidden, torch.finfo(scores.data.dtype).min))
        weights = ops.softmax(scores)
        if group.hidden is not None:
            weights = weights * Tensor((~group.hidden.all(-1, keepdim=True)).to(scores.data.dtype))
        parts.append(ops.matmul(weights, values))
    return ops.index_select(ops.concat(parts, 1), Tensor(order), 1)


def block_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: BlockMask, scale: float | None = None
) -> Tensor:
    """softmax(Q K^T scale) V where `mask` lets through; scale is 1 / sqrt(width) unless given.

    query, key, value: [batch, heads, length, width]; half precision is summed in float32. A query that sees
    nothing gets 0. Work grows with `mask.density`, the share of blocks that is computed, and not with what
    they let through: it pays where blocks are nearly full. Measured on one thread with blocks of 64 and width
    64, forward and backward: 4 to 5 times as fast as dense attention at a density of 0.15, 1.5 times at 0.45;
    as fast as `attention` over the same entries where blocks are 0.85 full, 1.5 times as fast at 0.9, half as
    fast at 0.65. Raises ValueError for shapes that do not fit.
    """
    batch, heads, length, width = expect_one_shape(query, key, value)
    if length != mask.length:
        raise ValueError(f"mask: expected one of length {length}, got {mask.length}")
    size, count = mask.block_size, len(mask.layout)

    def blocks(x: Tensor) -> Tensor:
        """[batch * heads, blocks, block, width], zeros behind the end."""
        x = ops.reshape(x, [batch * heads, length, width])
        if count * size != length:
            zeros = torch.zeros(
                batch * heads, count * size - length, width, dtype=x.data.dtype, device=x.data.device
            )
            x = ops.concat([x, Tensor(zeros)], 1)
        return ops.reshape(x, [batch * heads, count, size, width])

    scale = width**-0.5 if scale is None else float(scale)
    out = blockwise_attention(blocks(query), blocks(key), blocks(value), mask, scale)
    out = ops.reshape(out, [batch, heads, count * size, width])
    return out[:, :, :length] if count * size != length else out
