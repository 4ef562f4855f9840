"""The embeddings' kernels on a GPU: names and results of the CPU's loops, on torch buffers.

Each is a vendor's call or a few of torch's, which the CPU has too: there they are tested against the loops,
and there they step what no loop is for. A row's gradients are added up one after the other, as they came.
"""

from collections.abc import Sequence

import torch

from .cpu_optimizer import rule_step
from .cuda_sparse import _before, _places_of, _sums

Buffer = torch.Tensor
Named = tuple[Buffer, int, bool]


def _distinct(ids: Buffer, count: int) -> tuple[Buffer, Buffer, Buffer]:
    """(distinct ids, ascending; where the occurrences of each begin, and the last's end; the occurrences in
    that order).

    An id of -1 names none.
    """
    ascending, order = ids.sort(stable=True)
    named = ascending >= 0
    found, counts = ascending[named].unique_consecutive(return_counts=True)
    return found, _before(counts), order[named]


def sums(named: Named, which: Buffer, scale: Buffer, rows: Buffer) -> tuple[Buffer, Buffer]:
    """(distinct ids [n], [n, d]: their rows' gradients added up; of occurrence i, scale[i] * rows[which[i]]).

    `scale` may be empty: 1; `which` too: i.
    """
    found, starts, order = _distinct(*named[:2])
    each = rows.index_select(0, which.index_select(0, order) if len(which) else order)
    return found, _sums(each if not len(scale) else each * scale.index_select(0, order)[:, None], starts)


def bag_sums(table: Buffer, ids: Buffer, starts: Buffer, scale: Buffer) -> Buffer:
    """[bags, d]: the sum of scale[i] * table[ids[i]] over the occurrences from starts[b] to starts[b + 1]."""
    factors = scale if len(scale) else None
    return torch.embedding_bag(table, ids, starts, False, 0, False, factors, include_last_offset=True)[0]


def bag_tops(table: Buffer, ids: Buffer, starts: Buffer) -> tuple[Buffer, Buffer]:
    """([bags, d] the largest of each bag's rows, column by column, 0 for an empty bag; which occurrence it
    was, or -1)."""
    rows = table.index_select(0, ids)
    which = _places_of(starts, len(ids))[:, None].expand(rows.shape)
    out = torch.zeros((len(starts) - 1, table.shape[1]), dtype=table.dtype, device=table.device)
    out.scatter_reduce_(0, which, rows, "amax", include_self=False)
    top = out.gather(0, which)
    places = torch.arange(len(ids), device=ids.device)[:, None].expand(rows.shape)
    won = torch.where((rows == top) | rows.isnan(), places, len(ids))  # the first of equals
    winner = torch.full(out.shape, len(ids), device=ids.device).scatter_reduce_(0, which, won, "amin")
    return out, winner.masked_fill_(winner == len(ids), -1)


def dots(table: Buffer, ids: Buffer, which: Buffer, g: Buffer) -> Buffer:
    """[occurrences]: table[ids[i]] . g[which[i]]."""
    return (table.index_select(0, ids) * g.index_select(0, which)).sum(1)


def step(
    named: Named,
    which: Buffer,
    scale: Buffer,
    rows: Buffer,
    name: str,
    arrays: Sequence[Buffer],
    numbers: Sequence[float],
    everywhere: bool,
) -> None:
    """Apply the rule `name` of `RULES` to the rows that a batch names; `everywhere`: to the others too, with
    gradient 0.

    arrays: the table and its state, each [count, d]; of any float dtype: rows of half precision are stepped
    in float32.
    """
    chosen, g = sums(named, which, scale, rows)
    if everywhere:
        table = arrays[0]
        dense = torch.zeros_like(table).index_copy_(0, chosen, g.to(table.dtype))
        rule_step(name, [[a] for a in (table, dense, *arrays[1:])], numbers)
        return
    parts = [a.index_select(0, chosen).to(g.dtype) for a in arrays]
    rule_step(name, [[a] for a in (parts[0], g, *parts[1:])], numbers)
    for a, stepped in zip(arrays, parts, strict=True):
        a.index_copy_(0, chosen, stepped.to(a.dtype))
