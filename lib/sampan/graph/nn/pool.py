"""Layers that make a row for each graph of a batch out of the rows of its nodes: see `Graph.batch`.

Names and arguments are those of PGL (github.com/PaddlePaddle/PGL).
"""

from collections.abc import Callable
from typing import Any

from ... import nn, ops
from ...creation import zeros
from ...engine.tensor import Tensor
from ...nn import functional as F
from ..drawing import host
from ..graph import Graph
from ..k_hop import tensor
from ..math import segment_topk
from ..messages import receive, sent
from ..segments import softmax_of_received
from .conv import GCNConv
from .functional import graph_norm, graph_pool

__all__ = ["GlobalAttention", "GraphNorm", "GraphPool", "SAGPool", "Set2Set"]


class GraphPool(nn.Layer):
    """`functional.graph_pool` as a layer. pool_type: sum, mean, max or min, here or in the call."""

    def __init__(self, pool_type: str | None = None) -> None:
        super().__init__()
        self.pool_type = pool_type

    def forward(self, graph: Graph, feature: Tensor, pool_type: str | None = None) -> Tensor:
        return graph_pool(graph, feature, pool_type or self.pool_type or "sum")


class GraphNorm(nn.Layer):
    """`functional.graph_norm` as a layer."""

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        return graph_norm(graph, feature)


class GlobalAttention(nn.Layer):
    """Of each graph the sum over its nodes of softmax(gate(x)) nn(x).

    gate: a Layer to [nodes, 1]; nn: a Layer, or None for x itself.
    Source: Li et al., Gated Graph Sequence Neural Networks, 2016, (7).
    """

    def __init__(
        self, gate: Callable[[Tensor], Tensor], nn: Callable[[Tensor], Tensor] | None = None
    ) -> None:
        super().__init__()
        self.gate, self.nn = gate, nn

    def forward(self, graph: Graph, x: Tensor) -> Tensor:
        weights = softmax_of_received(self.gate(x).reshape([-1, 1]), graph.pooling)
        return receive(weights * (x if self.nn is None else self.nn(x)), graph.pooling)


class Set2Set(nn.Layer):
    """A vector [2 input_dim] for each graph, which an LSTM reads from its nodes in n_iters steps.

    q = LSTM(q*), r = the sum over nodes of softmax(x . q) x, q* = [q, r]. n_layers: of the LSTM. (PGL 2.2.6
    leaves q* at 0.)
    Source: Vinyals, Bengio and Kudlur, Order Matters: Sequence to Sequence for Sets, 2016, (3) to (7).
    """

    def __init__(self, input_dim: int, n_iters: int, n_layers: int = 1) -> None:
        super().__init__()
        self.input_dim, self.output_dim = input_dim, 2 * input_dim
        self.n_iters, self.n_layers = n_iters, n_layers
        self.lstm = nn.LSTM(self.output_dim, input_dim, n_layers, time_major=True)

    def forward(self, graph: Graph, x: Tensor) -> Tensor:
        routes, count = graph.pooling, graph.num_graph
        state = tuple(zeros([self.n_layers, count, self.input_dim], x.dtype) for _ in range(2))
        both = zeros([count, self.output_dim], x.dtype)
        for _ in range(self.n_iters):
            q, state = self.lstm(both.unsqueeze(0), state)
            q = q.reshape([count, self.input_dim])
            logits = (x * sent(q, routes.turned)).sum(-1, keepdim=True)
            r = receive(softmax_of_received(logits, routes) * x, routes)
            both = ops.concat([q, r], -1)
        return both


class SAGPool(nn.Layer):
    """Keeps of each graph the nodes with the largest scores, which a convolution gives them.

    Returns (x, batch, graph): the features of the nodes that stay, times their scores; the graph of each,
    int64; and the edges between them as a Graph, with the features "attr".
    ratio: a part of the nodes, rounded up. gnn: makes the convolution, as gnn(input_dim, 1); GCNConv if it is
    None. min_score: instead of a ratio, keeps nodes whose softmax of the score is larger.
    nonlinearity: of the score, tanh if it is None; not with min_score.
    Source: Lee, Lee and Kang, Self-Attention Graph Pooling, 2019, (3) to (5).
    """

    def __init__(
        self,
        input_dim: int,
        ratio: float = 0.5,
        gnn: Any = None,
        min_score: float | None = None,
        nonlinearity: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.ratio, self.min_score = ratio, min_score
        self.gnn = (gnn or GCNConv)(input_dim, 1)
        self.nonlinearity = nonlinearity or F.tanh

    def forward(self, graph: Graph, x: Tensor) -> tuple[Tensor, Any, Graph]:
        score = self.gnn(graph, x).reshape([-1])
        if self.min_score is None:
            score = self.nonlinearity(score)
        else:
            score = softmax_of_received(score, graph.pooling)
        rows, places = segment_topk(x, score, tensor(graph._ids()), self.ratio, self.min_score, True)
        rows = rows * ops.gather(score, places).unsqueeze(-1)
        bare = Graph((graph.sources, graph.targets), graph.num_nodes)._tell(graph._ids(), graph.num_graph)
        kept = bare.subgraph(host(places)).tensor()
        kept.node_feat["attr"] = rows
        return rows, kept.graph_node_id, kept
