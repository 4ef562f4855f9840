"""Convolutions that send features several hops along D^-1/2 A D^-1/2, and others with few weights.

Names and arguments are those of PGL (github.com/PaddlePaddle/PGL); see `conv` for A and D.
"""

import math
from typing import Any

import numpy as np

from ... import nn
from ...engine.tensor import Tensor
from ...nn import functional as F
from ..graph import Graph
from .conv import Activation, _activation
from .functional import degree_norm

__all__ = ["GCNII", "FAConv", "GPRConv", "NGCFConv", "SGCConv", "SSGCConv"]


def _sent(graph: Graph, x: Tensor, norm: Tensor) -> Tensor:
    """D^-1/2 A D^-1/2 x."""
    return graph.send_recv(x * norm) * norm


class SGCConv(nn.Layer):
    """(D^-1/2 A D^-1/2)^k_hop X W + b.

    cached: what is sent is not computed again while graph and feature are the same objects; change none of
    them in place. bias: whether there is b.
    Source: Wu et al., Simplifying Graph Convolutional Networks, 2019, (8).
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        k_hop: int = 2,
        cached: bool = True,
        activation: Activation = None,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.k_hop, self.cached, self.activation = k_hop, cached, _activation(activation)
        self.linear = nn.Linear(input_size, output_size, bias_attr=False)
        self.bias = self.create_parameter([output_size], is_bias=True) if bias else None
        self._kept: tuple[Any, Any, Any] = (None, None, None)  # graph, feature, what was sent

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        if self.cached and self._kept[0] is graph and self._kept[1] is feature:
            found: Tensor = self._kept[2]
        else:
            found = self.propagated(graph, feature)
            if self.cached and feature.stop_gradient:
                self._kept = graph, feature, found
        output = self.linear(found)
        return self.activation(output if self.bias is None else output + self.bias)

    def propagated(self, graph: Graph, feature: Tensor) -> Tensor:
        norm = degree_norm(graph)
        for _ in range(self.k_hop):
            feature = _sent(graph, feature, norm)
        return feature


class SSGCConv(SGCConv):
    """((1/k_hop) (X + the sum over k = 1 to k_hop of (1 - alpha)^k (D^-1/2 A D^-1/2)^k X) + alpha X) W + b.

    cached, bias: see SGCConv. The powers of 1 - alpha are PGL's; the paper has the first power throughout.
    Source: Zhu and Koniusz, Simple Spectral Graph Convolution, 2021, (8).
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        k_hop: int = 16,
        alpha: float = 0.05,
        cached: bool = True,
        activation: Activation = None,
        bias: bool = False,
    ) -> None:
        super().__init__(input_size, output_size, k_hop, cached, activation, bias)
        self.alpha = alpha

    def propagated(self, graph: Graph, feature: Tensor) -> Tensor:
        norm = degree_norm(graph)
        last = total = feature
        for _ in range(self.k_hop):
            last = _sent(graph, last, norm) * (1 - self.alpha)
            total = total + last
        return total / self.k_hop + feature * self.alpha


def _gammas(method: str, alpha: float, k_hop: int, given: Any) -> np.ndarray:
    """How much each hop of GPRConv counts at first."""
    hops = np.arange(k_hop + 1)
    if method == "WS":
        return np.asarray(given, np.float64)
    if method == "SGC":
        return (hops == alpha).astype(np.float64)
    if method == "PPR":
        made: np.ndarray = alpha * (1 - alpha) ** hops
        made[-1] = (1 - alpha) ** k_hop
        return made
    if method == "NPPR":
        made = float(alpha) ** hops
    elif method == "Random":
        bound = math.sqrt(3 / (k_hop + 1))
        made = np.random.uniform(-bound, bound, k_hop + 1)
    else:
        raise ValueError(f"GPRConv: init_method: expected SGC, PPR, NPPR, Random or WS, got {method!r}")
    return made / np.abs(made).sum()


class GPRConv(nn.Layer):
    """The sum over k = 0 to k_hop of gamma_k (D^-1/2 A D^-1/2)^k H, with H = MLP(X) and trained gammas.

    drop: dropout before both linear layers; dprate: of H. init_method: "PPR" (alpha (1 - alpha)^k), "NPPR"
    (alpha^k), "SGC" (1 for k = alpha), "Random", or "WS": the array `gamma` [k_hop + 1]. self_loop: as if
    each node had exactly one edge to itself.
    Source: Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021, (2).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        output_size: int,
        drop: float = 0.5,
        dprate: float = 0.5,
        activation: Activation = "relu",
        self_loop: bool = False,
        alpha: float = 0.1,
        k_hop: int = 10,
        init_method: str = "PPR",
        gamma: Any = None,
    ) -> None:
        super().__init__()
        first = _gammas(init_method, alpha, k_hop, gamma)
        if first.shape != (k_hop + 1,):
            raise ValueError(f"GPRConv: gamma: expected shape [{k_hop + 1}], got {list(first.shape)}")
        self.k_hop, self.self_loop, self.activation = k_hop, self_loop, _activation(activation)
        self.temp: Any = self.create_parameter([k_hop + 1], default_initializer=nn.initializer.Assign(first))
        self.linear_1, self.linear_2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)
        self.feat_dropout_1, self.feat_dropout_2 = nn.Dropout(drop), nn.Dropout(dprate)

    def forward(self, graph: Graph, feature: Tensor, norm: Tensor | None = None) -> Tensor:
        if self.self_loop:
            bare = Graph((graph.sources, graph.targets), graph.num_nodes)
            graph = bare.remove_self_loops().add_self_loops()
        hidden = self.activation(self.linear_1(self.feat_dropout_1(feature)))
        sent = self.feat_dropout_2(self.linear_2(self.feat_dropout_1(hidden)))
        norm = degree_norm(graph) if norm is None else norm
        output = sent * self.temp[0]
        for hop in range(1, self.k_hop + 1):
            sent = _sent(graph, sent, norm)
            output = output + sent * self.temp[hop]
        return output


class GCNII(nn.Layer):
    """k_hop times x <- activation((1 - beta) y + beta y W_k + b_k), y = (1 - alpha) D^-1/2 A D^-1/2 x + alpha
    x_0, with beta = ln(lambda_l / k + 1).

    Source: Chen et al., Simple and Deep Graph Convolutional Networks, 2020, (5).
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Activation = None,
        lambda_l: float = 0.5,
        alpha: float = 0.2,
        k_hop: int = 10,
        dropout: float = 0.6,
    ) -> None:
        super().__init__()
        self.lambda_l, self.alpha, self.k_hop = lambda_l, alpha, k_hop
        self.activation, self.drop_fn = _activation(activation), nn.Dropout(dropout)
        self.mlps = nn.LayerList([nn.Linear(hidden_size, hidden_size) for _ in range(k_hop)])

    def forward(self, graph: Graph, feature: Tensor, norm: Tensor | None = None) -> Tensor:
        norm = degree_norm(graph) if norm is None else norm
        output = feature
        for hop, linear in enumerate(self.mlps, 1):
            beta = math.log(self.lambda_l / hop + 1)
            sent = _sent(graph, self.drop_fn(output), norm)
            mixed = feature * self.alpha + sent * (1 - self.alpha)
            output = self.activation(linear(mixed) * beta + mixed * (1 - beta))
        return output


class FAConv(nn.Layer):
    """The sum over edges of tanh(g . [x_t, x_s] + b) d_s d_t x_s, with d = 1 / sqrt(indegree).

    drop: dropout of the factors. The gate takes [x_s, x_t].
    Source: Bo et al., Beyond Low-frequency Information in Graph Convolutional Networks, 2021, (4) and (5).
    """

    def __init__(self, hidden_size: int, drop: float = 0.5) -> None:
        super().__init__()
        self.hidden_size, self.dropout = hidden_size, nn.Dropout(drop)
        self.gate = nn.Linear(2 * hidden_size, 1)

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        weight: Any = self.gate.weight
        norm = degree_norm(graph)
        sources = feature.matmul(weight[: self.hidden_size])
        targets = feature.matmul(weight[self.hidden_size :]) + self.gate.bias
        factors = F.tanh(graph.send_uv(sources, targets, "add")) * graph.send_uv(norm, norm, "mul")
        return graph.send_ue_recv(feature, self.dropout(factors), "mul", "sum")


class NGCFConv(nn.Layer):
    """LeakyReLU(y W_1 + b_1 + (x * y) W_2 + b_2), with y = D^-1/2 (A x + x).

    Source: Wang et al., Neural Graph Collaborative Filtering, 2019, (7), divided as PGL does.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        weight = nn.ParamAttr(initializer=nn.initializer.XavierUniform())
        bias = nn.ParamAttr(initializer=nn.initializer.XavierUniform(fan_in=1, fan_out=output_size))
        self.linear = nn.Linear(input_size, output_size, weight, bias)
        self.linear2 = nn.Linear(input_size, output_size, weight, bias)

    def forward(self, graph: Graph, feature: Tensor) -> Tensor:
        found = (graph.send_recv(feature) + feature) * degree_norm(graph)
        return F.leaky_relu(self.linear(found) + self.linear2(feature * found), 0.2)
