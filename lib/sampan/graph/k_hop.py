"""Samples of the neighbourhood of some nodes, hop after hop, and the subgraph that some nodes span."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from .adjacency import Adjacency, ids
from .drawing import child, draw, start, weighed, whole
from .graph import Graph
from .hetero import EdgeType, HeteroGraph

ONLY: EdgeType = ("", "", "")  # the type of the edges of a graph without types


def tensor(array: np.ndarray) -> Tensor:
    """An int64 Tensor, on the CPU as the graph is."""
    return Tensor(torch.from_numpy(array.astype(np.int64, copy=False)))


class Sample:
    """The nodes and edges that a sampler found; of a HeteroGraph each is a dictionary, by node type or edge
    type.

    nodes: their ids, the seeds first. sources, targets: of each edge, as positions in `nodes`. edges: their
    numbers in the graph, looked up when first asked for. seeds: the position of each seed as it was given.
    node_counts, edge_counts: how many nodes (first of them the seeds) and edges each hop found. All int64, on
    the host: what a sampler is given on a GPU is copied there.
    """

    def __init__(self, typed: bool, **parts: Any) -> None:
        self._typed, self._parts = typed, parts

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("_parts", {})
        if name not in parts:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        found = {kind: value() if callable(value) else value for kind, value in parts[name].items()}
        value = self.__dict__[name] = found if self._typed else next(iter(found.values()))
        return value

    def within(self, hops: int) -> tuple[Graph, int]:
        """(graph, targets): the edges of the first `hops` hops over the nodes that they join, and how many of
        these nodes, the first ones, the edges lead to.

        Of a network with a layer for each hop, layer i needs no more than the first `layers - i` hops::

            for i, layer in enumerate(layers):
                graph, targets = sample.within(len(layers) - i)
                x = layer(graph, (x[: graph.num_nodes], x[:targets]))

        Raises ValueError for more hops than there are, TypeError for a sample of a HeteroGraph.
        Source: torch_geometric's trim_to_layer; the blocks of DGL.
        """
        if self._typed:
            raise TypeError("within: expected a sample of a graph without types, got one of a HeteroGraph")
        most = len(self.edge_counts)
        if not isinstance(hops, int) or not 0 <= hops <= most:
            raise ValueError(f"within: hops: expected 0 to {most}, got {hops!r}")
        edges, nodes = sum(self.edge_counts[:hops]), sum(self.node_counts[: hops + 1])
        ends = self.sources[:edges], self.targets[:edges]
        return Graph(ends, nodes), sum(self.node_counts[:hops]) if hops else nodes

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parts]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(node_counts={self.node_counts}, edge_counts={self.edge_counts})"


class Sides(NamedTuple):
    """The edges of a graph by their targets, and how many nodes there are of each type."""

    adjacencies: dict[EdgeType, Adjacency]
    counts: dict[str, int]
    typed: bool

    def by_type(self, given: Any, function: str, name: str) -> dict[str, Any]:
        """What was given for each node type; of a graph without types that alone."""
        if not self.typed:
            return {"": given}
        if not isinstance(given, Mapping) or not all(kind in self.counts for kind in given):
            raise ValueError(
                f"{function}: {name}: expected a dictionary by node type, of {list(self.counts)}, got "
                f"{list(given) if isinstance(given, Mapping) else type(given).__name__}"
            )
        return dict(given)

    def by_kind(self, given: Any, function: str, name: str) -> dict[EdgeType, Any]:
        """What was given for each edge type; of a graph without types that alone."""
        if not self.typed:
            return {ONLY: given}
        if not isinstance(given, Mapping) or not all(kind in self.adjacencies for kind in given):
            raise ValueError(
                f"{function}: {name}: expected a dictionary by edge type, of {list(self.adjacencies)}, got "
                f"{list(given) if isinstance(given, Mapping) else type(given).__name__}"
            )
        return dict(given)

    def sizes(self, sizes: Any, function: str) -> list[dict[EdgeType, int]]:
        """For each hop how many neighbours a node has of each edge type."""
        text = f"{function}: expected whole numbers of at least -1 for sizes"
        if not isinstance(sizes, Sequence) or isinstance(sizes, str):
            raise TypeError(
                f"{function}: expected a list with a number for each hop for sizes, got {sizes!r}"
            )
        return [
            {kind: whole(size, -1, text) for kind, size in self.by_kind(hop, function, "sizes").items()}
            if isinstance(hop, Mapping)
            else dict.fromkeys(self.adjacencies, whole(hop, -1, text))
            for hop in sizes
        ]


def sides(graph: Any, function: str) -> Sides:
    """Of a Graph, a HeteroGraph, or an Adjacency whose rows are the targets."""
    if isinstance(graph, HeteroGraph):
        return Sides({kind: r.by_target for kind, r in graph.relations.items()}, graph.node_types, True)
    side = graph.by_target if isinstance(graph, Graph) else graph
    if not isinstance(side, Adjacency) or side.height != side.width:
        raise TypeError(
            f"{function}: expected a Graph, a HeteroGraph or a square Adjacency for graph, got "
            f"{type(graph).__name__}"
        )
    return Sides({ONLY: side}, {"": side.height}, False)


class Found:
    """The edges of one type, hop after hop: sources, targets, places."""

    def __init__(self) -> None:
        self.hops: list[tuple[np.ndarray, ...]] = []

    def add(self, *parts: np.ndarray) -> None:
        self.hops.append(parts)

    def part(self, number: int) -> np.ndarray:
        parts = [hop[number] for hop in self.hops]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @property
    def counts(self) -> list[int]:
        return [len(hop[0]) for hop in self.hops]


def edges_of(side: Adjacency, places: np.ndarray) -> Callable[[], Tensor]:
    return lambda: tensor(side.edges[places])


def k_hop(
    graph: Any,
    seeds: Any,
    sizes: Sequence[Any],
    replace: bool = False,
    weights: Any = None,
    seed: int | None = None,
) -> Sample:
    """Hop after hop some edges into the nodes that the hop before found first; each node is expanded once.

    graph: a Graph, a HeteroGraph, or an Adjacency by targets. seeds: ids, or a dictionary by node type.
    sizes: for each hop how many edges of each node are drawn, each choice equally likely, or all with -1; of
    a HeteroGraph that number holds for each edge type, or the hop is a dictionary by edge type. replace: an
    edge may come several times. weights: a number for each edge (by edge type), by which edges are drawn one
    after another without being put back; edges of weight 0 never are. seed: the same sample for the same
    number, whatever the number of threads; without it the generator of `paddle.seed` decides.
    Layers over the sample compute the seeds as over the whole graph if sizes are all -1 and at least as many
    as the layers. Raises ValueError for ids outside, negative sizes and weights below 0 or not finite.

    >>> g = paddle.graph.Graph([(1, 0), (2, 0), (3, 1)], num_nodes=4)
    >>> sample = paddle.graph.k_hop(g, [0], [-1, -1])
    >>> sample.nodes.tolist(), sample.sources.tolist(), sample.targets.tolist()
    ([0, 1, 2, 3], [1, 2, 3], [0, 0, 1])
    """
    what, whole_graph, base = "k_hop", sides(graph, "k_hop"), start(seed)
    hops = whole_graph.sizes(sizes, what)
    given = {
        kind: ids(value, whole_graph.counts[kind], f"{what}: seeds").reshape(-1)
        for kind, value in whole_graph.by_type(seeds, what, "seeds").items()
    }
    heavy = {} if weights is None else weights_of(whole_graph, weights, what)
    if heavy and replace:
        raise ValueError(f"{what}: expected weights or replace=True, got both")
    found = {kind: Found() for kind in whole_graph.adjacencies}
    with ExitStack() as stack:
        numbers = {
            kind: stack.enter_context(graph_kernels.Numbers(count))
            for kind, count in whole_graph.counts.items()
        }
        own = {kind: numbers[kind].of(values)[0] for kind, values in given.items()}
        bounds = {kind: [0, n.count] for kind, n in numbers.items()}
        for hop, chosen in enumerate(hops):
            _expand(whole_graph, chosen, child(base, hop), replace, heavy, numbers, bounds, found)
            for kind, n in numbers.items():
                bounds[kind].append(n.count)
        nodes = {kind: n.nodes[: n.count].copy() for kind, n in numbers.items()}
    return Sample(
        whole_graph.typed,
        nodes={kind: tensor(value) for kind, value in nodes.items()},
        sources={kind: tensor(f.part(0)) for kind, f in found.items()},
        targets={kind: tensor(f.part(1)) for kind, f in found.items()},
        edges={kind: edges_of(whole_graph.adjacencies[kind], f.part(2)) for kind, f in found.items()},
        seeds={kind: tensor(own.get(kind, np.empty(0))) for kind in numbers},
        node_counts={kind: np.diff(value).tolist() for kind, value in bounds.items()},
        edge_counts={kind: f.counts for kind, f in found.items()},
    )


def weights_of(whole_graph: Sides, weights: Any, what: str) -> dict[EdgeType, np.ndarray]:
    """The weights of the edges by edge type. Raises TypeError and ValueError in the name `what`."""
    return {
        kind: weighed(values, whole_graph.adjacencies[kind].num_edges, f"{what}: weights")
        for kind, values in whole_graph.by_kind(weights, what, "weights").items()
    }


def _expand(
    whole_graph: Sides,
    sizes: dict[EdgeType, int],
    seed: int,
    replace: bool,
    weights: dict[EdgeType, np.ndarray],
    numbers: dict[str, Any],
    bounds: dict[str, list[int]],
    found: dict[EdgeType, Found],
) -> None:
    """One hop: draw edges into what the hop before found, and number their sources."""
    for place, (kind, side) in enumerate(whole_graph.adjacencies.items()):
        first, stop = bounds[kind[2]][-2:]
        frontier = numbers[kind[2]].nodes[first:stop]
        rows = graph_kernels.rows_found(side.starts, side.num_edges, frontier)[:2]
        heavy = (weights[kind], side.edges) if kind in weights else None
        size = sizes.get(kind, 0)
        drawn = draw(
            rows, size, side.neighbours, heavy, replace, child(seed, place), first, np.int64, "k_hop: weights"
        )
        places, values, targets, _ = drawn
        found[kind].add(numbers[kind[0]].of(values)[0], targets, places)


def induced(graph: Any, nodes: Any) -> Sample:
    """The nodes, numbered as they come, and all edges between them, in a time that grows with the edges into
    them.

    nodes: different ids, or a dictionary by node type. Raises ValueError for an id outside or one that comes
    twice. `Graph.subgraph` copies features too.

    >>> g = paddle.graph.Graph([(0, 1), (1, 2), (2, 0)], num_nodes=3)
    >>> found = paddle.graph.induced(g, [2, 1])
    >>> found.sources.tolist(), found.targets.tolist(), found.edges.tolist()
    ([1], [0], [1])
    """
    return spanned(sides(graph, "induced"), nodes, "induced", lambda kind, places: places >= 0)


def spanned(
    whole_graph: Sides, nodes: Any, what: str, kept: Callable[[EdgeType, np.ndarray], np.ndarray]
) -> Sample:
    """`induced`, without the edges at places of which `kept` answers False."""
    given = {
        kind: ids(value, whole_graph.counts[kind], f"{what}: nodes").reshape(-1)
        for kind, value in whole_graph.by_type(nodes, what, "nodes").items()
    }
    parts: dict[EdgeType, tuple[np.ndarray, ...]] = {}
    with ExitStack() as stack:
        numbers = {}
        for kind, values in given.items():
            numbers[kind] = stack.enter_context(graph_kernels.Numbers(whole_graph.counts[kind]))
            numbers[kind].of(values)
            if numbers[kind].count < values.size:
                raise ValueError(f"{what}: nodes: expected different ids, got one twice")
        for edge_type, side in whole_graph.adjacencies.items():
            source, _, target = edge_type
            if source in numbers and target in numbers:
                table = numbers[source].table
                places, counts = graph_kernels.inside(side.starts, side.neighbours, given[target], table)
                targets, keep = np.repeat(np.arange(counts.size), counts), kept(edge_type, places)
                parts[edge_type] = table[side.neighbours[places[keep]]], targets[keep], places[keep]
    return Sample(
        whole_graph.typed,
        nodes={kind: tensor(value) for kind, value in given.items()},
        sources={kind: tensor(part[0]) for kind, part in parts.items()},
        targets={kind: tensor(part[1]) for kind, part in parts.items()},
        edges={kind: edges_of(whole_graph.adjacencies[kind], part[2]) for kind, part in parts.items()},
        seeds={kind: tensor(np.arange(value.size)) for kind, value in given.items()},
        node_counts={kind: [value.size] for kind, value in given.items()},
        edge_counts={kind: [part[0].size] for kind, part in parts.items()},
    )
