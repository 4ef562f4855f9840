"""Meta-paths and how many instances they have. Independent of widgets.

How many instances there are in all, and where those from one node lead, are products of matrices with vectors: cheap
for any path. Pairs need products of matrices, so they are counted only where they are few enough.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PAIRS = 20_000_000
MOST_STEPS = 8
_BETWEEN = re.compile(r"\s*(?:->|→|>|,|，|、|-)\s*")


@dataclass(frozen=True, eq=False)
class Count:
    """instances: of the whole path (exact up to 2^53); from_node: to each node of the last type, from `node`; pairs:
    how many pairs of nodes are joined, None if there may be more than `MOST_PAIRS`."""

    path: list[str]
    node: int
    instances: float
    from_node: NDArray[np.float64]
    pairs: int | None
    seconds: float

    def top(self, most: int = 8) -> list[tuple[int, int]]:
        """(node, instances), the largest first; without the node itself where the path ends at its type."""
        order = np.argsort(-self.from_node, kind="stable")
        own = self.node if self.path[0] == self.path[-1] else -1
        return [
            (int(i), int(self.from_node[i])) for i in order[: most + 1] if self.from_node[i] and i != own
        ][:most]


def parsed(text: str) -> list[str]:
    """The names in a path as it was typed: "author -> paper -> venue", with arrows, commas or hyphens."""
    return [name for name in _BETWEEN.split(text.strip()) if name]


def next_steps(graph: Any, node_type: str) -> list[tuple[str, str]]:
    """(relation, node type) of every step that leads on from a type; a relation that is walked backwards has ⁻¹."""
    found = []
    for source, relation, target in graph.relations:
        if source == node_type:
            found.append((relation, target))
        if target == node_type and source != target:
            found.append((f"{relation}⁻¹", source))
    return found


def count(graph: Any, path: Sequence[str], node: int = 0) -> Count:
    """Counts the instances of a path. Raises ValueError for one that cannot be walked or is too long."""
    from sampan.graph import meta_path

    began = time.perf_counter()
    steps = _steps(graph, list(path))
    if len(steps) > MOST_STEPS:
        raise ValueError(f"path: expected at most {MOST_STEPS} steps, got {len(steps)}")
    sides = [graph.along(step) for step in steps]
    first, last = graph.node_types[steps[0].source], graph.node_types[steps[-1].target]
    if not 0 <= node < first:
        raise ValueError(f"node: expected 0 to {first - 1} of {steps[0].source}, got {node}")
    total, own = np.ones(first), np.zeros(first)
    own[node] = 1.0
    for side in sides:
        total, own = _along(side, total), _along(side, own)
    instances = float(total.sum())
    few = min(instances, first * last) <= MOST_PAIRS and _work(sides) <= 10 * MOST_PAIRS
    pairs = int(meta_path.counts(sides).num_pairs) if few else None
    return Count(list(path), node, instances, own, pairs, time.perf_counter() - began)


def _steps(graph: Any, path: list[str]) -> list[Any]:
    """The steps of a path in which a relation may be left out where only one joins two types."""
    if len(path) < 2:
        raise ValueError(f"path: expected two node types or more, got {path}")
    found, at = [], 0
    while at < len(path) - 1:
        end = at + 1 if path[at + 1] in graph.node_types else at + 2
        found += graph.steps(path[at : end + 1])
        at = end
    return found


def _along(side: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What arrives at each node when every node sends its value along its edges."""
    arrived = np.bincount(side.neighbours, np.repeat(values, side.degrees), side.width)
    return arrived.astype(np.float64)


def _work(sides: Sequence[Any]) -> float:
    """At most this many multiplications for the pairs: those of the path from its first type on."""
    reached, most = np.ones(sides[0].height), 0.0
    for side in sides:
        reached = _along(side, reached)
        most = max(most, float(reached.sum()))
    return most
