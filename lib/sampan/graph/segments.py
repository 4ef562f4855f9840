"""Sums, means, extremes and softmax of segments: rows that follow one another and belong together."""

from typing import Any

import numpy as np
import torch

from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from ..kernels.device import buffer_like, empty
from .adjacency import MOST
from .messages import _columns, _reduced, _routes, neighbour_sum, sent
from .routes import Routes


@operator(lambda g, out, routes: edge_softmax_back(g, out, routes), amp="float32")
def edge_softmax(values, routes):
    """e^v over the sum of e^v of the edges with the same target. values: [edges, ...]."""
    v = _columns(values, routes.num_edges)
    cuts, starts, _, edges = routes.rows(v)
    out = empty(v.shape, v)
    graph_kernels.edge_softmax(cuts, starts, edges, v, out)
    return buffer_like(out, values).reshape(values.shape)


def _totals(values: Any, routes: Routes) -> Any:
    """For each edge the sum over the edges with the same target."""
    return sent(neighbour_sum(values, routes.arriving), routes.turned)


@operator(
    lambda h, y, routes: edge_softmax_back(h, y, routes),
    lambda h, g, y, routes: h * g - h * _totals(y * g, routes) - g * _totals(y * h, routes),
)
def edge_softmax_back(g, y, routes):
    """y (g - the sum of y g over the edges with the same target)."""
    a, b = _columns(g, routes.num_edges), _columns(y, routes.num_edges)
    cuts, starts, _, edges = routes.rows(b)
    into = empty(b.shape, b)
    graph_kernels.edge_softmax_back(cuts, starts, edges, b, a, into)
    return buffer_like(into, y).reshape(y.shape)


def softmax_of_received(values: Tensor, edges: Any) -> Tensor:
    """Softmax over the edges into each node, as in graph attention. values: [edges, ...], floating; edges: a
    Graph, its `routes`, or an Adjacency by targets."""
    made: Tensor = edge_softmax(values, _routes(edges))
    return made


def segments(name: str, data: Any, segment_ids: Any) -> Routes:
    """Routes from each row of `data` to its segment.

    segment_ids: [rows] or [rows, 1], int32 or int64, ascending from at least 0, repeats included. Raises
    ValueError for others, IndexError for an id below 0.
    """
    for what, value in (("data", data), ("segment_ids", segment_ids)):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: expected a Tensor for {what}, got {type(value).__name__}")
    given = segment_ids.data
    if given.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"{name}: expected int32 or int64 for segment_ids, got {segment_ids.dtype}")
    if given.ndim == 2 and given.shape[1] == 1:  # Paddle takes it too
        given = given[:, 0]
    if given.ndim != 1 or data.ndim == 0 or len(given) != data.shape[0]:
        raise ValueError(
            f"{name}: expected [rows] for segment_ids, for data of shape {list(data.shape)}, got "
            f"{list(given.shape)}"
        )
    found = np.array(given.cpu().numpy())  # a copy, which the caller cannot overwrite
    if len(found) and (np.diff(found) < 0).any():
        place = int((np.diff(found) < 0).argmax())
        after = f"{found[place + 1]} after {found[place]} at place {place + 1}"
        raise ValueError(f"{name}: expected ascending numbers for segment_ids, got {after}")
    if len(found) and not 0 <= found[0] <= found[-1] < MOST:
        raise IndexError(f"{name}: expected segment_ids from 0 to {MOST - 1}, got {found[0]} to {found[-1]}")
    count = int(found[-1]) + 1 if len(found) else 0
    return Routes.into_segments(np.searchsorted(found, np.arange(count + 1)).astype(np.int32))


def segment_sum(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment, 0 where there is none.

    data: [rows, ...], floating or whole numbers; segment_ids: [rows], int32 or int64, ascending. Returns
    [last id + 1, ...] of the dtype of data. Raises ValueError for other ids.
    Source: PaddlePaddle 3.3.1, geometric.segment_sum.

    >>> data = paddle.to_tensor([[1.0, 2.0], [3.0, 2.0], [3.0, 5.0]])
    >>> paddle.geometric.segment_sum(data, paddle.to_tensor([0, 0, 1])).tolist()
    [[4.0, 4.0], [3.0, 5.0]]
    """
    return _reduced(data, segments("segment_sum", data, segment_ids), "sum")


def segment_mean(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment, truncated for whole numbers; see `segment_sum`."""
    return _reduced(data, segments("segment_mean", data, segment_ids), "mean")


def segment_max(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """The largest of the rows of each segment, number by number; see `segment_sum`.

    All rows that have it get all of its gradient.
    """
    return _reduced(data, segments("segment_max", data, segment_ids), "max")


def segment_min(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """The smallest of the rows of each segment, number by number; see `segment_max`."""
    return _reduced(data, segments("segment_min", data, segment_ids), "min")


def segment_softmax(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Softmax over the rows of each segment, number by number. data: [rows, ...], floating; see
    `segment_sum`."""
    made: Tensor = edge_softmax(data, segments("segment_softmax", data, segment_ids))
    return made
