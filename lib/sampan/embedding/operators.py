"""The differentiable operators of embedding bags. A table's first gradient is a RowGradient where the table
is a leaf."""

from typing import Any

import torch

from ..dtype import as_dtype, name_of
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels import embedding as loops
from ..kernels.cpu_embedding import rows_found
from ..kernels.device import array, buffer
from ..ops.embedding import rows_summed
from ..row_sparse import RowGradient

Buffer = torch.Tensor
_HALF = (torch.float16, torch.bfloat16)


def integers(ids: Any, name: str = "ids") -> Buffer:
    """The buffer of a Tensor of int32 or int64; TypeError for anything else."""
    if not isinstance(ids, Tensor):
        raise TypeError(f"{name}: expected a Tensor of int32 or int64, got {type(ids).__name__}")
    if ids.data.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name}: expected int32 or int64, got {name_of(ids.data.dtype)}")
    return ids.data


def _read(weight: Buffer, ids: Buffer) -> tuple[Any, Any]:
    """A table and ids as the loops take them; of half precision, the rows that are asked for alone, in
    float32."""
    if weight.dtype in _HALF:
        weight = weight.index_select(0, ids).float()
        ids = torch.arange(len(ids), device=ids.device)
    return array(weight.contiguous()), array(ids)


def _like(table: Any, values: Buffer) -> Any:
    """Values of the dtype in which a table is read."""
    return array(values.to(buffer(table).dtype).contiguous())


def _bag_of_each(starts: Buffer, count: int) -> Buffer:
    """Which bag each of `count` occurrences is in. starts: [bags + 1]."""
    bags = torch.arange(len(starts) - 1, device=starts.device)
    return bags.repeat_interleave(starts.diff(), output_size=count)


def _expect_bags(g: Any, starts: Buffer) -> None:
    """Loops trust this length; a hook may have returned another gradient."""
    if g.ndim != 2 or g.shape[0] != len(starts) - 1:
        raise ValueError(
            f"gradient: expected a row for each of {len(starts) - 1} bags, got shape {list(g.shape)}"
        )


@operator(
    lambda g, scale, saved: bags_summed(g, scale, *saved),
    lambda g, weight, saved: bag_dots(weight, g, *saved[:2]),
    amp="as_is",
)
def bag_sums(weight, scale, ids, starts, mean=False, as_rows=False, share=None):
    """out[b] = the sum over the occurrences i of bag b of scale[i] weight[ids[i]]; mean: over how many there
    are.

    weight: [n, d]; scale: [occurrences] or None; ids: [occurrences] int64; starts: [bags + 1]; share: a
    factor on each occurrence's gradient of the table, or None. Returns [bags, d].
    """
    table, at = _read(weight, ids)
    factors = _like(table, weight.new_empty(0) if scale is None else scale)
    value = buffer(loops.bag_sums(table, at, array(starts), factors))
    lengths = starts.diff().clamp(min=1).to(value.dtype)[:, None] if mean else None
    if lengths is not None:
        value.div_(lengths)
    return value.to(weight.dtype), (ids, starts, lengths, weight.shape[0], as_rows, share)


def bags_summed(
    g: Any, scale: Any, ids: Any, starts: Any, lengths: Any, count: int, as_rows: bool, share: Any
) -> Any:
    """The gradient of the table: each bag's, or its share of the mean, at every one of its rows."""
    _expect_bags(g, starts)
    if lengths is not None:
        g = g / lengths.to(g.dtype) if g.__class__ is Buffer else g / Tensor(lengths).astype(g.dtype)
    return occurrences_summed(g, scale, ids, _bag_of_each(starts, len(ids)), count, as_rows, share)


def occurrences_summed(
    g: Any, scale: Any, ids: Any, which: Any, count: int, as_rows: bool = False, share: Any = None
) -> Any:
    """The gradient of the table: share[i] scale[i] g[which[i]] added up at ids[i]. As rows, nothing is added
    up yet."""
    if share is not None:
        share = share if g.__class__ is Buffer else Tensor(share)
        scale = share if scale is None else scale * share
    if as_rows and g.__class__ is Buffer:
        return RowGradient([(ids, g.contiguous(), which, scale)], (count, g.shape[-1]))
    rows = g.index_select(0, which) if g.__class__ is Buffer else g.index_select(which, 0)
    return rows_summed(rows if scale is None else rows * scale.reshape([-1, 1]), ids, count, -1, False)


@operator(
    lambda h, g, saved: occurrences_summed(g, h, *saved),
    lambda h, weight, ids, starts: bag_sums(weight, h, ids, starts),
    amp="as_is",
)
def bag_dots(weight, g, ids, starts):
    """The gradient of the scales: weight[ids[i]] . g[b] for each occurrence i, of bag b."""
    _expect_bags(g, starts)
    table, at = _read(weight, ids)
    which = _bag_of_each(starts, len(ids))
    value = buffer(loops.dots(table, at, array(which), _like(table, g))).to(g.dtype)
    return value, (ids, which, weight.shape[0])


@operator(lambda g, saved: winners_placed(g, *saved), amp="as_is")
def bag_tops(weight, ids, starts, as_rows=False):
    """The largest of each bag's rows, column by column; zeros for an empty bag. weight: [n, d]; returns
    [bags, d]."""
    top, winner = loops.bag_tops(*_read(weight, ids), array(starts))
    return buffer(top).to(weight.dtype), (ids, buffer(winner), weight.shape[0], as_rows)


def winners_placed(g: Any, ids: Any, won: Any, count: int, as_rows: bool) -> Any:
    """The gradient of the table: g[b, c] at the row that won column c of bag b; an empty bag's goes
    nowhere."""
    lost = won < 0
    if as_rows and g.__class__ is Buffer:
        rows = g.new_zeros((len(ids) + 1, g.shape[1])).scatter_(0, won.masked_fill(lost, len(ids)), g)
        return RowGradient([(ids, rows[:-1], None, None)], (count, g.shape[1]))
    return columns_placed(g, torch.cat([ids, ids.new_zeros(1)])[won], lost, count)


@operator(lambda h, rows, lost: columns_picked(h, rows, lost))
def columns_placed(g, rows, lost, count):
    """Zeros [count, d] with g[b, c] added at [rows[b, c], c], but where `lost`."""
    return g.new_zeros((count, g.shape[1])).scatter_add_(0, rows, g.masked_fill(lost, 0))


@operator(lambda g, rows, lost, saved: columns_placed(g, rows, lost, saved))
def columns_picked(h, rows, lost):
    """h[rows[b, c], c], and 0 where `lost`."""
    return h.gather(0, rows).masked_fill(lost, 0), h.shape[0]


@operator(lambda g, saved: rows_given(g, *saved), amp="as_is")
def rows_looked_up(weight, rows, as_rows=True):
    """weight[rows]; -1 gives zeros and gets no gradient. weight: [n, d], rows: int64 of any shape."""
    return rows_found(weight, rows), (rows, weight.shape[0], as_rows)


def rows_given(g: Any, rows: Any, count: int, as_rows: bool) -> Any:
    """The gradient of the table: g added up at `rows`. As rows, nothing is added up yet."""
    if as_rows and g.__class__ is Buffer:
        return RowGradient([(rows.flatten(), g.reshape(-1, g.shape[-1]), None, None)], (count, g.shape[-1]))
    there = (rows >= 0).unsqueeze(-1).to(as_dtype(g.dtype))
    return rows_summed(
        g * (there if g.__class__ is Buffer else Tensor(there)), rows.clamp(min=0), count, -1, False
    )
