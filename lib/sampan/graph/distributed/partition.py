"""Which shard each node of a graph belongs to, and what that costs."""

from typing import Any, NamedTuple

import numpy as np

from ...kernels import graph as graph_kernels
from ..adjacency import ids
from ..graph import Graph

SLACK = 1.05  # times an equal share: the most nodes that "ldg" gives a shard
PASSES = 10


class Quality(NamedTuple):
    """How a graph was divided.

    edge_cut: the share of edges whose ends are in different shards. nodes, edges: the largest shard's number
    of them over that of an equal share; an edge is where its target is.
    """

    edge_cut: float
    nodes: float
    edges: float


def owners(graph: Graph, parts: int, how: Any, what: str) -> np.ndarray:
    """int32 [nodes]: the shard of each node. how: "hash", "ldg", or the shards themselves."""
    if isinstance(how, str) and how == "hash":
        return graph_kernels.hashed(graph.num_nodes, parts)
    if isinstance(how, str) and how == "ldg":
        capacity = int(np.ceil(SLACK * graph.num_nodes / parts))
        sides = [(side.starts, side.neighbours) for side in (graph.by_target, graph.by_source)]
        return graph_kernels.streamed(sides[0], sides[1], parts, capacity, PASSES)
    if isinstance(how, str):
        raise ValueError(f"{what}: how: expected 'hash', 'ldg' or a shard for each node, got {how!r}")
    owner = ids(how, parts, f"{what}: how")
    if owner.shape != (graph.num_nodes,):
        raise ValueError(f"{what}: how: expected shape [{graph.num_nodes}], got {list(owner.shape)}")
    return owner


def quality(graph: Graph, owner: np.ndarray, parts: int) -> Quality:
    """The edge cut and the balance of a division."""
    cut = float((owner[graph.sources] != owner[graph.targets]).mean()) if graph.num_edges else 0.0
    nodes = np.bincount(owner, minlength=parts)
    edges = np.bincount(owner[graph.targets], minlength=parts)
    shares = [float(n.max() * parts / max(n.sum(), 1)) for n in (nodes, edges)]
    return Quality(cut, *shares)
