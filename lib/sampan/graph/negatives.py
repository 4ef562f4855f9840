"""Pairs of nodes without an edge, for training on links."""

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from .adjacency import Adjacency, ids
from .drawing import start, whole
from .graph import Graph
from .hetero import Relation
from .k_hop import tensor


def _side(graph: Any, function: str) -> Adjacency:
    side = graph.by_source if isinstance(graph, Graph | Relation) else graph
    if not isinstance(side, Adjacency):
        raise TypeError(
            f"{function}: expected a Graph, a Relation or an Adjacency for graph, got {type(graph).__name__}"
        )
    return side


def negative_edges(
    graph: Any, count: int, self_loops: bool = False, seed: int | None = None
) -> tuple[Tensor, Tensor]:
    """(sources, targets) of `count` pairs that are no edges, each such pair equally likely; a pair may come
    twice.

    graph: a Graph, a Relation of a HeteroGraph, or an Adjacency by sources. self_loops: whether a node and
    itself may be a pair; between two node types there are none. Int64. Raises ValueError where all pairs are
    edges.
    """
    what = "negative_edges"
    side = _side(graph, what)
    count = whole(count, 0, f"{what}: expected a whole number of at least 0 for count")
    own, base = not self_loops and _square(graph, side), start(seed)
    if count and not side.height * side.width:
        raise ValueError(f"{what}: expected a graph with nodes, got {side.height} and {side.width}")
    rows, columns = graph_kernels.unjoined_pairs(side.starts, side.neighbours, side.width, own, count, base)
    missed = np.flatnonzero(rows < 0)
    if missed.size:  # nearly all pairs are edges: the others are few
        free = np.ones((side.height, side.width), np.bool_)
        free[side.rows, side.neighbours] = False
        if own:
            np.fill_diagonal(free, False)
        left = np.flatnonzero(free)
        if not left.size:
            raise ValueError(f"{what}: expected a graph with a pair that is no edge, got one with all")
        chosen = left[np.random.default_rng(base).integers(left.size, size=missed.size)]
        rows[missed], columns[missed] = np.divmod(chosen, side.width)
    return tensor(rows), tensor(columns)


def negative_targets(
    graph: Any, sources: Any, count: int = 1, self_loops: bool = False, seed: int | None = None
) -> Tensor:
    """[*sources.shape, count] int64: for each source `count` nodes to which it has no edge, each equally
    likely; a node may come twice.

    Arguments as in `negative_edges`. Raises ValueError for an id outside and for a source with an edge to
    every node.
    """
    what = "negative_targets"
    side = _side(graph, what)
    count = whole(count, 0, f"{what}: expected a whole number of at least 0 for count")
    given = ids(sources, side.height, f"{what}: sources")
    own = not self_loops and _square(graph, side)
    rows = np.repeat(given.reshape(-1), count)
    found = graph_kernels.unjoined(side.starts, side.neighbours, rows, side.width, own, start(seed))
    if (found < 0).any():
        full = rows[found < 0][0]
        raise ValueError(f"{what}: expected sources without an edge to some node, got {full}, which has all")
    return tensor(found.reshape(*given.shape, count))


def _square(graph: Any, side: Adjacency) -> bool:
    """Whether a number means the same node at both ends of an edge."""
    return graph.kind[0] == graph.kind[2] if isinstance(graph, Relation) else side.height == side.width
