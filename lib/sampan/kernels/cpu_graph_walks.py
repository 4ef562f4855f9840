"""Loops that walk over compressed rows.

Walkers go in blocks of 256 that move in step: first all ask where their row lies, then all read the neighbour
that they drew, so that waits for memory overlap. A block draws from a stream of its own (see
`cpu_graph_sampling`), so a walk does not depend on the number of threads.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_graph_sampling import STEP, below, fraction, mixed, stream
from .cpu_sparse_machine import prefetch
from .loops import Loop, in_both_forms

BLOCK = 256  # walkers
PARALLEL_FROM = 2_000  # steps of all walkers
TUPLE = 4  # relations of a path that one compiled loop serves; more take the next power of two
TRIES = 16  # draws of a biased step before its row is read in full


def _walked(starts_of, neighbours_of, order, nodes, seed, walks):
    blocks = (nodes.size + BLOCK - 1) // BLOCK
    for block in prange(blocks):
        begin = block * BLOCK
        count = min(BLOCK, nodes.size - begin)
        at, places = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
        for w in range(count):
            at[w] = walks[begin + w, 0] = nodes[begin + w]
        state = stream(seed, block)
        for step in range(order.size):
            starts, neighbours = starts_of[order[step]], neighbours_of[order[step]]
            following = starts_of[order[min(step + 1, order.size - 1)]]
            for w in range(count):
                node, places[w] = at[w], -1
                state += STEP
                if node < 0:
                    continue
                low = np.int64(starts[node])
                degree = np.int64(starts[node + 1]) - low
                place = low + below(mixed(state), degree)
                prefetch(neighbours, place)
                places[w] = place if degree > 0 else -1
            for w in range(count):
                place = places[w]
                node = np.int64(neighbours[place]) if place >= 0 else np.int64(-1)
                prefetch(following, max(node, 0))
                at[w] = walks[begin + w, step + 1] = node


_walks_loop = Loop(_walked, PARALLEL_FROM, "random_walks")


def walks(relations: Any, order: Any, nodes: Any, seed: int, kind: Any) -> np.ndarray:
    """[walkers, steps + 1]: from each of `nodes`, step i along an edge of relations[order[i]], each edge of
    the row equally likely; -1 after a row without edges.

    relations: a list of (starts, neighbours), the library's own, checked int32; where one leads is a row of
    the next. kind: the dtype of the result.
    """
    found = np.empty((nodes.size, order.size + 1), kind)
    size = TUPLE if len(relations) <= TUPLE else 1 << (len(relations) - 1).bit_length()
    padded = (*relations, *[relations[0]] * (size - len(relations)))
    starts, neighbours = zip(*padded, strict=True)
    _walks_loop(starts, neighbours, order, nodes, np.uint64(seed), found, size=found.size)
    return found


# --- node2vec -----------------------------------------------------------------------------------------------


def _sorted_rows(starts, neighbours, out):
    for row in prange(starts.size - 1):
        part = neighbours[starts[row] : starts[row + 1]].copy()
        part.sort()
        out[starts[row] : starts[row + 1]] = part


@njit(inline="always")
def _among(ascending, low, high, node):
    """Whether a row has a node: a binary search."""
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _bias(starts, ascending, before, node, back, out):
    """The weight of a step to `node` after one from `before`."""
    if node == before:
        return back
    stop = np.int64(starts[before + 1])
    place = _among(ascending, np.int64(starts[before]), stop, node)
    return 1.0 if place < stop and ascending[place] == node else out


@njit
def _biased(starts, neighbours, ascending, node, before, back, out, state):
    """The place of the next step; `state` is a fresh stream."""
    low = np.int64(starts[node])
    degree = np.int64(starts[node + 1]) - low
    highest = max(back, 1.0, out)
    for _ in range(TRIES):  # a place that any step may take, kept with the probability of its weight
        state += STEP
        place = low + below(mixed(state), degree)
        state += STEP
        bias = _bias(starts, ascending, before, neighbours[place], back, out)
        if fraction(mixed(state)) * highest < bias:
            return place
    total = 0.0
    for place in range(low, low + degree):
        total += _bias(starts, ascending, before, neighbours[place], back, out)
    state += STEP
    left = fraction(mixed(state)) * total
    for place in range(low, low + degree):
        left -= _bias(starts, ascending, before, neighbours[place], back, out)
        if left < 0:
            return place
    return low + degree - 1


def _walked_biased(starts, neighbours, ascending, nodes, back, out, seed, walks):
    for w in prange(nodes.size):
        walk, at = walks[w], np.int64(nodes[w])
        walk[0] = at
        base = stream(seed, w)
        for step in range(1, walk.size):
            if at >= 0:
                low = np.int64(starts[at])
                degree = np.int64(starts[at + 1]) - low
                if degree == 0:
                    at = np.int64(-1)
                elif step == 1:
                    at = np.int64(neighbours[low + below(mixed(base), degree)])
                else:
                    state = stream(base, step)
                    at = np.int64(
                        neighbours[
                            _biased(starts, neighbours, ascending, at, walk[step - 2], back, out, state)
                        ]
                    )
            walk[step] = at


_sort_loop = Loop(_sorted_rows, PARALLEL_FROM, "sorted_rows")
_biased_loop = Loop(_walked_biased, PARALLEL_FROM, "node2vec_walks")


def sorted_rows(starts: Any, neighbours: Any) -> np.ndarray:
    """The neighbours of each row in ascending order."""
    out = np.empty_like(neighbours)
    _sort_loop(starts, neighbours, out, size=neighbours.size)
    return out


def biased_walks(
    starts: Any, neighbours: Any, ascending: Any, nodes: Any, steps: int, p: float, q: float, seed: int
) -> np.ndarray:
    """[walkers, steps + 1] int64: walks of node2vec; see `graph.node2vec_walks`. ascending: of
    `sorted_rows`."""
    found = np.empty((nodes.size, steps + 1), np.int64)
    _biased_loop(
        starts, neighbours, ascending, nodes, 1.0 / p, 1.0 / q, np.uint64(seed), found, size=found.size
    )
    return found


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    starts, nodes = np.array([0, 1, 2], np.int32), np.array([0, 1], np.int32)
    for _ in in_both_forms():
        walks([(starts, nodes)], np.zeros(1, np.int64), nodes, 0, np.int64)
        biased_walks(starts, nodes, sorted_rows(starts, nodes), nodes, 2, 1.0, 1.0, 0)
