"""Functions of a graph and features that layers share."""

from ...creation import to_tensor
from ...dtype import default_dtype
from ...engine.tensor import Tensor
from ..graph import Graph
from ..segments import softmax_of_received

__all__ = ["degree_norm", "edge_softmax"]


def degree_norm(graph: Graph, mode: str = "indegree") -> Tensor:
    """1 / sqrt(degree) of each node, [nodes, 1]; a node without edges counts as one with one edge."""
    if mode not in ("indegree", "outdegree"):
        raise ValueError(f"degree_norm: mode: expected 'indegree' or 'outdegree', got {mode!r}")
    side = graph.by_target if mode == "indegree" else graph.by_source
    degrees = to_tensor(side.degrees).astype(default_dtype())
    return degrees.clip(min=1.0).pow(-0.5).reshape([-1, 1])


def edge_softmax(graph: Graph, logits: Tensor) -> Tensor:
    """exp(logit) over the sum of it of all edges into the same node. logits: [edges, ...]."""
    return softmax_of_received(logits, graph)
