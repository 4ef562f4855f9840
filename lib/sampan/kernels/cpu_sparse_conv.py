"""Loops of sparse convolution: which place reaches which (the rulebook), rows added to rows, and pooling.

A place is [batch, z, y, x]; its number counts through a grid of `sizes`. `table` finds the entry of a place: the grid
itself where it is small (`slots` empty), else open addressing (`slots` holds the numbers, `table` the entries).
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_sparse import PARALLEL_FROM
from .registry import Loop

LARGEST_GRID = 25_000_000  # cells of 4 bytes; above it a hash table is smaller, and no slower
_EMPTY = np.int64(-1)


@njit(cache=True, inline="always")
def _slot(slots, number):  # type: ignore[no-untyped-def]
    """Where `number` stands in the hash table, or the free slot where it would. Fibonacci hashing (Knuth, 6.4)."""
    at = np.int64((np.uint64(number) * np.uint64(11400714819323198485)) >> np.uint64(20)) & (slots.size - 1)
    while slots[at] != -1 and slots[at] != number:
        at = (at + 1) & (slots.size - 1)
    return at


@njit(cache=True)
def _filled(numbers, slots, table):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        at = _slot(slots, numbers[i])
        slots[at] = numbers[i]
        table[at] = i


def table(numbers: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """(slots, table) that find the entry with each of these place numbers."""
    if cells <= LARGEST_GRID:
        grid = np.full(max(cells, 1), -1, np.int32)
        grid[numbers] = np.arange(numbers.size, dtype=np.int32)
        return np.empty(0, np.int64), grid
    size = 1 << max(int(2 * numbers.size - 1).bit_length(), 4)  # at most half full
    slots, found = np.full(size, _EMPTY, np.int64), np.full(size, -1, np.int32)
    _filled(numbers, slots, found)
    return slots, found


def _neighbours(places, sizes, offsets, stride, pad, slots, table, out):  # type: ignore[no-untyped-def]
    for i in prange(places.shape[1]):
        b, z, y, x = places[0, i], places[1, i], places[2, i], places[3, i]
        for k in range(offsets.shape[0]):
            pz = z * stride[0] - pad[0] + offsets[k, 0]
            py = y * stride[1] - pad[1] + offsets[k, 1]
            px = x * stride[2] - pad[2] + offsets[k, 2]
            found = np.int32(-1)
            if 0 <= pz < sizes[0] and 0 <= py < sizes[1] and 0 <= px < sizes[2]:
                number = ((b * sizes[0] + pz) * sizes[1] + py) * sizes[2] + px
                if slots.size == 0:
                    found = table[number]
                else:
                    found = table[_slot(slots, number)]
            out[k, i] = found


_neighbours_loop = Loop(_neighbours, 2_000, "neighbours")


def neighbours(places: Any, sizes: Any, offsets: Any, stride: Any, pad: Any, found: Any) -> np.ndarray:
    """[offsets, places]: the entry at place * stride - pad + offset, or -1. `found`: what `table` gave."""
    out = np.empty((offsets.shape[0], places.shape[1]), np.int32)
    _neighbours_loop(places, sizes, offsets, stride, pad, *found, out, size=places.shape[1])
    return out


@njit(cache=True)
def reached(places, sizes, offsets, stride, pad, into):  # type: ignore[no-untyped-def]
    """The numbers of all places p of a grid `sizes` with p * stride - pad + offset among `places`; with repeats."""
    count = 0
    for i in range(places.shape[1]):
        for k in range(offsets.shape[0]):
            z = places[1, i] + pad[0] - offsets[k, 0]
            y = places[2, i] + pad[1] - offsets[k, 1]
            x = places[3, i] + pad[2] - offsets[k, 2]
            if z % stride[0] or y % stride[1] or x % stride[2]:
                continue
            z, y, x = z // stride[0], y // stride[1], x // stride[2]
            if 0 <= z < sizes[0] and 0 <= y < sizes[1] and 0 <= x < sizes[2]:
                into[count] = ((places[0, i] * sizes[0] + z) * sizes[1] + y) * sizes[2] + x
                count += 1
    return count


@njit(cache=True)
def spread(places, sizes, offsets, stride, pad, into):  # type: ignore[no-untyped-def]
    """The numbers of all places place * stride - pad + offset inside a grid `sizes`; with repeats."""
    count = 0
    for i in range(places.shape[1]):
        for k in range(offsets.shape[0]):
            z = places[1, i] * stride[0] - pad[0] + offsets[k, 0]
            y = places[2, i] * stride[1] - pad[1] + offsets[k, 1]
            x = places[3, i] * stride[2] - pad[2] + offsets[k, 2]
            if 0 <= z < sizes[0] and 0 <= y < sizes[1] and 0 <= x < sizes[2]:
                into[count] = ((places[0, i] * sizes[0] + z) * sizes[1] + y) * sizes[2] + x
                count += 1
    return count


def _add_rows(out, places, values):  # type: ignore[no-untyped-def]
    for i in prange(places.size):
        row, value = out[places[i]], values[i]
        for j in range(row.size):
            row[j] += value[j]


_add_rows_loop = Loop(_add_rows, PARALLEL_FROM, "add_rows")


def add_rows(out: Any, places: Any, values: Any) -> None:
    """out[places[i]] += values[i], where no place occurs twice."""
    _add_rows_loop(out, places, values, size=values.size)


def _largest(near, x, out, winner):  # type: ignore[no-untyped-def]
    for i in prange(near.shape[1]):
        first = True
        for k in range(near.shape[0]):
            e = near[k, i]
            if e < 0:
                continue
            for c in range(x.shape[1]):
                if first or x[e, c] > out[i, c] or x[e, c] != x[e, c]:
                    out[i, c] = x[e, c]
                    winner[i, c] = e
            first = False


_largest_loop = Loop(_largest, PARALLEL_FROM, "sparse_max_pool")


def largest(near: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each place's neighbours, channel by channel, and which entry it was; nan carries on."""
    out, winner = (
        np.empty((near.shape[1], x.shape[1]), x.dtype),
        np.empty((near.shape[1], x.shape[1]), np.int64),
    )
    _largest_loop(near, x, out, winner, size=near.size * x.shape[1])
    return out, winner
