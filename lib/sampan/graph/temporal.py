"""Samples of a graph whose edges have times: never from the future."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from .adjacency import Adjacency, ids
from .drawing import child, draw, moments, start
from .hetero import EdgeType
from .k_hop import Found, Sample, Sides, edges_of, sides, spanned, tensor


class _Dated:
    """The edges of one type by target, with the times of each row ascending; edges of one time keep their
    order."""

    def __init__(self, side: Adjacency, times: np.ndarray) -> None:
        at = times[side.edges]
        rows = side.rows
        if ((at[1:] < at[:-1]) & (rows[1:] == rows[:-1])).any():
            order = np.lexsort((at, rows))
            side = Adjacency(side.starts, side.neighbours[order], side.edges[order], side.width)
            at = at[order]
        self.side, self.times = side, at

    def moment(self, times: np.ndarray) -> np.ndarray:
        """Times of seeds, to be compared with those of edges: of whole times t < 2.5 is t < 3."""
        if self.times.dtype == np.int64 and times.dtype == np.float64:
            return np.ceil(np.clip(times, -(2.0**62), 2.0**62)).astype(np.int64)
        return times.astype(self.times.dtype)


class Timeline:
    """A graph with a time for each edge, from which samples take the past of each seed.

    graph: a Graph, a HeteroGraph, or an Adjacency by targets. times: [edges], whole numbers or floating
    ones, as edges are numbered; of a HeteroGraph a dictionary by edge type. Sorted once; graph and times are
    copied where they have to be, so the caller may overwrite his. Raises ValueError for another length or
    times that are not finite.

    >>> g = paddle.graph.Graph([(1, 0), (2, 0), (3, 0)], num_nodes=4)
    >>> past = paddle.graph.Timeline(g, [10, 20, 30])
    >>> past.sample([0], [25], [1]).nodes.tolist()
    [0, 2]
    """

    def __init__(self, graph: Any, times: Any) -> None:
        whole_graph = sides(graph, "Timeline")
        given = whole_graph.by_kind(times, "Timeline", "times")
        self._dated: dict[EdgeType, _Dated] = {}
        for kind, side in whole_graph.adjacencies.items():
            at = moments(given.get(kind, ()), "Timeline: times")
            if at.size != side.num_edges:
                raise ValueError(
                    f"Timeline: times: expected one for each of {side.num_edges} edges, got {at.size}"
                )
            self._dated[kind] = _Dated(side, at)
        dated = {kind: value.side for kind, value in self._dated.items()}
        self._graph = Sides(dated, whole_graph.counts, whole_graph.typed)

    def sample(
        self,
        seeds: Any,
        times: Any,
        sizes: Sequence[Any],
        window: float | None = None,
        pick: str = "last",
        until: str = "seed",
        seed: int | None = None,
    ) -> Sample:
        """For each seed a tree of edges that lie before its time, hop after hop.

        seeds: ids; times: one for each, or one for all; both dictionaries by node type for a HeteroGraph. An
        edge counts if its time is less than the seed's, never equal, and with `window` not less than the
        seed's time minus it. sizes: as in `k_hop`. pick: "last" takes the latest edges, "uniform" draws
        among all that count.
        until: the edges of a later hop lie before the seed's time ("seed") or before the edge that led there
        ("edge"). Trees of different seeds share no node: a node that is found twice comes twice.
        The sample has, beside the parts of a `Sample`, times: of each node the time of the edge that led
        there, of a seed its own; trees: the position of its seed. Of a HeteroGraph `trees` counts seeds type
        after type.
        """
        what = "Timeline.sample"
        if pick not in ("last", "uniform") or until not in ("seed", "edge"):
            raise ValueError(
                f"{what}: expected 'last' or 'uniform' for pick and 'seed' or 'edge' for until, "
                f"got {pick!r} and {until!r}"
            )
        if window is not None and not window >= 0:
            raise ValueError(f"{what}: expected a window of at least 0, got {window}")
        growth = _Trees(self._graph, seeds, times, what)
        base = start(seed)
        for hop, chosen in enumerate(self._graph.sizes(sizes, what)):
            growth.grow(self._dated, chosen, window, pick, until, child(base, hop))
        return growth.sample()

    def induced(self, nodes: Any, before: float, window: float | None = None) -> Sample:
        """The nodes and all edges between them whose time is less than `before`, and with `window` not less
        than `before` minus it: see `induced`."""
        times = {kind: dated.times for kind, dated in self._dated.items()}

        def kept(kind: EdgeType, places: np.ndarray) -> np.ndarray:
            at = times[kind][places]
            keep: np.ndarray = (at < before) & (at >= (-np.inf if window is None else before - window))
            return keep

        return spanned(self._graph, nodes, "Timeline.induced", kept)


def _earlier(times: np.ndarray, window: float) -> np.ndarray:
    """Times minus a window; whole numbers do not overflow."""
    if times.dtype == np.int64 and isinstance(window, int):
        return np.maximum(times, np.iinfo(np.int64).min + window) - window
    return times - window


class _Level:
    """The nodes of one type that one hop found, and what is known of each."""

    def __init__(self, first: int, nodes: np.ndarray, times: np.ndarray, ends: np.ndarray, trees: np.ndarray):
        self.first, self.nodes, self.times, self.ends, self.trees = first, nodes, times, ends, trees


class _Trees:
    """What a temporal sample has found so far."""

    def __init__(self, graph: Sides, seeds: Any, times: Any, what: str) -> None:
        self.graph = graph
        given, before = graph.by_type(times, what, "times"), 0
        self.levels: dict[str, list[list[_Level]]] = {kind: [[]] for kind in graph.counts}
        self.found = {kind: Found() for kind in graph.adjacencies}
        self.counts = dict.fromkeys(graph.counts, 0)
        for kind, value in graph.by_type(seeds, what, "seeds").items():
            nodes = ids(value, graph.counts[kind], f"{what}: seeds").reshape(-1).astype(np.int64)
            at = moments(given.get(kind, ()), f"{what}: times")
            if at.size not in (1, nodes.size):
                raise ValueError(
                    f"{what}: times: expected one, or one for each of {nodes.size} seeds, got {at.size}"
                )
            at = np.broadcast_to(at, nodes.shape)
            self._add(kind, nodes, at, at, np.arange(before, before + nodes.size))
            before += nodes.size

    def _add(
        self, kind: str, nodes: np.ndarray, times: np.ndarray, ends: np.ndarray, trees: np.ndarray
    ) -> np.ndarray:
        """The positions of new nodes. ends: before which time edges into them count."""
        first = self.counts[kind]
        self.levels[kind][-1].append(_Level(first, nodes, times, ends, trees))
        self.counts[kind] = first + nodes.size
        return np.arange(first, first + nodes.size)

    def grow(
        self,
        dated: dict[EdgeType, _Dated],
        sizes: dict[EdgeType, int],
        window: Any,
        pick: str,
        until: str,
        seed: int,
    ) -> None:
        """One hop."""
        for hops in self.levels.values():
            hops.append([])
        for place, kind in enumerate(self.graph.adjacencies):
            found, size = dated[kind], sizes.get(kind, 0)
            parts: list[tuple[np.ndarray, ...]] = [(np.empty(0, np.int64),) * 3]
            for number, level in enumerate(self.levels[kind[2]][-2]):
                begins, degrees = self._rows(found, level, window)
                if pick == "last" and size >= 0:
                    kept = np.minimum(degrees, size)
                    begins, degrees = begins + degrees - kept, kept
                own = child(child(seed, place), number)
                places, values, targets, _ = draw(
                    (begins, degrees), size, found.side.neighbours, None, False, own, 0, np.int64, ""
                )
                times, ends = found.times[places], level.ends[targets]
                if until == "edge":
                    ends = times
                nodes = values.astype(np.int64)
                sources = self._add(kind[0], nodes, times, ends, level.trees[targets])
                parts.append((sources, targets + level.first, places))
            self.found[kind].add(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _rows(self, dated: _Dated, level: _Level, window: Any) -> tuple[np.ndarray, np.ndarray]:
        before = dated.moment(level.ends)
        if window is not None and window < 2**63:
            after = dated.moment(_earlier(level.ends, window))
        elif dated.times.dtype == np.int64:
            after = np.full(before.size, np.iinfo(np.int64).min)
        else:
            after = np.full(before.size, -np.inf)
        found: tuple[np.ndarray, np.ndarray] = graph_kernels.rows_between(
            dated.side.starts, dated.times, level.nodes, after, before
        )
        return found

    def _joined(self, kind: str, name: str) -> np.ndarray:
        parts = [getattr(level, name) for hop in self.levels[kind] for level in hop]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def sample(self) -> Sample:
        graph, found = self.graph, self.found
        seeds = {kind: sum(level.nodes.size for level in hops[0]) for kind, hops in self.levels.items()}
        return Sample(
            graph.typed,
            nodes={kind: tensor(self._joined(kind, "nodes")) for kind in graph.counts},
            times={kind: Tensor(torch.from_numpy(self._joined(kind, "times"))) for kind in graph.counts},
            trees={kind: tensor(self._joined(kind, "trees")) for kind in graph.counts},
            sources={kind: tensor(f.part(0)) for kind, f in found.items()},
            targets={kind: tensor(f.part(1)) for kind, f in found.items()},
            edges={kind: edges_of(graph.adjacencies[kind], f.part(2)) for kind, f in found.items()},
            seeds={kind: tensor(np.arange(count)) for kind, count in seeds.items()},
            node_counts={
                kind: [sum(level.nodes.size for level in hop) for hop in hops]
                for kind, hops in self.levels.items()
            },
            edge_counts={kind: f.counts for kind, f in found.items()},
        )
