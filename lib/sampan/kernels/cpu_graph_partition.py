"""Loops that divide the nodes of a graph among shards: by a hash, or so that few edges are cut."""

from typing import Any

import numpy as np
from numba import njit

from .cpu_graph_sampling import STEP, below, mixed

NONE = -1  # the shard of a node that the stream has not reached yet


@njit(cache=True)
def _hashed(owner, parts):
    for node in range(owner.size):
        owner[node] = below(mixed(STEP * np.uint64(node + 1)), parts)


def hashed(nodes: int, parts: int) -> np.ndarray:
    """int32 [nodes]: a shard for each node, by SplitMix64 of its number; the same anywhere."""
    owner = np.empty(nodes, np.int32)
    _hashed(owner, parts)
    return owner


@njit(inline="always")
def _counted(starts, neighbours, node, owner, counts):
    for place in range(starts[node], starts[node + 1]):
        other = neighbours[place]
        if other != node and owner[other] >= 0:
            counts[owner[other]] += 1


@njit(cache=True)
def _streamed(in_starts, sources, out_starts, targets, capacity, passes, owner, sizes):
    counts = np.zeros(sizes.size, np.int64)
    for _ in range(passes):
        sizes[:] = 0
        for node in range(owner.size):
            counts[:] = 0
            _counted(in_starts, sources, node, owner, counts)
            _counted(out_starts, targets, node, owner, counts)
            best, most = NONE, -1.0
            for part in range(sizes.size):
                if sizes[part] >= capacity:
                    continue
                score = counts[part] * (1.0 - sizes[part] / capacity)
                if score > most or (score == most and sizes[part] < sizes[best]):
                    best, most = part, score
            owner[node] = best
            sizes[best] += 1


def streamed(by_target: Any, by_source: Any, parts: int, capacity: int, passes: int) -> np.ndarray:
    """int32 [nodes]: a shard for each node, at most `capacity` nodes in each, by restreamed linear
    deterministic greedy.

    Nodes come in the order of their numbers. Each goes to the shard p with the largest
    neighbours_in(p) * (1 - size(p) / capacity), the smaller one of equals (Stanton and Kliot, "Streaming
    graph partitioning for large distributed graphs", KDD 2012); then the stream comes again, `passes` times
    in all, and sees where the last pass left the nodes that it has not reached (Nishimura and Ugander,
    "Restreaming graph partitioning", KDD 2013).
    by_target, by_source: (starts, neighbours) of both directions, the library's own. capacity * parts: at
    least the number of nodes.
    """
    owner, sizes = np.full(by_target[0].size - 1, NONE, np.int32), np.zeros(parts, np.int64)
    (in_starts, sources), (out_starts, targets) = by_target, by_source
    _streamed(in_starts, sources, out_starts, targets, capacity, passes, owner, sizes)
    return owner


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    rows = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
    streamed(rows, rows, 2, 1, 1)
    hashed(2, 2)
