"""A graph in one piece, and whether shards sample as it does."""

from typing import Any

import numpy as np

from sampan.graph import Graph

RNG = np.random.default_rng(0)
NODES, EDGES = 300, 3_000
GRAPH = Graph(
    (RNG.integers(0, NODES, EDGES), RNG.integers(0, NODES - 5, EDGES)),
    NODES,
    node_feat={"x": RNG.random((NODES, 3)), "label": np.arange(NODES)},
    edge_feat={"w": RNG.random(EDGES, np.float32), "time": np.arange(EDGES)},
)
PARTS = ("nodes", "sources", "targets", "edges", "seeds")


def same(found: Any, expected: Any) -> None:
    for part in PARTS:
        assert getattr(found, part).tolist() == getattr(expected, part).tolist(), part
    assert found.node_counts == expected.node_counts
    assert found.edge_counts == expected.edge_counts
