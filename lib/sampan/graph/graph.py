"""A graph that does not change: edges, and features of its nodes and edges."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..creation import to_tensor
from ..engine.tensor import Tensor
from ..ops import concat
from ..serialization import load as read
from ..serialization import save_with_checksum
from .adjacency import MOST, Adjacency, ids
from .drawing import host, whole
from .messages import join_at_edges, receive, receive_joined, send_to_edges, send_u_recv
from .received import Gathered, Received
from .routes import Routes

FORMAT = "sampan graph 1"
Features = dict[str, Any]  # name -> array or Tensor, [nodes or edges, ...]


def edge_ends(edges: Any, what: str) -> tuple[Any, Any]:
    """(sources, targets) of a list of pairs, an array or Tensor [edges, 2], or a tuple of two arrays."""
    if isinstance(edges, tuple) and len(edges) == 2 and all(getattr(end, "ndim", 0) == 1 for end in edges):
        return edges
    try:
        array = edges.data.cpu().numpy() if isinstance(edges, Tensor) else np.asarray(edges)
        got = f"{type(edges).__name__} of shape {list(array.shape)}"
    except ValueError:  # NumPy: lists of different lengths
        array, got = np.empty((1, 0)), "lists of different lengths"
    if array.shape in ((0,), (0, 2), (2, 0)):
        return np.empty(0, np.int32), np.empty(0, np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"{what}: expected pairs (source, target), an array [edges, 2] or a tuple of two arrays, "
            f"got {got}"
        )
    return array[:, 0], array[:, 1]


def _largest(ends: tuple[Any, Any]) -> int:
    """One more than the largest id; `ids` reports what is no id."""
    arrays = [host(end) for end in ends]
    return max((int(end.max()) + 1 for end in arrays if end.size and end.dtype.kind in "iu"), default=0)


def features_of(given: Mapping[str, Any] | None, count: int, what: str) -> Features:
    """A dictionary of arrays or Tensors, each with `count` rows; None is left out, as PGL's programs need."""
    found: Features = {}
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{what}: expected a dictionary from name to array, got {type(given).__name__}")
    for name, values in (given or {}).items():
        if values is None:
            continue
        found[name] = values if isinstance(values, Tensor) else np.asarray(values)
        shape = list(found[name].shape)
        if not shape or shape[0] != count:
            raise ValueError(f"{what}: expected {count} rows in {name!r}, got shape {shape}")
    return found


def _rows(features: Features, places: np.ndarray) -> Features:
    return {
        name: values[to_tensor(places.astype(np.int64))] if isinstance(values, Tensor) else values[places]
        for name, values in features.items()
    }


def _joined(features: list[Features], what: str) -> Features:
    """Each feature of several graphs, one after another."""
    names = [list(one) for one in features]
    if any(set(one) != set(names[0]) for one in names):
        raise ValueError(f"{what}: expected the same names in all graphs, got {names}")
    return {
        name: concat([one[name] for one in features], 0)
        if isinstance(features[0][name], Tensor)
        else np.concatenate([host(one[name]) for one in features])
        for name in names[0]
    }


class Graph:
    """`num_nodes` nodes, numbered from 0, and directed edges (source, target) between them.

    edges: pairs (source, target), an array or Tensor [edges, 2], or a tuple (sources, targets) of two arrays;
    repeated edges and self loops stay. num_nodes: one more than the largest id if it is None.
    node_feat, edge_feat: name -> array or Tensor with a row for each node, each edge.

    A graph that is made of Tensors answers with Tensors, one of arrays with arrays; `tensor()` and `numpy()`
    turn one into the other. The names are those of PGL (github.com/PaddlePaddle/PGL), whose layers run on it.
    Ids are int64 to the outside; edges are copied, so a caller may overwrite what was passed in. Raises
    ValueError for an id out of range or features of another length, TypeError for ids that are not integers.

    >>> g = paddle.graph.Graph([(0, 1), (1, 2), (0, 2)], num_nodes=4)
    >>> g.outdegree().tolist()
    [2, 1, 0, 0]
    >>> g.predecessor([2])[0].tolist()
    [1, 0]
    """

    def __init__(
        self,
        edges: Any,
        num_nodes: int | None = None,
        node_feat: Mapping[str, Any] | None = None,
        edge_feat: Mapping[str, Any] | None = None,
    ) -> None:
        ends = edge_ends(edges, "Graph: edges")
        text = "Graph: num_nodes: expected a whole number of at least 0"
        self.num_nodes = max(_largest(ends), 0) if num_nodes is None else whole(num_nodes, 0, text)
        if self.num_nodes > MOST or len(ends[0]) > MOST:
            raise ValueError(
                f"Graph: expected at most {MOST} nodes and as many edges, got {self.num_nodes} and "
                f"{len(ends[0])}: see ShardedGraph"
            )
        if len(ends[0]) != len(ends[1]):
            raise ValueError(
                f"Graph: edges: expected as many sources as targets, got {len(ends[0])} and {len(ends[1])}"
            )
        self.sources = ids(ends[0], self.num_nodes, "Graph: edges: sources")
        self.targets = ids(ends[1], self.num_nodes, "Graph: edges: targets")
        self.node_feat = features_of(node_feat, self.num_nodes, "Graph: node_feat")
        self.edge_feat = features_of(edge_feat, self.num_edges, "Graph: edge_feat")
        values = (edges, *(edges if isinstance(edges, tuple) else ()))
        values = (*values, *self.node_feat.values(), *self.edge_feat.values())
        self._is_tensor = any(isinstance(value, Tensor) for value in values)
        self.original_nodes: np.ndarray | None = None  # of a subgraph: its nodes' ids in the whole graph
        self.original_edges: np.ndarray | None = None
        self.num_graph = 1  # how many graphs were joined into this one
        self._graph_ids: np.ndarray | None = None  # of each node, if they are several

    def __repr__(self) -> str:
        kinds = "".join(
            f", {what}={{{', '.join(f'{k}: {list(v.shape)}' for k, v in features.items())}}}"
            for what, features in (("node_feat", self.node_feat), ("edge_feat", self.edge_feat))
            if features
        )
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}{kinds})"

    # Structure

    @property
    def num_edges(self) -> int:
        return len(self.sources)

    @property
    def nodes(self) -> Any:
        """All ids, int64 [nodes]."""
        return self._answer(np.arange(self.num_nodes))

    @property
    def edges(self) -> Any:
        """(source, target) of each edge, int64 [edges, 2]."""
        return self._answer(np.stack([self.sources, self.targets], 1))

    @cached_property
    def routes(self) -> Routes:
        """The edges as the functions of `graph.messages` take them."""
        return Routes(self.sources, self.targets, self.num_nodes, self.num_nodes)

    @cached_property
    def _ends(self) -> tuple[Tensor, Tensor]:
        """Sources and targets as Tensors; `send_u_recv` keeps their routes as long as these live."""
        return to_tensor(self.sources), to_tensor(self.targets)

    @cached_property
    def by_source(self) -> Adjacency:
        """Where the edges of each node lead (CSR)."""
        return self.routes.turned.by_target

    @cached_property
    def by_target(self) -> Adjacency:
        """Where the edges into each node come from (CSC)."""
        return self.routes.by_target

    def outdegree(self, nodes: Any = None) -> Any:
        """How many edges leave each node, or each of `nodes`: int64."""
        return self._answer(self._of(self.by_source.degrees, nodes, "outdegree"))

    def indegree(self, nodes: Any = None) -> Any:
        """How many edges enter each node, or each of `nodes`: int64."""
        return self._answer(self._of(self.by_target.degrees, nodes, "indegree"))

    def successor(self, nodes: Any = None, return_eids: bool = False) -> Any:
        """For each node, or each of `nodes`, the ids that its edges lead to, as a list of arrays in the order
        of the edges; with `return_eids` also the numbers of those edges."""
        return self._neighbours(self.by_source, nodes, return_eids, "successor")

    def predecessor(self, nodes: Any = None, return_eids: bool = False) -> Any:
        """For each node, or each of `nodes`, the ids that have an edge to it: see `successor`."""
        return self._neighbours(self.by_target, nodes, return_eids, "predecessor")

    def sorted_edges(self, sort_by: str = "src") -> tuple[Any, Any, Any]:
        """(sources, targets, edge numbers), by source ("src") or target ("dst")."""
        if sort_by not in ("src", "dst"):
            raise ValueError(f"sorted_edges: sort_by: expected 'src' or 'dst', got {sort_by!r}")
        order = (self.by_source if sort_by == "src" else self.by_target).edges
        found = self._answer(self.sources[order]), self._answer(self.targets[order]), self._answer(order)
        return found

    # Other graphs of the same nodes

    def reverse(self) -> "Graph":
        """Every edge the other way round; features are shared."""
        turned = self._like((self.targets, self.sources), self.num_nodes, self.node_feat, self.edge_feat)
        for here, there in (("by_source", "by_target"), ("by_target", "by_source")):
            if here in self.__dict__:
                turned.__dict__[there] = self.__dict__[here]
        return turned

    def add_self_loops(self) -> "Graph":
        """One more edge from each node to itself, after the others. Raises ValueError where edges have
        features: theirs are unknown."""
        if self.edge_feat:
            raise ValueError(f"add_self_loops: expected edges without features, got {list(self.edge_feat)}")
        nodes = np.arange(self.num_nodes, dtype=np.int32)
        ends = np.concatenate([self.sources, nodes]), np.concatenate([self.targets, nodes])
        return self._like(ends, self.num_nodes, self.node_feat, {})

    def remove_self_loops(self) -> "Graph":
        """Without the edges from a node to itself."""
        return self.edge_subgraph(np.flatnonzero(self.sources != self.targets))

    def to_undirected(self) -> "Graph":
        """Each edge in both directions, each pair once; edges lose their features."""
        rows = np.concatenate([self.sources, self.targets]).astype(np.int64)
        columns = np.concatenate([self.targets, self.sources])
        pairs = np.unique(rows * max(self.num_nodes, 1) + columns)
        ends = pairs // max(self.num_nodes, 1), pairs % max(self.num_nodes, 1)
        return self._like(ends, self.num_nodes, self.node_feat, {})

    def subgraph(self, nodes: Any) -> "Graph":
        """These nodes, numbered as they come, and all edges between them, in their order.

        nodes: different ids. The result's `original_nodes` and `original_edges` name them in this graph.
        """
        chosen = ids(nodes, self.num_nodes, "subgraph: nodes").reshape(-1)
        place = np.full(self.num_nodes, -1, np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        if (place[chosen] != np.arange(len(chosen))).any():
            raise ValueError("subgraph: nodes: expected different ids, got one twice")
        kept = np.flatnonzero((place[self.sources] >= 0) & (place[self.targets] >= 0))
        ends = place[self.sources[kept]], place[self.targets[kept]]
        features = _rows(self.node_feat, chosen), _rows(self.edge_feat, kept)
        made = self._like(ends, len(chosen), *features)
        made.original_nodes, made.original_edges = chosen.astype(np.int64), kept
        return made._tell(self._ids()[chosen], self.num_graph) if self.num_graph != 1 else made

    def edge_subgraph(self, edges: Any) -> "Graph":
        """All nodes and the edges of these numbers."""
        chosen = ids(edges, self.num_edges, "edge_subgraph: edges").reshape(-1)
        ends = self.sources[chosen], self.targets[chosen]
        made = self._like(ends, self.num_nodes, self.node_feat, _rows(self.edge_feat, chosen))
        made.original_edges = chosen.astype(np.int64)
        return made

    # Several graphs as one

    @classmethod
    def disjoint(cls, graph_list: Sequence["Graph"], merged_graph_index: bool = False) -> "Graph":
        """The nodes and edges of several graphs, one graph after another, as one without edges between them.

        Features are joined by name. `num_graph` and `graph_node_id` tell the graphs apart, as pooling does;
        with merged_graph_index they count as one. Raises ValueError for no graph and for features that only
        some have.
        """
        graphs = list(graph_list)
        if not graphs or not all(isinstance(graph, Graph) for graph in graphs):
            given = [type(graph).__name__ for graph in graphs] or "none"
            raise ValueError(f"disjoint: graph_list: expected one graph or more, got {given}")
        counts = [graph.num_nodes for graph in graphs]
        first = np.cumsum([0, *counts[:-1]])
        ends = (
            np.concatenate([end + at for end, at in zip(ends, first, strict=True)])
            for ends in ([g.sources for g in graphs], [g.targets for g in graphs])
        )
        features = (
            _joined([getattr(graph, kind) for graph in graphs], f"disjoint: {kind}")
            for kind in ("node_feat", "edge_feat")
        )
        made = cls(tuple(ends), sum(counts), *features)
        made._is_tensor = graphs[0].is_tensor()
        if not merged_graph_index:
            before = np.cumsum([0, *(graph.num_graph for graph in graphs[:-1])])
            parts = [graph._ids() + at for graph, at in zip(graphs, before, strict=True)]
            made._tell(np.concatenate(parts), sum(graph.num_graph for graph in graphs))
        return made

    @classmethod
    def batch(cls, graph_list: Sequence["Graph"]) -> "Graph":
        """`disjoint` graphs, identified by `graph_node_id`."""
        return cls.disjoint(graph_list)

    @property
    def graph_node_id(self) -> Any:
        """The graph that each node belongs to, int64 [nodes]."""
        return self._answer(self._ids())

    @property
    def graph_edge_id(self) -> Any:
        """The graph that each edge belongs to, int64 [edges]."""
        return self._answer(self._ids()[self.sources])

    @cached_property
    def pooling(self) -> Routes:
        """The routes from each node to its graph, as a node of its own: see `nn.functional.graph_pool`."""
        nodes = np.arange(self.num_nodes, dtype=np.int32)
        return Routes(nodes, self._ids().astype(np.int32), self.num_nodes, self.num_graph)

    def _ids(self) -> np.ndarray:
        return np.zeros(self.num_nodes, np.int64) if self._graph_ids is None else self._graph_ids

    def _tell(self, graph_ids: np.ndarray | None, num_graph: int) -> "Graph":
        self._graph_ids, self.num_graph = graph_ids, num_graph
        return self

    # Files

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the graph with its features to one file, atomically; `load` reads it. Raises OSError for a
        full disk."""
        arrays = {
            kind: {name: host(values) for name, values in getattr(self, kind).items()}
            for kind in ("node_feat", "edge_feat")
        }
        parts = {"sources": self.sources, "targets": self.targets, "graph_ids": self._ids(), **arrays}
        counts = {"num_nodes": self.num_nodes, "num_graph": self.num_graph}
        save_with_checksum({"format": FORMAT, **counts, **parts}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Graph":
        """The graph of a file of `dump`, with arrays as features. Raises FileNotFoundError, and ValueError
        for a truncated, changed or other file."""
        content = read(path, return_numpy=True)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"load: {os.fspath(path)!r} holds no graph")
        ends = content["sources"], content["targets"]
        made = cls(ends, content["num_nodes"], content["node_feat"], content["edge_feat"])
        if content["num_graph"] != 1:
            graph_ids = ids(content["graph_ids"], content["num_graph"], "load: graph_ids").astype(np.int64)
            made._tell(graph_ids, content["num_graph"])
        return made

    # Messages: see `graph.messages`

    def send_recv(self, feature: Tensor, reduce_func: str = "sum", out_size: int | None = None) -> Tensor:
        """The sum, mean, max or min of what each node receives from the sources of its edges, 0 without any.

        feature: [nodes, ...]. out_size: rows of the result, where targets are other nodes than sources; the
        feature then has a row for each source. Raises ValueError for another number of rows.
        """
        if not isinstance(feature, Tensor):
            raise TypeError(f"send_recv: feature: expected a Tensor, got {type(feature).__name__}")
        if out_size in (None, self.num_nodes) and feature.shape[:1] in ([self.num_nodes], []):
            return receive(feature, self, reduce_func)
        if out_size is None:
            raise ValueError(
                f"send_recv: feature: expected {self.num_nodes} rows, one for each node, got shape "
                f"{list(feature.shape)}"
            )
        return send_u_recv(feature, *self._ends, reduce_func, out_size)

    send_u_recv = send_recv

    def send_ue_recv(
        self, feature: Tensor, edge_feature: Tensor, message_op: str = "add", reduce_op: str = "sum"
    ) -> Tensor:
        """As `send_recv`, of what the source has joined with what the edge has: add, sub, mul or div."""
        return receive_joined(feature, edge_feature, self, message_op, reduce_op)

    def send_ue(self, feature: Tensor, edge_feature: Tensor, message_op: str = "add") -> Tensor:
        """For each edge what its source has joined with what the edge has: [edges, ...]."""
        return join_at_edges(feature, edge_feature, self, message_op)

    def send_uv(self, src_feature: Tensor, dst_feature: Tensor, message_op: str = "add") -> Tensor:
        """For each edge, what its source has joined with what its target has: [edges, ...]."""
        return send_to_edges(src_feature, dst_feature, self, message_op)

    def send(
        self,
        message_func: Callable[[Any, Any, Any], dict[str, Tensor]],
        src_feat: Mapping[str, Tensor] | None = None,
        dst_feat: Mapping[str, Tensor] | None = None,
        edge_feat: Mapping[str, Tensor] | None = None,
        node_feat: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """message_func(features of the sources, of the targets, of the edges), each a mapping from name to
        [edges, ...]: returns its dictionary of messages. node_feat: features of both ends."""
        if node_feat is not None and (src_feat is not None or dst_feat is not None):
            raise ValueError("send: expected node_feat or features of the two ends, got both")
        sources = Gathered(node_feat or src_feat or {}, self.sources)
        targets = Gathered(node_feat or dst_feat or {}, self.targets)
        made = message_func(sources, targets, edge_feat or {})
        if not isinstance(made, dict):
            raise TypeError(f"send: expected a dictionary of messages, got {type(made).__name__}")
        return made

    def recv(
        self, reduce_func: Callable[[Received], Tensor], msg: Mapping[str, Tensor], recv_mode: str = "dst"
    ) -> Tensor:
        """reduce_func(messages), with a row for each node; zeros where a node receives nothing.

        msg: name -> [edges, ...], as `send` returns it. recv_mode: "dst", or "src" for messages that go back
        to the sources.
        """
        if not isinstance(msg, Mapping):
            raise TypeError(f"recv: msg: expected a dictionary, got {type(msg).__name__}")
        if recv_mode not in ("dst", "src"):
            raise ValueError(f"recv: recv_mode: expected 'dst' or 'src', got {recv_mode!r}")
        routes = self.routes if recv_mode == "dst" else self.routes.turned
        output = reduce_func(Received(msg, routes))
        empty = routes.by_target.degrees == 0
        if not empty.any():
            return output
        reached = to_tensor((~empty).astype(np.float32)).astype(output.dtype)
        return output * reached.reshape([-1, *[1] * (output.ndim - 1)])

    # Arrays and Tensors

    def is_tensor(self) -> bool:
        """Whether this graph answers with Tensors."""
        return self._is_tensor

    def tensor(self, inplace: bool = True) -> "Graph":
        """This graph (or a copy) with Tensors as features and answers."""
        return self._in_form(True, inplace, lambda x: x if isinstance(x, Tensor) else to_tensor(x))

    def numpy(self, inplace: bool = True) -> "Graph":
        """This graph (or a copy) with arrays as features and answers."""
        return self._in_form(False, inplace, lambda x: x.numpy() if isinstance(x, Tensor) else x)

    def node_batch_iter(self, batch_size: int, shuffle: bool = True) -> Iterator[Any]:
        """All ids in batches, in an order drawn by NumPy's generator if `shuffle`."""
        whole(batch_size, 1, "node_batch_iter: batch_size: expected a whole number of at least 1")
        order = np.random.permutation(self.num_nodes) if shuffle else np.arange(self.num_nodes)
        for start in range(0, self.num_nodes, batch_size):
            yield self._answer(order[start : start + batch_size])

    def _in_form(self, tensor: bool, inplace: bool, turned: Any) -> "Graph":
        graph = self if inplace else self._like((self.sources, self.targets), self.num_nodes, {}, {})
        graph._is_tensor = tensor
        graph.node_feat, graph.edge_feat = (
            {name: turned(values) for name, values in features.items()}
            for features in (self.node_feat, self.edge_feat)
        )
        return graph

    def _like(self, ends: Any, num_nodes: int, node_feat: Features, edge_feat: Features) -> "Graph":
        made = type(self)(ends, num_nodes, node_feat, edge_feat)
        made._is_tensor = self._is_tensor
        return made._tell(self._graph_ids, self.num_graph) if num_nodes == self.num_nodes else made

    def _answer(self, values: np.ndarray) -> Any:
        values = values.astype(np.int64, copy=False)
        return to_tensor(values) if self._is_tensor else values

    def _of(self, counts: np.ndarray, nodes: Any, what: str) -> np.ndarray:
        return counts if nodes is None else counts[ids(nodes, self.num_nodes, f"{what}: nodes")]

    def _neighbours(self, side: Adjacency, nodes: Any, return_eids: bool, what: str) -> Any:
        rows = np.arange(self.num_nodes) if nodes is None else ids(nodes, self.num_nodes, f"{what}: nodes")
        places, counts = side.places_of(rows.reshape(-1))
        ends = np.cumsum(counts)[:-1]
        found, edges = (
            [self._answer(part) for part in np.split(values[places], ends)]
            for values in (side.neighbours, side.edges)
        )
        return (found, edges) if return_eids else found
