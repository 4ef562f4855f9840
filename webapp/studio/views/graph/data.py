"""The graphs of the page "Graph": bundled, real where they are on this machine, and the visitor's own. Independent of
widgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

KARATE, NOVEL, MADE = "karate", "les_miserables", "made"
BUNDLED = (KARATE, NOVEL, MADE)
CITATIONS, RATINGS, TYPED = ("cora", "citeseer"), "bitcoin_otc", "dblp_four_area"
MADE_TYPED = "made_typed"
MOST_DRAWN = 20_000  # edges: more are hard to distinguish, and slow the drawing down
_NODES, _EDGES, _BLOCKS, _WORDS = 4_000, 20_000, 5, 40  # of the generated graph
_SAME = 0.85  # share of its edges that stay within a block

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """A graph to be shown. groups: of each node, -1 where it has none; empty without groups. train, test: the nodes
    whose groups are learned from and asked for; empty where nothing can be learned."""

    name: str
    graph: Any
    names: list[str]
    groups: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    train: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    test: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    features: NDArray[np.float32] | None = None

    @property
    def learnable(self) -> bool:
        return len(self.train) > 0

    def drawn(self) -> tuple[NDArray[np.uint32], int]:
        """(ends [edges, 2], how many there are): each pair of neighbours once, a sample of `MOST_DRAWN` of more."""
        sources, targets = np.asarray(self.graph.sources, np.int64), np.asarray(self.graph.targets, np.int64)
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        keys = np.unique((low * self.graph.num_nodes + high)[low != high])
        count = len(keys)
        if count > MOST_DRAWN:
            keys = np.sort(np.random.default_rng(0).choice(keys, MOST_DRAWN, replace=False))
        pairs = np.stack(np.divmod(keys, max(self.graph.num_nodes, 1)), 1)
        return pairs.astype(np.uint32), count


def available() -> list[str]:
    """The graphs on this machine, bundled ones first."""
    return [*BUNDLED, *_here(*CITATIONS, RATINGS, TYPED)]


def learnable() -> list[str]:
    """Those whose nodes have classes to be learned, real ones first."""
    return [*_here(*CITATIONS), KARATE, MADE]


def typed_available() -> list[str]:
    """Graphs with types on this machine, real ones first."""
    return [*_here(TYPED), MADE_TYPED]


def _here(*names: str) -> list[str]:
    from sampan import datasets

    there = set(datasets.available())
    return [name for name in names if name in there]


@lru_cache(3)
def load(name: str) -> Shown:
    """A graph by name. KeyError for an unknown one, FileNotFoundError if its files are missing."""
    if name == KARATE:
        return _karate()
    if name == NOVEL:
        return _novel()
    if name == MADE:
        return _made()
    if name not in (*CITATIONS, RATINGS, TYPED):
        raise KeyError(f"no graph {name}")
    from sampan.datasets.graphs import load_graph

    found = load_graph(name)
    if name == TYPED:
        return _coauthors(found)
    if name == RATINGS:
        return Shown(name, found.graph, [f"#{label}" for label in found.names[""]])
    names = [f"#{number}" for number in range(found.graph.num_nodes)]
    features = np.asarray(found.graph.node_feat["x"], np.float32)
    return Shown(name, found.graph, names, found.labels, found.train, found.test, features)


def _karate() -> Shown:
    """Zachary's club; one known member of each side, as in Kipf and Welling (2017)."""
    import networkx

    from sampan.graph import Graph

    club = networkx.karate_club_graph()
    edges = np.array(club.edges, np.int64)
    groups = np.array([int(club.nodes[node]["club"] != "Mr. Hi") for node in club])
    known = np.array([0, len(club) - 1])
    graph = Graph(np.concatenate([edges, edges[:, ::-1]]), len(club))
    rest = np.setdiff1d(np.arange(len(club)), known)
    features = np.eye(len(club), dtype=np.float32)
    return Shown(KARATE, graph, [str(node + 1) for node in club], groups, known, rest, features)


def _novel() -> Shown:
    import networkx

    from sampan.graph import Graph

    novel = networkx.les_miserables_graph()
    place = {name: number for number, name in enumerate(novel)}
    edges = np.array([(place[a], place[b]) for a, b in novel.edges], np.int64)
    return Shown(NOVEL, Graph(np.concatenate([edges, edges[:, ::-1]]), len(place)), list(place))


def _made() -> Shown:
    """Nodes in blocks: most edges stay within a block, and features are faint hints of it."""
    from sampan.graph import Graph

    rng = np.random.default_rng(0)
    groups = rng.integers(0, _BLOCKS, _NODES)
    popular = rng.pareto(2.5, _NODES) + 0.3  # a few nodes have many edges
    members = [np.flatnonzero(groups == block) for block in range(_BLOCKS)]
    sources = rng.choice(_NODES, 2 * _EDGES, p=popular / popular.sum())
    targets = rng.choice(_NODES, 2 * _EDGES, p=popular / popular.sum())
    for block, own in enumerate(members):
        at = np.flatnonzero((groups[sources] == block) & (rng.random(2 * _EDGES) < _SAME))
        targets[at] = rng.choice(own, len(at), p=popular[own] / popular[own].sum())
    keys = np.minimum(sources, targets) * _NODES + np.maximum(sources, targets)
    keys = rng.permutation(np.unique(keys[sources != targets]))[:_EDGES]
    edges = np.stack(np.divmod(keys, _NODES), 1)
    features = rng.standard_normal((_NODES, _WORDS)).astype(np.float32)
    features[:, :_BLOCKS] += 0.7 * np.eye(_BLOCKS, dtype=np.float32)[groups]
    order = rng.permutation(_NODES)
    graph = Graph(np.concatenate([edges, edges[:, ::-1]]), _NODES)
    names = [f"#{number}" for number in range(_NODES)]
    return Shown(MADE, graph, names, groups, np.sort(order[:100]), np.sort(order[100:1100]), features)


def _coauthors(found: Any) -> Shown:
    """Authors of DBLP, joined by the papers that they wrote together."""
    graph = found.graph.path_graph(["author", "paper", "author"]).remove_self_loops()
    return Shown(TYPED, graph, found.names["author"], found.labels)


# --- graphs with types --------------------------------------------------------------------------------------


@lru_cache(1)
def typed(name: str) -> tuple[Any, dict[str, list[str]]]:
    """(HeteroGraph, names of its nodes by type). KeyError for an unknown name."""
    if name == TYPED:
        from sampan.datasets.graphs import load_graph

        found = load_graph(name)
        return found.graph, found.names
    if name != MADE_TYPED:
        raise KeyError(f"no graph with types {name}")
    return _made_typed()


def _made_typed(authors: int = 300, papers: int = 900, venues: int = 12) -> tuple[Any, dict[str, list[str]]]:
    """Papers of a few authors each at venues; an author prefers two venues."""
    from sampan.graph import HeteroGraph

    rng = np.random.default_rng(0)
    favourite = rng.integers(0, venues, (authors, 2))
    first = rng.integers(0, authors, papers)
    venue = favourite[first, rng.integers(0, 2, papers)]
    writers = [(int(author), paper) for paper, author in enumerate(first)]
    for paper in range(papers):
        near = np.flatnonzero((favourite == venue[paper]).any(1))
        writers += [(int(author), paper) for author in rng.choice(near, min(2, len(near)), replace=False)]
    cited = np.unique(rng.integers(0, papers, (2 * papers, 2)), axis=0)
    sizes = {"author": authors, "paper": papers, "venue": venues}
    edges = {
        ("author", "writes", "paper"): np.unique(np.array(writers), axis=0),
        ("paper", "published_in", "venue"): (np.arange(papers), venue),
        ("paper", "cites", "paper"): cited[cited[:, 0] > cited[:, 1]],
    }
    names = {kind: [f"{kind} {number + 1}" for number in range(count)] for kind, count in sizes.items()}
    return HeteroGraph(sizes, edges), names
