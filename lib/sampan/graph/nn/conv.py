"""Convolutions on graphs: each node combines what its neighbours send along edges.

They take a Graph and features [nodes, size]; names and arguments are those of PGL
(github.com/PaddlePaddle/PGL). No layer adds self loops: `graph.add_self_loops()` does.
"""

from collections.abc import Callable
from typing import Any

from ... import nn, ops
from ...engine.tensor import Tensor
from ...nn import functional as F
from ..graph import Graph
from ..messages import edge_dots, receive, sent, weighted_sum
from .functional import degree_norm, edge_softmax

__all__ = [
    "APPNP",
    "GATConv",
    "GATv2Conv",
    "GCNConv",
    "GINConv",
    "GraphSageConv",
    "LightGCNConv",
    "TransformerConv",
]

Activation = str | Callable[[Tensor], Tensor] | None


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if given is None:
        return lambda x: x
    found: Callable[[Tensor], Tensor] = getattr(F, given) if isinstance(given, str) else given
    return found


class GCNConv(nn.Layer):
    """D^-1/2 A D^-1/2 X W + b, where A[t, s] counts the edges from s to t and D has the indegrees.

    norm: divide by the degrees; `forward` takes factors [nodes, 1] of its own as `norm`. The smaller of the
    two sizes is sent along the edges.
    Source: Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017, (2).
    """

    def __init__(
        self, input_size: int, output_size: int, activation: Activation = None, norm: bool = True
    ) -> None:
        super().__init__()
        self.input_size, self.output_size, self.norm = input_size, output_size, norm
        self.linear = nn.Linear(input_size, output_size, bias_attr=False)
        self.bias = self.create_parameter([output_size], is_bias=True)
        self.activation = _activation(activation)

    def forward(self, graph: Graph, feature: Tensor, norm: Tensor | None = None) -> Tensor:
        if self.norm and norm is None:
            norm = degree_norm(graph)
        first = self.input_size > self.output_size
        sent = self.linear(feature) if first else feature
        received = graph.send_recv(sent if norm is None else sent * norm)
        output = received if first else self.linear(received)
        return self.activation((output if norm is None else output * norm) + self.bias)


class GraphSageConv(nn.Layer):
    """X W_1 + b_1 + aggregate(X of the sources) W_2 + b_2, and each row divided by its length.

    aggr_func: sum, mean, max or min. normalize: divide rows by their lengths. feature: [nodes, size], or a
    pair (of the sources, of the targets).
    Source: Hamilton, Ying and Leskovec, Inductive Representation Learning on Large Graphs, 2017, algorithm 1.
    """

    def __init__(
        self, input_size: int, hidden_size: int, aggr_func: str = "sum", normalize: bool = True
    ) -> None:
        super().__init__()
        if aggr_func not in ("sum", "mean", "max", "min"):
            raise ValueError(f"GraphSageConv: aggr_func: expected sum, mean, max or min, got {aggr_func!r}")
        self.aggr_func, self.normalize = aggr_func, normalize
        self.self_linear = nn.Linear(input_size, hidden_size)
        self.neigh_linear = nn.Linear(input_size, hidden_size)

    def forward(self, graph: Graph, feature: Any, act: str | None = None) -> Tensor:
        sources, targets = feature if isinstance(feature, tuple | list) else (feature, feature)
        received = graph.send_recv(sources, self.aggr_func, out_size=targets.shape[0])
        output = _activation(act)(self.self_linear(targets) + self.neigh_linear(received))
        return F.normalize(output, axis=1) if self.normalize else output


class _Attention(nn.Layer):
    """What the two attention layers share: heads, dropout, and what happens after the logits of the edges."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        feat_drop: float = 0.6,
        attn_drop: float = 0.6,
        num_heads: int = 1,
        concat: bool = True,
        activation: Activation = None,
    ) -> None:
        super().__init__()
        self.hidden_size, self.num_heads, self.concat = hidden_size, num_heads, concat
        self.linear = nn.Linear(input_size, num_heads * hidden_size)
        self.feat_dropout, self.attn_dropout = nn.Dropout(feat_drop), nn.Dropout(attn_drop)
        self.activation = _activation(activation)

    def logits(self, graph: Graph, x: Tensor) -> Tensor:
        """x: [nodes, heads, size]; returns [edges, heads]."""
        raise NotImplementedError

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        x = self.linear(self.feat_dropout(feature)).reshape([-1, self.num_heads, self.hidden_size])
        weights = self.attn_dropout(edge_softmax(graph, self.logits(graph, x)))
        output = graph.send_ue_recv(x, weights.unsqueeze(-1), "mul", "sum")  # [nodes, heads, size]
        output = output.flatten(1) if self.concat else output.mean(1)
        return self.activation(output)


class GATConv(_Attention):
    """Each head sums softmax(LeakyReLU(a_s . W x_s + a_t . W x_t)) W x_s over the edges into a node.

    feat_drop, attn_drop: dropout of features and of weights. concat: heads one after another,
    [nodes, heads * hidden_size]; else their mean.
    Source: Velickovic et al., Graph Attention Networks, 2018, (3) to (6).
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.weight_src = self.create_parameter([self.num_heads, self.hidden_size])
        self.weight_dst = self.create_parameter([self.num_heads, self.hidden_size])

    def logits(self, graph: Graph, x: Tensor) -> Tensor:
        sources, targets = (x * self.weight_src).sum(-1), (x * self.weight_dst).sum(-1)
        return F.leaky_relu(graph.send_uv(sources, targets, "add"), 0.2)


class GATv2Conv(_Attention):
    """As GATConv, with the weights softmax(a . LeakyReLU(W x_s + W x_t)).

    Source: Brody, Alon and Yahav, How Attentive are Graph Attention Networks?, 2022, (7).
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.attn = self.create_parameter([1, self.num_heads, self.hidden_size])

    def logits(self, graph: Graph, x: Tensor) -> Tensor:
        return (F.leaky_relu(graph.send_uv(x, x, "add"), 0.2) * self.attn).sum(-1)


class TransformerConv(nn.Layer):
    """Each head sums softmax(q_t . (k_s + e) / sqrt(size)) (v_s + e) over the edges into a node, beside a
    linear layer of the node's own features.

    hidden_size: of a head. concat: heads one after another, else their mean. skip_feat: adds W x; gate:
    mixes the two by sigmoid(w . [W x, sum, W x - sum]). layer_norm: normalises before the activation.
    forward(graph, feature, edge_feat): edge_feat e, [edges, num_heads * hidden_size] or None.
    Source: Shi et al., Masked Label Prediction: Unified Message Passing Model, 2021, (3) to (5).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_heads: int = 4,
        feat_drop: float = 0.6,
        attn_drop: float = 0.6,
        concat: bool = True,
        skip_feat: bool = True,
        gate: bool = False,
        layer_norm: bool = True,
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.hidden_size, self.num_heads, self.concat = hidden_size, num_heads, concat
        width = num_heads * hidden_size
        self.q, self.k, self.v = (nn.Linear(input_size, width) for _ in range(3))
        self.feat_dropout, self.attn_dropout = nn.Dropout(feat_drop), nn.Dropout(attn_drop)
        size = width if concat else hidden_size
        self.skip_feat = nn.Linear(input_size, size) if skip_feat else None
        self.gate = nn.Linear(3 * size, 1) if gate else None
        self.layer_norm = nn.LayerNorm(size) if layer_norm else None
        self.activation = _activation(activation)

    def forward(self, graph: Graph, feature: Tensor, edge_feat: Tensor | None = None) -> Tensor:
        feature = self.feat_dropout(feature)
        shape = [-1, self.num_heads, self.hidden_size]
        q, k, v = (linear(feature).reshape(shape) for linear in (self.q, self.k, self.v))
        q = q / self.hidden_size**0.5
        logits = edge_dots(q, k, graph.routes)
        if edge_feat is not None:
            edge_feat = self.feat_dropout(edge_feat).reshape(shape)
            logits = logits + (sent(q, graph.routes.turned) * edge_feat).sum(-1)
        weights = self.attn_dropout(edge_softmax(graph, logits))
        output = weighted_sum(weights, v, graph.routes)
        if edge_feat is not None:
            output = output + receive(edge_feat * weights.unsqueeze(-1), graph.routes.arriving)
        return self._finished(feature, output.flatten(1) if self.concat else output.mean(1))

    def _finished(self, feature: Tensor, output: Tensor) -> Tensor:
        if self.skip_feat is not None:
            skipped = self.skip_feat(feature)
            if self.gate is None:
                output = skipped + output
            else:
                share = F.sigmoid(self.gate(ops.concat([skipped, output, skipped - output], -1)))
                output = share * skipped + (1 - share) * output
        return self.activation(output if self.layer_norm is None else self.layer_norm(output))


class GINConv(nn.Layer):
    """MLP((1 + epsilon) x + the sum of the neighbours), with two linear layers and a normalisation between.

    train_eps: epsilon is a parameter [1, 1], `init_eps` at first; else it is that number.
    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, (4.1).
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        activation: Activation = None,
        init_eps: float = 0.0,
        train_eps: bool = False,
    ) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(input_size, output_size), nn.Linear(output_size, output_size)
        self.layer_norm, self.activation = nn.LayerNorm(output_size), _activation(activation)
        constant = nn.initializer.Constant(init_eps)
        self.epsilon: Any = (
            self.create_parameter([1, 1], default_initializer=constant) if train_eps else init_eps
        )

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        output = graph.send_recv(feature) + feature * (self.epsilon + 1.0)
        return self.linear2(self.activation(self.layer_norm(self.linear1(output))))


class APPNP(nn.Layer):
    """k_hop times x <- (1 - alpha) D^-1/2 A D^-1/2 x + alpha x_0, without weights.

    self_loop: as if each node had exactly one edge to itself.
    Source: Gasteiger, Bojchevski and Günnemann, Predict then Propagate, 2019, (4).
    """

    def __init__(self, alpha: float = 0.2, k_hop: int = 10, self_loop: bool = False) -> None:
        super().__init__()
        self.alpha, self.k_hop, self.self_loop = alpha, k_hop, self_loop

    def forward(self, graph: Graph, feature: Tensor, norm: Tensor | None = None) -> Tensor:
        if self.self_loop:
            bare = Graph((graph.sources, graph.targets), graph.num_nodes)
            graph = bare.remove_self_loops().add_self_loops()
        norm = degree_norm(graph) if norm is None else norm
        output = feature
        for _ in range(self.k_hop):
            output = graph.send_recv(output * norm) * norm * (1 - self.alpha) + feature * self.alpha
        return output


class LightGCNConv(nn.Layer):
    """D^-1/2 A D^-1/2 X, without weights.

    Source: He et al., LightGCN: Simplifying and Powering Graph Convolution Network for Recommendation, 2020,
    (7).
    """

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        norm = degree_norm(graph)
        return graph.send_recv(feature * norm) * norm
