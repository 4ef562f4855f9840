"""The loops of `cpu_graph_messages` on a GPU: the same results on torch buffers, by a few calls of torch.

The CPU has these calls too: there they are tested against the loops. Sums are made in no fixed order.
"""

import torch

from .cuda_sparse import _places_of

Buffer = torch.Tensor


def _extreme(rows: Buffer, values: Buffer, out: Buffer, kind: str) -> Buffer:
    places = rows[:, None].expand_as(values)
    return out.zero_().scatter_reduce_(0, places, values, kind, include_self=False)


def row_max(cuts: Buffer, starts: Buffer, cols: Buffer, x: Buffer, out: Buffer) -> None:
    """The largest of x[cols[place]] over each row's places; a NaN among them is the largest here."""
    _extreme(_places_of(starts, len(cols)), x[cols.long()], out, "amax")


def row_min(cuts: Buffer, starts: Buffer, cols: Buffer, x: Buffer, out: Buffer) -> None:
    """`row_max` with the smallest."""
    _extreme(_places_of(starts, len(cols)), x[cols.long()], out, "amin")


def equal_sums(
    cuts: Buffer, starts: Buffer, cols: Buffer, x: Buffer, y: Buffer, g: Buffer, out: Buffer
) -> None:
    """out[r] = the sum of g[col] where x[r] equals y[col]."""
    rows, others = _places_of(starts, len(cols)), cols.long()
    out.zero_().index_add_(0, rows, torch.where(x[rows] == y[others], g[others], 0))


def head_sums(
    cuts: Buffer, starts: Buffer, cols: Buffer, edges: Buffer, weights: Buffer, x: Buffer, out: Buffer
) -> None:
    """out[r, h] = the sum of weights[edge, h] x[col, h]."""
    out.zero_().index_add_(
        0, _places_of(starts, len(cols)), weights[edges.long()][..., None] * x[cols.long()]
    )


def head_dots(
    cuts: Buffer, starts: Buffer, cols: Buffer, edges: Buffer, x: Buffer, y: Buffer, out: Buffer
) -> None:
    """out[edge, h] = x[row, h] . y[col, h]."""
    out[edges.long()] = (x[_places_of(starts, len(cols))] * y[cols.long()]).sum(-1)


def edge_softmax(cuts: Buffer, starts: Buffer, edges: Buffer, values: Buffer, out: Buffer) -> None:
    """e^v over the sum of e^v of the row, head by head."""
    rows, order = _places_of(starts, len(edges)), edges.long()
    taken, tops = values[order], values.new_empty(len(starts) - 1, values.shape[1])
    raised = (taken - _extreme(rows, taken, tops, "amax")[rows]).exp_()
    out[order] = raised / torch.zeros_like(tops).index_add_(0, rows, raised)[rows]


def edge_softmax_back(
    cuts: Buffer, starts: Buffer, edges: Buffer, y: Buffer, g: Buffer, into: Buffer
) -> None:
    """The gradient g taken back through the softmax y."""
    rows, order = _places_of(starts, len(edges)), edges.long()
    means = y.new_zeros(len(starts) - 1, y.shape[1]).index_add_(0, rows, (y * g)[order])
    into[order] = y[order] * (g[order] - means[rows])
