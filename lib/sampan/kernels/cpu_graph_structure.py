"""Loops that turn a list of edges into compressed rows.

The edges of a graph come in any order. `compress` groups them by one end with a counting sort in two steps:
first into buckets of neighbouring rows, which are written one after another, then within each bucket, which
fits in the cache. Both steps keep the order of the edges, so the result does not depend on the number of
threads.
"""

import numpy as np
from numba import prange

from .cpu_sparse_structure import bucket_sizes
from .loops import Loop, in_both_forms

CHUNK = 1 << 18  # edges that one thread puts into buckets at a time
BUCKETS = 512  # at most: as many open places as the second-level cache holds
SERIAL_BELOW = 20_000  # edges


def _copy_checked(values, limit, owned, wrong):
    """Copy to int32 and note per chunk one value outside of [0, limit): `wrong` stays -1 where none is."""
    for c in prange(wrong.size):
        for e in range(c * CHUNK, min((c + 1) * CHUNK, values.size)):
            value = np.int64(values[e])
            if value < 0 or value >= limit:
                wrong[c] = e
                value = np.int64(0)
            owned[e] = value


def _into_buckets(rows, columns, shift, places, bucketed):
    for c in prange(places.shape[0]):
        place = places[c]
        for e in range(c * CHUNK, min((c + 1) * CHUNK, rows.size)):
            bucket = rows[e] >> shift
            at = place[bucket]
            bucketed[at, 0], bucketed[at, 1], bucketed[at, 2] = rows[e], columns[e], e
            place[bucket] = at + 1


def _sort_buckets(bounds, bucketed, shift, starts, neighbours, edges):
    for bucket in prange(bounds.size - 1):
        low = bucket << shift
        high = min(low + (1 << shift), starts.size - 1)
        begin, end = bounds[bucket], bounds[bucket + 1]
        next_place = np.zeros(high - low + 1, np.int64)
        for i in range(begin, end):
            next_place[bucketed[i, 0] - low + 1] += 1
        next_place[0] = begin
        for r in range(high - low):
            next_place[r + 1] += next_place[r]
            starts[low + r] = next_place[r]
        for i in range(begin, end):
            r = bucketed[i, 0] - low
            at = next_place[r]
            neighbours[at], edges[at] = bucketed[i, 1], bucketed[i, 2]
            next_place[r] = at + 1


_copy_loop = Loop(_copy_checked, SERIAL_BELOW, "copy_checked")
_into_loop = Loop(_into_buckets, SERIAL_BELOW, "into_buckets")
_sort_loop = Loop(_sort_buckets, SERIAL_BELOW, "sort_buckets")


def copy_checked(values: np.ndarray, limit: int) -> tuple[np.ndarray, int]:
    """(int32 copy, place of a value outside of [0, limit) or -1).

    Each value is read once, so the copy is in range whatever is written to `values` meanwhile.
    """
    owned = np.empty(values.size, np.int32)
    wrong = np.full(max(-(-values.size // CHUNK), 1), -1, np.int64)
    _copy_loop(values, limit, owned, wrong, size=values.size)
    return owned, int(wrong.max())


def compress(rows: np.ndarray, columns: np.ndarray, height: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(starts [height + 1], neighbours [edges], edges [edges]), all int32, of checked int32 `rows` and
    `columns`: the edges of row r are edges[starts[r]:starts[r + 1]], in their order, and lead to
    `neighbours`."""
    count = rows.size
    starts = np.empty(height + 1, np.int32)
    neighbours, edges = np.empty(count, np.int32), np.empty(count, np.int32)
    starts[height] = count
    if height == 0:
        return starts, neighbours, edges
    shift = max((height - 1).bit_length() - (BUCKETS - 1).bit_length(), 0)
    buckets = ((height - 1) >> shift) + 1
    sizes = np.zeros((max(-(-count // CHUNK), 1), buckets), np.int64)
    bucket_sizes(rows, shift, CHUNK, sizes, size=count)
    ends = np.append(0, np.cumsum(sizes.T))  # bucket after bucket, in each of them chunk after chunk
    places = ends[:-1].reshape(sizes.shape[::-1]).T.copy()
    bucketed = np.empty((count, 3), np.int32)  # row, column and number of each edge
    _into_loop(rows, columns, shift, places, bucketed, size=count)
    bounds = ends[:: len(sizes)].copy()
    _sort_loop(bounds, bucketed, shift, starts, neighbours, edges, size=count)
    return starts, neighbours, edges


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        for kind in (np.int32, np.int64):
            ends, _ = copy_checked(np.arange(3, dtype=kind), 3)
        compress(ends, ends, 3)
