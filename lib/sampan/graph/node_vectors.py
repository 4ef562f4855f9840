"""A vector for each node, learned from random walks: DeepWalk, node2vec and metapath2vec.

Walks are sentences and nodes are their words: skip-gram with negative sampling, by the loops of
`kernels/cpu_embedding_words.py`, which also train `text.word_vectors.WordVectors`.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..kernels import cpu_embedding_words as loops
from .drawing import child, host, start, whole
from .graph import Graph
from .hetero import HeteroGraph
from .walks import meta_path_walks, node2vec_walks, random_walks

__all__ = ["DeepWalk", "MetaPath2Vec", "Node2Vec", "WalkProgress"]

MOMENT = 0.2  # seconds of training between two reports
AT_ONCE = 1 << 16  # walkers whose walks are in memory
NEGATIVE_POWER = 0.75  # negatives are drawn by visits ** 0.75 (Mikolov et al. 2013, section 2.2)
Walks = tuple[np.ndarray, np.ndarray]  # the rows of all nodes of some walks, and where each walk begins


@dataclass(frozen=True)
class WalkProgress:
    """How far training is: `done` 0 to 1; `steps`, nodes of walks trained on since it began; the mean loss of
    a (node, neighbour) pair since the last report, which begins at (1 + negative) ln 2."""

    done: float
    steps: int
    steps_per_second: float
    loss: float


class _Passes:
    """All walks of a training: passes of one walk from each start, in parts of AT_ONCE walkers."""

    def __init__(self, model: "_WalkVectors", graph: Any, base: int) -> None:
        self.model, self.graph, self.base = model, graph, base
        self.starts = model._starts(graph)
        if not sum(len(nodes) for nodes in self.starts):
            raise ValueError(f"{model._name}: expected a graph with nodes to start from, got none")

    def walks(self, number: int) -> Iterator[tuple[Walks, int]]:
        """Of one pass the walks of each part, and a seed for their training."""
        for place, nodes in enumerate(self.starts):
            seed = child(child(self.base, number), place)
            order = np.random.default_rng(seed).permutation(nodes)
            for first in range(0, len(order), AT_ONCE):
                own = child(seed, first)
                rows = self.model._rows(self.graph, place, order[first : first + AT_ONCE], child(own, 0))
                kept = rows >= 0
                starts = np.append(0, np.cumsum(kept.sum(1)))
                yield (rows[kept].astype(np.int32), starts), child(own, 1)

    def visits(self, rows: int) -> np.ndarray:
        """How often the first pass comes to each row."""
        counts = np.zeros(rows, np.int64)
        for (words, _), _ in self.walks(0):
            counts += np.bincount(words, minlength=rows)
        return counts


class _WalkVectors:
    """What the three share; see DeepWalk."""

    def __init__(
        self,
        dim: int = 128,
        walk_length: int = 40,
        walks_per_node: int = 10,
        window: int = 5,
        negative: int = 5,
        learning_rate: float = 0.025,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        name = self._name = type(self).__name__
        given = {"dim": dim, "walks_per_node": walks_per_node, "window": window, "negative": negative}
        given |= {"threads": 1 if threads is None else threads}
        for what, value in given.items():
            whole(value, 1, f"{name}: {what}: expected a whole number of at least 1")
        whole(walk_length, 2, f"{name}: walk_length: expected a whole number of at least 2")
        if not (math.isfinite(learning_rate) and learning_rate > 0):
            raise ValueError(f"{name}: learning_rate: expected a number above 0, got {learning_rate}")
        self.dim, self.walk_length, self.walks_per_node = dim, walk_length, walks_per_node
        self.window, self.negative, self.learning_rate = window, negative, learning_rate
        self.seed, self.threads = seed, given["threads"]
        self.losses: list[float] = []  # of each report of the last training
        self._begun = 0  # trainings begun: each has its own random stream
        self._inputs = self._outputs = np.empty((0, 0), np.float32)  # wider than dim: columns of zeros

    def fit(self, graph: Any) -> Self:
        """Train to the end."""
        for _ in self.train(graph):
            pass
        return self

    def train(self, graph: Any) -> Iterator[WalkProgress]:
        """Train, and yield progress several times a second; stopping the iteration keeps the vectors so far.

        A later call trains them further, on a graph with as many nodes. Raises TypeError for another graph
        and ValueError for one without nodes or with another number of them.
        """
        passes = _Passes(self, graph, child(start(self.seed), self._begun))
        rows = self._count(graph)
        if not self._begun:
            self._inputs, self._outputs = loops.blank_rows(rows, self.dim), loops.blank_rows(rows, self.dim)
            random = np.random.default_rng(child(passes.base, 1 << 41)).random((rows, self.dim), np.float32)
            self._inputs[:, : self.dim] = (2 * random - 1) / self.dim
        elif len(self._inputs) != rows:
            raise ValueError(
                f"{self._name}: expected a graph with {len(self._inputs)} nodes, as before, got {rows}"
            )
        self._begun += 1
        self.losses = []
        return self._trained(passes, rows)

    def _trained(self, passes: _Passes, rows: int) -> Iterator[WalkProgress]:
        visits = passes.visits(rows)
        each, passed = int(visits.sum()), 0
        alias = loops.alias_table(visits.astype(np.float64) ** NEGATIVE_POWER)
        groups = np.empty(0, np.int64), np.empty(0, np.int32)
        arrays = np.full(rows, 1 << 32, np.uint64), alias, groups, self._inputs, self._outputs
        settings: dict[str, Any] = dict(window=self.window, negative=self.negative, threads=self.threads)
        settings |= dict(rate=self.learning_rate, total=each * self.walks_per_node)
        loss, rate = (1 + self.negative) * math.log(2), 50_000.0
        for number in range(self.walks_per_node):
            for (words, starts), seed in passes.walks(number):
                first, walks = 0, len(starts) - 1
                while first < walks:
                    goal = starts[first] + max(rate * MOMENT, 1)
                    last = min(max(int(np.searchsorted(starts, goal)), first + 1), walks)
                    began = time.perf_counter()
                    total, pairs = loops.skip_gram(
                        words, starts, first, last, *arrays, before=passed, seed=seed, **settings
                    )
                    seconds = max(time.perf_counter() - began, 1e-6)
                    rate = max(float(starts[last] - starts[first]), 1.0) / seconds
                    first, loss = last, total / pairs if pairs else loss
                    self.losses.append(loss)
                    seen = passed + int(starts[last])
                    yield WalkProgress(min(seen / settings["total"], 1.0), seen, rate, loss)
                passed += len(words)

    # --- what differs ---------------------------------------------------------------------------------------

    def _count(self, graph: Any) -> int:
        """How many rows the table has."""
        raise NotImplementedError

    def _starts(self, graph: Any) -> list[np.ndarray]:
        """The nodes that walks begin at: one list for each kind of walk."""
        raise NotImplementedError

    def _rows(self, graph: Any, place: int, nodes: np.ndarray, seed: int) -> np.ndarray:
        """int64 [walkers, walk_length] of rows of the table, -1 where a walk has ended."""
        raise NotImplementedError

    # --- what was learned -----------------------------------------------------------------------------------

    def _table(self) -> np.ndarray:
        if not self._begun:
            raise ValueError(f"{self._name}: expected `fit` or `train` before the vectors are used")
        return self._inputs[:, : self.dim]


def _nearest(table: np.ndarray, number: int, most: int, what: str) -> list[tuple[int, float]]:
    whole(most, 1, f"{what}: most: expected a whole number of at least 1")
    if not 0 <= whole(number, 0, f"{what}: node: expected an id of at least 0") < len(table):
        raise ValueError(f"{what}: node: expected an id below {len(table)}, got {number}")
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    scores = unit @ unit[number]
    scores[number] = -np.inf
    best = np.argsort(-scores, kind="stable")[: min(most, len(scores) - 1)]
    return [(int(node), float(scores[node])) for node in best]


class DeepWalk(_WalkVectors):
    """Vectors [nodes, dim] of the nodes of a Graph, float32, learned from random walks along its edges.

    From each node `walks_per_node` walks of `walk_length` nodes begin; edges are followed from source to
    target, so an undirected graph has both. A node's neighbours are at most 1 to `window` places away on the
    walk, drawn anew each time; `negative` nodes are drawn for each, by (visits of the first pass) ** 0.75.
    learning_rate: falls to 1e-4 of itself. threads: None or 1 gives the same vectors for the same graph and
    seed; more are faster, and give slightly other ones each time (Hogwild).
    Raises ValueError and TypeError, which name the argument.
    Source: Perozzi, Al-Rfou and Skiena, DeepWalk: Online Learning of Social Representations, 2014, with
    negative sampling in the place of the hierarchical softmax.

    >>> ring = paddle.graph.Graph([(a, (a + 1) % 8) for a in range(8)]).to_undirected()
    >>> model = paddle.graph.DeepWalk(dim=4, walk_length=10).fit(ring)
    >>> model.vectors.shape
    (8, 4)
    """

    @property
    def vectors(self) -> np.ndarray:
        """A copy, float32 [nodes, dim]. Raises ValueError before training."""
        return self._table().copy()

    def similar(self, node: int, most: int = 10) -> list[tuple[int, float]]:
        """The nodes whose vectors have the largest cosine with that of `node`, best first, without it."""
        return _nearest(self._table(), node, most, f"{self._name}.similar")

    def _count(self, graph: Any) -> int:
        return int(graph.num_nodes)

    def _starts(self, graph: Any) -> list[np.ndarray]:
        if not isinstance(graph, Graph):
            raise TypeError(f"{self._name}: expected a Graph for graph, got {type(graph).__name__}")
        return [np.arange(graph.num_nodes)]

    def _rows(self, graph: Any, place: int, nodes: np.ndarray, seed: int) -> np.ndarray:
        return host(random_walks(graph, nodes, self.walk_length - 1, seed))


class Node2Vec(DeepWalk):
    """As DeepWalk, with walks that remember where they come from: small p keeps them near, small q leads them
    away; see `node2vec_walks`.

    Source: Grover and Leskovec, node2vec: Scalable Feature Learning for Networks, 2016.
    """

    def __init__(self, dim: int = 128, *args: Any, p: float = 1.0, q: float = 1.0, **settings: Any) -> None:
        super().__init__(dim, *args, **settings)
        for what, value in (("p", p), ("q", q)):
            if not 0 < float(value) < math.inf:
                raise ValueError(f"Node2Vec: expected a finite number above 0 for {what}, got {value}")
        self.p, self.q = p, q

    def _rows(self, graph: Any, place: int, nodes: np.ndarray, seed: int) -> np.ndarray:
        return host(node2vec_walks(graph, nodes, self.walk_length - 1, self.p, self.q, seed))


class MetaPath2Vec(_WalkVectors):
    """Vectors of the nodes of a HeteroGraph, learned from walks along meta-paths.

    paths: one meta-path or several, as in `HeteroGraph.meta_paths`; None takes those of the graph. One that
    ends at the type where it begins is walked again and again; another one once. From each node of a path's
    first type `walks_per_node` walks begin. Negatives are drawn among all types, as in metapath2vec, not as
    in metapath2vec++. The other arguments are those of DeepWalk.
    Source: Dong, Chawla and Swami, metapath2vec: Scalable Representation Learning for Heterogeneous Networks,
    2017.
    """

    def __init__(
        self,
        paths: Sequence[Any] | None = None,
        dim: int = 128,
        walk_length: int = 40,
        walks_per_node: int = 10,
        window: int = 5,
        negative: int = 5,
        learning_rate: float = 0.025,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        super().__init__(dim, walk_length, walks_per_node, window, negative, learning_rate, seed, threads)
        one = paths is not None and len(paths) > 0 and isinstance(paths[0], str)
        self.paths = None if paths is None else [list(path) for path in ([paths] if one else paths)]
        self._first: dict[str, tuple[int, int]] = {}  # node type -> its first row, and how many it has

    def vectors(self, node_type: str) -> np.ndarray:
        """A copy of those of one type, float32 [nodes, dim]. Raises ValueError before training, and for a
        type that is not of the graph."""
        return self._of(node_type, "vectors").copy()

    def similar(self, node_type: str, node: int, most: int = 10) -> list[tuple[int, float]]:
        """The nodes of the same type whose vectors have the largest cosine with that of `node`, best
        first."""
        return _nearest(self._of(node_type, "similar"), node, most, "MetaPath2Vec.similar")

    def _of(self, node_type: str, what: str) -> np.ndarray:
        table = self._table()
        if node_type not in self._first:
            raise ValueError(
                f"MetaPath2Vec.{what}: expected a node type, one of {list(self._first)}, got {node_type!r}"
            )
        first, count = self._first[node_type]
        return table[first : first + count]

    def _count(self, graph: Any) -> int:
        return int(graph.num_nodes)

    def _walked(self, graph: Any) -> list[list[str]]:
        return graph.meta_paths if self.paths is None else self.paths

    def _starts(self, graph: Any) -> list[np.ndarray]:
        if not isinstance(graph, HeteroGraph):
            raise TypeError(f"MetaPath2Vec: expected a HeteroGraph for graph, got {type(graph).__name__}")
        if not self._walked(graph):
            raise ValueError("MetaPath2Vec: paths: expected a meta-path, here or of the graph, got none")
        ends = np.cumsum([0, *graph.node_types.values()]).tolist()
        self._first = dict(
            zip(graph.node_types, zip(ends, graph.node_types.values(), strict=False), strict=True)
        )
        return [np.arange(graph.node_types[graph.steps(path)[0].source]) for path in self._walked(graph)]

    def _rows(self, graph: Any, place: int, nodes: np.ndarray, seed: int) -> np.ndarray:
        path = self._walked(graph)[place]
        steps = graph.steps(path)
        length = self.walk_length - 1
        if steps[0].source != steps[-1].target:
            length = min(length, len(steps))
        kinds = [steps[at % len(steps)].source for at in range(length)]
        kinds.append(steps[(length - 1) % len(steps)].target)
        found = host(meta_path_walks(graph, path, nodes, length, seed))
        first = np.array([self._first[kind][0] for kind in kinds])
        return np.where(found >= 0, found + first, -1)
