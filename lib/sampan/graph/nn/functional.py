"""Functions of a graph and features that layers share."""

import numpy as np

from ...creation import to_tensor
from ...dtype import default_dtype
from ...engine.tensor import Tensor
from ..graph import Graph
from ..messages import REDUCERS, receive
from ..segments import softmax_of_received

__all__ = ["degree_norm", "edge_softmax", "graph_norm", "graph_pool"]


def degree_norm(graph: Graph, mode: str = "indegree") -> Tensor:
    """1 / sqrt(degree) of each node, [nodes, 1]; a node without edges counts as one with one edge."""
    if mode not in ("indegree", "outdegree"):
        raise ValueError(f"degree_norm: mode: expected 'indegree' or 'outdegree', got {mode!r}")
    side = graph.by_target if mode == "indegree" else graph.by_source
    degrees = to_tensor(side.degrees).astype(default_dtype())
    return degrees.clip(min=1.0).pow(-0.5).reshape([-1, 1])


def edge_softmax(graph: Graph, logits: Tensor, norm_by: str = "dst") -> Tensor:
    """exp(logit) over the sum of it of all edges into the same node ("dst") or out of it ("src"). logits:
    [edges, ...]."""
    if norm_by not in ("dst", "src"):
        raise ValueError(f"edge_softmax: norm_by: expected 'dst' or 'src', got {norm_by!r}")
    return softmax_of_received(logits, graph if norm_by == "dst" else graph.routes.turned)


def graph_pool(graph: Graph, feature: Tensor, pool_type: str = "sum") -> Tensor:
    """The sum, mean, max or min of the nodes of each graph of a batch: [nodes, ...] to [graphs, ...], 0 for a
    graph without nodes. See `Graph.batch`."""
    if pool_type not in REDUCERS:
        raise ValueError(f"graph_pool: pool_type: expected one of {', '.join(REDUCERS)}, got {pool_type!r}")
    return receive(feature, graph.pooling, pool_type)


def graph_norm(graph: Graph, feature: Tensor) -> Tensor:
    """Features [nodes, ...] over the square root of the number of nodes of their graph.

    Source: Dwivedi et al., Benchmarking Graph Neural Networks, 2020, section 2.
    """
    counts = np.bincount(graph.pooling.targets, minlength=1)[graph.pooling.targets]
    scale = to_tensor(counts).astype(feature.dtype).pow(-0.5)
    return feature * scale.reshape([-1, *[1] * (feature.ndim - 1)])
