"""Convolutions on graphs with several types of edges or nodes: R-GCN, HAN and HGT."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import nn, ops
from ...engine.tensor import Tensor
from ...nn import functional as F
from ..graph import Graph
from ..hetero import EdgeType, HeteroGraph
from ..messages import edge_dots, weighted_sum
from ..routes import Routes
from ..segments import softmax_of_received
from .conv import Activation, _activation
from .functional import edge_softmax

__all__ = ["HANConv", "HGTConv", "RGCNConv"]


def _divides(name: str, what: str, parts: int, size: int) -> None:
    if parts < 1 or size % parts:
        raise ValueError(f"{name}: expected {what} that divides {size}, got {parts}")


def _features(name: str, given: Any, kinds: Any) -> None:
    """Raises unless there are features of these node types."""
    missing = [kind for kind in kinds if kind not in given]
    if missing:
        raise ValueError(f"{name}: expected features of node type {missing[0]!r}, got {list(given)}")


def _edges(graph: Any, etype: Any) -> Any:
    """The edges of a type, of a HeteroGraph or a dictionary of Graphs."""
    try:
        return graph[etype]
    except (KeyError, TypeError) as error:
        have = list(getattr(graph, "relations", graph)) if hasattr(graph, "__getitem__") else graph
        raise ValueError(f"RGCNConv: expected a graph with edges of type {etype!r}, got {have}") from error


def _typed(name: str, graph: Any) -> HeteroGraph:
    if not isinstance(graph, HeteroGraph):
        raise TypeError(f"{name}: expected a HeteroGraph for graph, got {type(graph).__name__}")
    return graph


class RGCNConv(nn.Layer):
    """For each node the sum over edge types r of (mean of x over its neighbours by r) W_r.

    etypes: the edge types, as `graph[etype]` takes them. num_bases: W_r = sum over b of a_rb V_b, with that
    many matrices V; 0, or as many as edge types, gives each its own W_r. num_blocks: W_r is block-diagonal
    with that many blocks. aggr: mean or sum. root_weight: adds x W_0. bias: adds a bias.

    forward(graph, feature): a HeteroGraph, or a dictionary from edge type to Graph. feature: [nodes, in_dim]
    where all edge types join the same nodes; else a dictionary by node type, and so is the result, with the
    node types that an edge type leads to (all with `root_weight`). Raises ValueError for both
    decompositions, blocks that do not divide the sizes, and missing features.
    Source: Schlichtkrull et al., Modeling Relational Data with Graph Convolutional Networks, 2018, (2), (3)
    and (4).
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        etypes: Sequence[Any],
        num_bases: int = 0,
        num_blocks: int | None = None,
        aggr: str = "mean",
        root_weight: bool = False,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.in_dim, self.out_dim, self.etypes, self.aggr = in_dim, out_dim, list(etypes), aggr
        if aggr not in ("mean", "sum"):
            raise ValueError(f"RGCNConv: aggr: expected mean or sum, got {aggr!r}")
        count = self.num_rels = len(self.etypes)
        self.num_bases = num_bases if 0 < num_bases < count else count
        self.num_blocks = num_blocks
        if num_blocks is None:
            self.weight = self.create_parameter([self.num_bases, in_dim, out_dim])
        elif num_bases:
            raise ValueError(f"RGCNConv: expected num_bases or num_blocks, got {num_bases} and {num_blocks}")
        else:
            _divides("RGCNConv", "num_blocks", num_blocks, math.gcd(in_dim, out_dim))
            shape = [count, num_blocks, in_dim // num_blocks, out_dim // num_blocks]
            self.weight = self.create_parameter(shape)
        self.w_comp = self.create_parameter([count, self.num_bases]) if self.num_bases < count else None
        self.root = self.create_parameter([in_dim, out_dim]) if root_weight else None
        self.bias = self.create_parameter([out_dim], is_bias=True) if bias else None

    def forward(self, graph: Any, feature: Any) -> Any:
        weight: Any = self.weight
        if self.w_comp is not None:
            shape = [self.num_rels, self.in_dim, self.out_dim]
            weight = self.w_comp.matmul(weight.reshape([self.num_bases, -1])).reshape(shape)
        typed = isinstance(feature, Mapping)
        x: Mapping[str, Tensor] = feature if typed else {"": feature}
        found: dict[str, Tensor] = {}
        if self.root is not None:
            found = {kind: values.matmul(self.root) for kind, values in x.items()}
        for place, etype in enumerate(self.etypes):
            edges = _edges(graph, etype)
            source, target = (edges.kind[0], edges.kind[2]) if typed else ("", "")
            _features("RGCNConv", x, (source,))
            made = self._received(edges, x[source], weight[place])
            found[target] = found[target] + made if target in found else made
        if self.bias is not None:
            found = {kind: values + self.bias for kind, values in found.items()}
        return found if typed else found[""]

    def _received(self, edges: Any, x: Tensor, weight: Tensor) -> Tensor:
        """The smaller of the two sizes is sent along the edges."""
        if self.in_dim > self.out_dim:
            made: Tensor = edges.send_recv(self._times(x, weight), self.aggr)
            return made
        return self._times(edges.send_recv(x, self.aggr), weight)

    def _times(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.num_blocks is None:
            return x.matmul(weight)
        blocks = x.reshape([-1, self.num_blocks, self.in_dim // self.num_blocks]).transpose([1, 0, 2])
        return blocks.matmul(weight).transpose([1, 0, 2]).reshape([-1, self.out_dim])


class HANConv(nn.Layer):
    """Attention in two levels: over a node's neighbours by each meta-path, then over the meta-paths.

    By meta-path p, z_p = activation(sum over neighbours of softmax(LeakyReLU(a_p . [W x_s, W x_t])) W x_s),
    in heads; the result is the sum of beta_p z_p, where beta = softmax over p of the mean over nodes of
    q . tanh(V z_p + b).

    num_paths: how many meta-paths. out_channels: of all heads together. dropout: of the attention.
    forward(graph, feature): a HeteroGraph, whose `meta_paths` begin and end at the same node type, or a list
    of Graphs of the same nodes, one for each meta-path. feature: [nodes of that type, in_channels]; returns
    [nodes, out_channels], and with return_semantic_attention_weights also beta [num_paths].
    Source: Wang et al., Heterogeneous Graph Attention Network, 2019, (1) to (9).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_paths: int,
        heads: int = 1,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        _divides("HANConv", "heads", heads, out_channels)
        self.heads, self.negative_slope, self.num_paths = heads, negative_slope, num_paths
        self.proj, self.k_lin = nn.Linear(in_channels, out_channels), nn.Linear(out_channels, out_channels)
        shape = [num_paths, heads, out_channels // heads]
        self.lin_src: Any = self.create_parameter(shape)
        self.lin_dst: Any = self.create_parameter(shape)
        self.q = self.create_parameter([1, out_channels])
        self.dropout, self.activation = nn.Dropout(dropout), _activation(activation)

    def forward(self, graph: Any, feature: Tensor, return_semantic_attention_weights: bool = False) -> Any:
        listed = isinstance(graph, list | tuple)
        graphs: Sequence[Graph] = graph if listed else _typed("HANConv", graph).path_graphs
        if len(graphs) != self.num_paths:
            raise ValueError(f"HANConv: expected {self.num_paths} meta-paths, got {len(graphs)}")
        x = self.proj(feature)
        x = x.reshape([x.shape[0], self.heads, x.shape[1] // self.heads])
        found = ops.stack([self._along(one, x, place) for place, one in enumerate(graphs)])
        scores = (self.q * F.tanh(self.k_lin(found)).mean(1)).sum(-1)  # [paths]
        beta = F.softmax(scores, -1)
        output = (found * beta.reshape([-1, 1, 1])).sum(0)
        return (output, beta) if return_semantic_attention_weights else output

    def _along(self, graph: Graph, x: Tensor, place: int) -> Tensor:
        """x: [nodes, heads, size]; returns [nodes, heads * size]."""
        sources, targets = (x * self.lin_src[place]).sum(-1), (x * self.lin_dst[place]).sum(-1)
        logits = F.leaky_relu(graph.send_uv(sources, targets, "add"), self.negative_slope)
        weights = self.dropout(edge_softmax(graph, logits)).unsqueeze(-1)
        return self.activation(graph.send_ue_recv(x, weights, "mul", "sum").flatten(1))


class HGTConv(nn.Layer):
    """Attention over all edges into a node, of whatever type, with weights for each node and edge type.

    With K, Q, V = linear layers of x by node type, an edge of type r from s to t has in each head the logit
    mu_r (K_s W_r) . Q_t / sqrt(size) and sends softmax(logit) V_s M_r, the softmax over all edges into t. A
    node's result is Linear(gelu(the sum)), and with in_channels = out_channels a sigmoid(skip) part of it
    beside the rest of x.

    in_channels: a size, or one for each node type. metadata: (node types, edge types). out_channels: of all
    heads together. forward(graph, features): a HeteroGraph and a dictionary by node type; returns one of the
    node types that edges lead to. Raises ValueError for missing features and edge types that are not of the
    graph.
    Source: Hu et al., Heterogeneous Graph Transformer, 2020, (3) to (5); without the relative times.
    """

    def __init__(
        self,
        in_channels: int | Mapping[str, int],
        out_channels: int,
        metadata: tuple[Sequence[str], Sequence[EdgeType]],
        heads: int = 1,
    ) -> None:
        super().__init__()
        _divides("HGTConv", "heads", heads, out_channels)
        self.node_types, self.edge_types = list(metadata[0]), list(metadata[1])
        self.heads, self.size, self.out_channels = heads, out_channels // heads, out_channels
        sizes = in_channels if isinstance(in_channels, Mapping) else dict.fromkeys(metadata[0], in_channels)
        _features("HGTConv: in_channels", sizes, self.node_types)
        self.in_channels = dict(sizes)
        kinds = self.node_types
        self.kqv_lin = nn.LayerDict({kind: nn.Linear(sizes[kind], 3 * out_channels) for kind in kinds})
        self.out_lin = nn.LayerDict({kind: nn.Linear(out_channels, out_channels) for kind in kinds})
        shape = [len(self.edge_types), heads, self.size, self.size]
        self.k_rel: Any = self.create_parameter(shape)
        self.v_rel: Any = self.create_parameter(shape)
        one = nn.initializer.Constant(1.0)
        self.skip = nn.ParameterDict(
            {kind: self.create_parameter([1], default_initializer=one) for kind in kinds}
        )
        self.p_rel: Any = self.create_parameter([len(self.edge_types), heads], default_initializer=one)

    def forward(self, graph: HeteroGraph, features: Mapping[str, Tensor]) -> dict[str, Tensor]:
        _typed("HGTConv", graph)
        _features("HGTConv", features, self.node_types)
        unknown = [kind for kind in self.edge_types if kind not in graph.relations]
        if unknown:
            raise ValueError(f"HGTConv: expected edges of type {unknown[0]}, got {list(graph.relations)}")
        k, q, v = {}, {}, {}
        for kind in self.node_types:
            x = self.kqv_lin[kind](features[kind])
            k[kind], q[kind], v[kind] = (
                part.reshape([x.shape[0], self.heads, self.size]) for part in x.split(3, 1)
            )
        found = {}
        for target in dict.fromkeys(kind[2] for kind in self.edge_types):
            received = self._received(graph, target, k, q[target], v)
            made = self.out_lin[target](F.gelu(received.flatten(1)))
            if made.shape[1] == features[target].shape[1]:
                share = F.sigmoid(self.skip[target])
                made = share * made + (1 - share) * features[target]
            found[target] = made
        return found

    def _received(
        self,
        graph: HeteroGraph,
        target: str,
        keys: dict[str, Tensor],
        query: Tensor,
        values: dict[str, Tensor],
    ) -> Tensor:
        """[nodes of the target type, heads, size]."""
        into = [(place, kind) for place, kind in enumerate(self.edge_types) if kind[2] == target]
        logits = []
        for place, kind in into:
            found = edge_dots(
                query, self._by_head(keys[kind[0]], self.k_rel[place]), graph.relations[kind].routes
            )
            logits.append(found * (self.p_rel[place] / math.sqrt(self.size)))
        relations = [graph.relations[kind] for _, kind in into]
        weights = softmax_of_received(
            ops.concat(logits, 0), _joined([r.targets for r in relations], query.shape[0])
        )
        first, parts = 0, []
        for (place, kind), relation in zip(into, relations, strict=True):
            own = weights[first : first + relation.num_edges]
            first += relation.num_edges
            parts.append(
                weighted_sum(own, self._by_head(values[kind[0]], self.v_rel[place]), relation.routes)
            )
        total: Tensor = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    @staticmethod
    def _by_head(x: Tensor, weight: Tensor) -> Tensor:
        """x: [nodes, heads, size], weight: [heads, size, size]."""
        return x.transpose([1, 0, 2]).matmul(weight).transpose([1, 0, 2])


def _joined(targets: list[np.ndarray], count: int) -> Routes:
    """Routes from each edge, as a node of its own, to its target, of the edges of several types."""
    ends = np.concatenate(targets)
    return Routes(np.arange(len(ends), dtype=np.int32), ends, len(ends), count)
