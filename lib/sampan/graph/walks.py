"""Random walks: plain, along meta-paths, and those of node2vec."""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from .adjacency import Adjacency, ids
from .drawing import start, whole
from .graph import Graph
from .hetero import HeteroGraph
from .k_hop import tensor


def _side(graph: Any, function: str) -> Adjacency:
    side = graph.by_source if isinstance(graph, Graph) else graph
    if not isinstance(side, Adjacency) or side.height != side.width:
        raise TypeError(
            f"{function}: expected a Graph or a square Adjacency for graph, got {type(graph).__name__}"
        )
    return side


def random_walks(graph: Any, nodes: Any, steps: int, seed: int | None = None) -> Tensor:
    """[walkers, steps + 1] int64: from each of `nodes` a walk along the edges, each edge of a node equally
    likely.

    graph: a Graph, whose edges are followed from source to target, or an Adjacency by sources. After a node
    without edges a walk goes on with -1. seed: the same walks for the same number, whatever the number of
    threads; without it the generator of `paddle.seed` decides. Raises ValueError for an id outside.

    >>> g = paddle.graph.Graph([(0, 1), (1, 2)], num_nodes=3)
    >>> paddle.graph.random_walks(g, [0, 1], 3).tolist()
    [[0, 1, 2, -1], [1, 2, -1, -1]]
    """
    side = _side(graph, "random_walks")
    steps = whole(steps, 0, "random_walks: expected a whole number of at least 0 for steps")
    first = ids(nodes, side.height, "random_walks: nodes").reshape(-1)
    return _walked([side], np.zeros(steps, np.int64), first, seed)


def meta_path_walks(
    graph: HeteroGraph, path: Sequence[str], nodes: Any, steps: int | None = None, seed: int | None = None
) -> Tensor:
    """[walkers, steps + 1] int64: from each of `nodes`, which are of the path's first type, a walk along the
    path.

    path: as in `HeteroGraph.meta_paths`. steps: as many as the path has if it is None, which draws an
    instance of the path; with more steps than that the path begins again, if it ends at the type where it
    begins. Column i counts within the type that step i reaches. Otherwise as `random_walks`.
    """
    what = "meta_path_walks"
    if not isinstance(graph, HeteroGraph):
        raise TypeError(f"{what}: expected a HeteroGraph for graph, got {type(graph).__name__}")
    along = graph.steps(path)
    steps = len(along) if steps is None else steps
    steps = whole(steps, 0, f"{what}: expected a whole number of at least 0 for steps")
    if steps > len(along) and along[0].source != along[-1].target:
        raise ValueError(
            f"{what}: expected at most {len(along)} for steps, because the path ends at {along[-1].target}, "
            f"not at {along[0].source}, got {steps}"
        )
    first = ids(nodes, graph.node_types[along[0].source], f"{what}: nodes").reshape(-1)
    relations = [graph.along(step) for step in along]
    distinct = list(dict.fromkeys(relations))
    order = np.array([distinct.index(side) for side in relations], np.int64)
    return _walked(distinct, np.resize(order, steps), first, seed)


def _walked(sides: list[Adjacency], order: np.ndarray, nodes: np.ndarray, seed: int | None) -> Tensor:
    relations = [(side.starts, side.neighbours) for side in sides]
    return tensor(graph_kernels.walks(relations, order, nodes, start(seed), np.int64))


_ascending: weakref.WeakKeyDictionary[Adjacency, np.ndarray] = weakref.WeakKeyDictionary()


def node2vec_walks(
    graph: Any, nodes: Any, steps: int, p: float = 1.0, q: float = 1.0, seed: int | None = None
) -> Tensor:
    """`random_walks` that remember where they come from (Grover and Leskovec, "node2vec", KDD 2016).

    From node v, reached from t, an edge v -> x has the weight 1/p if x is t, else 1 if there is an edge t ->
    x, else 1/q; the next step is that edge with the probability weight / (sum of the weights of v's edges).
    Repeated edges count as often as they are there. The first step takes each edge equally often, as does p
    = q = 1. Small p keeps a walk near, small q leads it away. A step draws edges and keeps one with the
    probability weight / largest weight; after 16 draws it reads the whole row. A copy of the edges with each
    row sorted is made once.

    p, q: above 0 and finite, else ValueError.
    """
    what = "node2vec_walks"
    side = _side(graph, what)
    steps = whole(steps, 0, f"{what}: expected a whole number of at least 0 for steps")
    for name, value in (("p", p), ("q", q)):
        if not 0 < float(value) < float("inf"):
            raise ValueError(f"{what}: expected a finite number above 0 for {name}, got {value}")
    first = ids(nodes, side.height, f"{what}: nodes").reshape(-1)
    ascending = _ascending.get(side)
    if ascending is None:
        ascending = _ascending[side] = graph_kernels.sorted_rows(side.starts, side.neighbours)
    found = graph_kernels.biased_walks(
        side.starts, side.neighbours, ascending, first, steps, float(p), float(q), start(seed)
    )
    return tensor(found)
