"""Graphs with types of nodes and edges, and the meta-paths through them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..engine.tensor import Tensor
from .adjacency import MOST, Adjacency, ids
from .graph import Features, Graph, edge_ends, features_of
from .messages import receive
from .meta_path import PathCounts, counts
from .routes import Routes

EdgeType = tuple[str, str, str]  # (source, relation, target)


class Relation:
    """The edges of one type: sources and targets count within their own node types.

    sources, targets: int32 [edges]; edge_feat: name -> array or Tensor [edges, ...].
    """

    def __init__(
        self, kind: EdgeType, edges: Any, sizes: tuple[int, int], edge_feat: Mapping[str, Any] | None
    ) -> None:
        what = f"HeteroGraph: edge_types: {kind}"
        ends = edge_ends(edges, what)
        if len(ends[0]) != len(ends[1]) or len(ends[0]) > MOST:
            raise ValueError(
                f"{what}: expected as many sources as targets, at most {MOST}, got {len(ends[0])} and "
                f"{len(ends[1])}"
            )
        self.kind, self.sizes = kind, sizes
        self.sources = ids(ends[0], sizes[0], f"{what}: sources ({kind[0]})")
        self.targets = ids(ends[1], sizes[1], f"{what}: targets ({kind[2]})")
        self.edge_feat: Features = features_of(edge_feat, self.num_edges, f"HeteroGraph: edge_feat: {kind}")

    @property
    def num_edges(self) -> int:
        return len(self.sources)

    @cached_property
    def routes(self) -> Routes:
        """The edges as the functions of `graph.messages` take them."""
        return Routes(self.sources, self.targets, *self.sizes)

    @property
    def by_source(self) -> Adjacency:
        """Where the edges of each source lead (CSR)."""
        return self.routes.turned.by_target

    @property
    def by_target(self) -> Adjacency:
        """Where the edges into each target come from (CSC)."""
        return self.routes.by_target

    def send_recv(self, feature: Tensor, reduce_func: str = "sum") -> Tensor:
        """The sum, mean, max or min of what each target receives, 0 without any.

        feature: [nodes of the source type, ...]; returns [nodes of the target type, ...].
        """
        return receive(feature, self, reduce_func)


class Step(NamedTuple):
    """One step of a meta-path: along a relation, or against it (`inverse`)."""

    source: str
    relation: str
    target: str
    kind: EdgeType  # the declared type
    inverse: bool


class HeteroGraph:
    """Nodes and edges of several types.

    node_types: type -> how many nodes. edge_types: (source type, relation, target type) -> edges, as pairs,
    an array or Tensor [edges, 2], or a tuple of two arrays. meta_paths: lists that alternate node types and
    relations, or that name node types only where one relation joins each two. node_feat: type -> name ->
    array; edge_feat: (source, relation, target) -> name -> array.

    A step of a meta-path whose relation is not declared walks a declared one backwards: the one that
    `inverse` names ({"written_by": "writes"}), or else the only one between these two types in the other
    direction. Raises ValueError for an unknown type, an id out of range, a path that cannot be walked, and
    an inverse that is not unique.

    >>> g = paddle.graph.HeteroGraph(
    ...     node_types={"Author": 2, "Paper": 3},
    ...     edge_types={("Author", "writes", "Paper"): [(0, 0), (0, 1), (1, 1)]},
    ...     meta_paths=[["Author", "writes", "Paper", "written_by", "Author"]],
    ... )
    >>> g.path_counts(g.meta_paths[0]).to_dense().tolist()
    [[2, 1], [1, 1]]
    """

    def __init__(
        self,
        node_types: Mapping[str, int],
        edge_types: Mapping[EdgeType, Any],
        meta_paths: Iterable[Sequence[str]] | None = None,
        inverse: Mapping[str, str] | None = None,
        node_feat: Mapping[str, Mapping[str, Any]] | None = None,
        edge_feat: Mapping[EdgeType, Mapping[str, Any]] | None = None,
    ) -> None:
        for what, given in (("node_types", node_types), ("edge_types", edge_types)):
            if not isinstance(given, Mapping):
                raise TypeError(f"HeteroGraph: {what}: expected a dictionary, got {type(given).__name__}")
        self.node_types = {kind: self._count(kind, count) for kind, count in node_types.items()}
        self.relations: dict[EdgeType, Relation] = {}
        for kind, edges in edge_types.items():
            source, _, target = self._edge_type(kind)
            sizes = self.node_types[source], self.node_types[target]
            self.relations[kind] = Relation(kind, edges, sizes, (edge_feat or {}).get(kind))
        self.node_feat = {
            self._known(kind, "node_feat"): features_of(
                values, self.node_types[kind], f"HeteroGraph: node_feat: {kind}"
            )
            for kind, values in (node_feat or {}).items()
        }
        unknown = [kind for kind in edge_feat or {} if kind not in self.relations]
        if unknown:
            raise ValueError(f"HeteroGraph: edge_feat: expected edge types of this graph, got {unknown[0]}")
        self.inverse = dict(inverse or {})
        names = {kind[1] for kind in self.relations}
        for name, declared in self.inverse.items():
            if declared not in names or name in names:
                raise ValueError(
                    "HeteroGraph: inverse: expected a new name and the declared relation that it walks "
                    f"backwards, one of {sorted(names)}, got {name!r}: {declared!r}"
                )
        paths = list(meta_paths or ())
        if any(isinstance(path, str) for path in (meta_paths, *paths)):
            raise TypeError(
                f"HeteroGraph: meta_paths: expected a list of paths, each a list of names, got {meta_paths!r}"
            )
        self.meta_paths = [list(path) for path in paths]
        for path in self.meta_paths:
            self.steps(path)  # a path that cannot be walked fails here

    def __repr__(self) -> str:
        edges = ", ".join(f"{kind}: {relation.num_edges}" for kind, relation in self.relations.items())
        return f"HeteroGraph(node_types={self.node_types}, edge_types={{{edges}}})"

    def __getitem__(self, kind: str | EdgeType) -> Relation:
        """The edges of a type, named in full or by a relation that has one type only."""
        if isinstance(kind, str):
            found = [declared for declared in self.relations if declared[1] == kind]
            if len(found) != 1:
                raise KeyError(f"expected a relation of one edge type, got {kind!r}, which names {found}")
            kind = found[0]
        if kind not in self.relations:
            raise KeyError(f"expected an edge type of {list(self.relations)}, got {kind!r}")
        return self.relations[kind]

    @property
    def num_nodes(self) -> int:
        return sum(self.node_types.values())

    @property
    def num_edges(self) -> int:
        return sum(relation.num_edges for relation in self.relations.values())

    # Meta-paths

    def steps(self, path: Sequence[str]) -> list[Step]:
        """The declared relation behind each step of a meta-path."""
        path = list(path)
        if len(path) >= 2 and all(name in self.node_types for name in path):
            return [self._step(a, None, b) for a, b in pairwise(path)]
        if len(path) < 3 or len(path) % 2 == 0:
            raise ValueError(
                "HeteroGraph: meta_paths: expected node types and relations in turn, from a node type to a "
                f"node type, got {path}"
            )
        return [self._step(*path[at : at + 3]) for at in range(0, len(path) - 2, 2)]

    def _step(self, source: str, relation: str | None, target: str) -> Step:
        for node_type in (source, target):
            self._known(node_type, "meta_paths")
        wanted = (source, self.inverse.get(relation or "", relation), target)
        backwards = relation in self.inverse
        names = {kind[1] for kind in self.relations}
        found = []
        for kind in self.relations:
            along = kind[0] == source and kind[2] == target
            against = kind[0] == target and kind[2] == source
            named = kind[1] == wanted[1]
            if along and not backwards and (named or relation is None):
                found.append((kind, False))
            elif against and (named if backwards else relation is None or relation not in names):
                found.append((kind, True))
        if len(found) != 1:
            raise ValueError(
                f"HeteroGraph: meta_paths: expected one edge type for the step {source} -> {relation or '?'} "
                f"-> {target}, got {[kind for kind, _ in found]} of {list(self.relations)}; "
                "`inverse` names the relation that a step walks backwards"
            )
        (kind, inverse), *_ = found
        return Step(source, relation or kind[1], target, kind, inverse)

    def along(self, step: Step) -> Adjacency:
        """Where a step leads from each node of its source type."""
        relation = self.relations[step.kind]
        return relation.by_target if step.inverse else relation.by_source

    def path_counts(self, path: Sequence[str]) -> PathCounts:
        """How many instances of a meta-path lead from each node of its first type to each of its last."""
        return counts([self.along(step) for step in self.steps(path)])

    def path_graph(self, path: Sequence[str]) -> Graph:
        """The nodes of the first type, with an edge to each node that an instance of the meta-path reaches
        and the edge feature "count". Raises ValueError for a path that ends at another type."""
        steps = self.steps(path)
        if steps[0].source != steps[-1].target:
            raise ValueError(
                f"path_graph: expected a path that ends where it begins, at {steps[0].source}, got one that "
                f"ends at {steps[-1].target}"
            )
        found = self.path_counts(path)
        features = self.node_feat.get(steps[0].source, {})
        ends = found.rows, found.neighbours
        return Graph(ends, self.node_types[steps[0].source], features, {"count": found.counts})

    @cached_property
    def path_graphs(self) -> list[Graph]:
        """`path_graph` of each of `meta_paths`, made once."""
        return [self.path_graph(path) for path in self.meta_paths]

    def to_homogeneous(self) -> Graph:
        """All nodes as one graph, type after type; the node and edge feature "type" is a place in
        `node_types` and in `relations`."""
        sizes = np.fromiter(self.node_types.values(), np.int64, len(self.node_types))
        first = dict(zip(self.node_types, np.append(0, np.cumsum(sizes))[:-1], strict=True))
        relations = list(self.relations.values())
        sources = [r.sources.astype(np.int64) + first[r.kind[0]] for r in relations]
        targets = [r.targets.astype(np.int64) + first[r.kind[2]] for r in relations]
        none = [np.empty(0, np.int64)]
        counted = [relation.num_edges for relation in relations]
        return Graph(
            (np.concatenate(sources or none), np.concatenate(targets or none)),
            self.num_nodes,
            {"type": np.repeat(np.arange(len(sizes)), sizes)},
            {"type": np.repeat(np.arange(len(counted)), counted)},
        )

    # Checks of the arguments

    def _count(self, kind: str, count: Any) -> int:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count <= MOST:
            raise ValueError(
                f"HeteroGraph: node_types: expected how many nodes there are of {kind!r}, from 0 to {MOST}, "
                f"got {count!r}"
            )
        return int(count)

    def _known(self, kind: str, what: str) -> str:
        if kind not in self.node_types:
            raise ValueError(
                f"HeteroGraph: {what}: expected a node type, one of {list(self.node_types)}, got {kind!r}"
            )
        return kind

    def _edge_type(self, kind: Any) -> EdgeType:
        if not isinstance(kind, tuple) or len(kind) != 3 or not all(isinstance(name, str) for name in kind):
            raise ValueError(
                f"HeteroGraph: edge_types: expected (source type, relation, target type), got {kind!r}"
            )
        source, relation, target = kind
        return self._known(source, "edge_types"), relation, self._known(target, "edge_types")
