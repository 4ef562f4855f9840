"""The sampled neighbourhood of a node, and the messages of each layer over it. Independent of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """What `k_hop` found around `node`. nodes: the node first, then hop after hop; sources, targets: ids of the ends
    of each edge; node_counts (the node's 1 first) and edge_counts: of each hop."""

    node: int
    fan_outs: tuple[int, ...]
    nodes: Ids
    sources: Ids
    targets: Ids
    node_counts: tuple[int, ...]
    edge_counts: tuple[int, ...]

    @property
    def layers(self) -> int:
        return len(self.edge_counts)

    @property
    def hops(self) -> dict[int, int]:
        """How far each node is from the first."""
        return dict(
            zip(
                self.nodes.tolist(),
                np.repeat(np.arange(len(self.node_counts)), self.node_counts),
                strict=True,
            )
        )

    def messages(self, layer: int) -> tuple[Ids, Ids]:
        """(sources, targets) of the edges that carry messages in a layer, from 1: the last needs those into the node
        alone, each one before it a hop more. Layer 0: all edges."""
        count = sum(self.edge_counts[: self.layers - max(layer, 1) + 1])
        return self.sources[:count], self.targets[:count]


def neighbourhood(graph: Any, node: int, fan_outs: Sequence[int], seed: int) -> Neighbourhood:
    """The edges into `node` that `sampan.graph.k_hop` draws, hop after hop; -1 takes all of a hop."""
    from sampan.graph import k_hop

    found = k_hop(graph, [node], list(fan_outs), seed=seed)
    nodes = found.nodes.numpy()
    return Neighbourhood(
        node, tuple(fan_outs), nodes, nodes[found.sources.numpy()], nodes[found.targets.numpy()],
        tuple(int(n) for n in found.node_counts), tuple(int(n) for n in found.edge_counts),
    )  # fmt: skip
