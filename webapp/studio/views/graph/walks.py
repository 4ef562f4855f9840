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
MOST_TEXT = 400  # characters of a path
_QUOTED = 40
_BETWEEN = re.compile(r"\s*(?:->|→|>|,|，|、|-)\s*")


class BadPath(ValueError):
    """A path that cannot be walked. `reason` is the end of a key of the page's sentences, `values` what the sentence
    names."""

    def __init__(self, reason: str, **values: object) -> None:
        super().__init__(f"{reason}: {values}")
        self.reason, self.values = reason, values


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


def parsed(text: str, graph: Any) -> list[str]:
    """The names in a path as it was typed: "author -> paper -> venue", with arrows, commas or hyphens; a node type of
    the graph in small or capital letters. Raises BadPath for a text that is too long."""
    if len(text) > MOST_TEXT:
        raise BadPath("long", most=MOST_STEPS)
    kinds = {str(kind).casefold(): str(kind) for kind in graph.node_types}
    return [kinds.get(str(name).casefold(), str(name)) for name in _BETWEEN.split(text.strip()) if name]


def next_steps(graph: Any, node_type: str) -> list[tuple[str, str]]:
    """(relation, node type) of every step that leads on from a type; a relation that is walked backwards has ⁻¹."""
    found = []
    for source, relation, target in graph.relations:
        if source == node_type:
            found.append((relation, target))
        if target == node_type:
            found.append((f"{relation}⁻¹", source))
    return found


def count(graph: Any, path: Sequence[str], node: int = 0) -> Count:
    """Counts the instances of a path. Raises BadPath for one that cannot be walked or is too long, ValueError for a
    node that its first type does not have."""
    from sampan.graph import meta_path

    began = time.perf_counter()
    steps = _steps(graph, list(path))
    if len(steps) > MOST_STEPS:
        raise BadPath("long", most=MOST_STEPS)
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


def check_begin(graph: Any, path: list[str]) -> None:
    """Raises BadPath unless the path begins with a node type."""
    if not path:
        raise BadPath("short")
    if path[0] not in graph.node_types:
        raise _unknown(graph, path[0])


def _unknown(graph: Any, name: str) -> BadPath:
    return BadPath("type", name=name[:_QUOTED], kinds=", ".join(graph.node_types))


def _steps(graph: Any, path: list[str]) -> list[Any]:
    """The steps of a path in which a relation may be left out where only one joins two types."""
    check_begin(graph, path)
    if len(path) < 2:
        raise BadPath("short")
    found, at = [], 0
    while at < len(path) - 1:
        end = at + 1 if path[at + 1] in graph.node_types else at + 2
        if end == len(path) or path[end] not in graph.node_types:
            raise _unknown(graph, path[min(end, len(path) - 1)])
        step = path[at : end + 1]
        try:
            found += graph.steps(step)
        except ValueError as error:
            leads = ", ".join(f"{relation} → {kind}" for relation, kind in next_steps(graph, step[0]))
            said = " → ".join(name[:_QUOTED] for name in step)
            raise BadPath("step", step=said, kind=step[0], steps=leads) from error
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
