"""Loops of sparse convolution: which place reaches which (the rulebook), rows added to rows, and pooling.

A place is [batch, z, y, x]; its number counts through a grid of `sizes`. `table` finds the entry of a place:
the grid itself where it is small (`slots` empty), else open addressing (`slots` holds the numbers, `table`
the entries).
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_sparse_gemm import gathered_products as gathered_products
from .cpu_sparse_gemm import outer_products as outer_products
from .cpu_sparse_gemm import warm_up as warm_up_products
from .cpu_sparse_structure import PARALLEL_FROM
from .loops import Loop

LARGEST_GRID = 25_000_000  # cells of 4 bytes; above it a hash table is smaller, and no slower
_EMPTY = np.int64(-1)
_BLOCK = 256  # places that are looked up at one offset after the other


@njit(cache=True, inline="always")
def _slot(slots, number):
    """Where `number` stands in the hash table, or the free slot where it would. Fibonacci hashing (Knuth,
    6.4)."""
    at = np.int64((np.uint64(number) * np.uint64(11400714819323198485)) >> np.uint64(20)) & (slots.size - 1)
    while slots[at] != -1 and slots[at] != number:
        at = (at + 1) & (slots.size - 1)
    return at


@njit(cache=True)
def _filled(numbers, slots, table):
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


def distinct(numbers: np.ndarray, cells: int) -> np.ndarray:
    """Ascending, each once, of numbers from 0 to cells - 1."""
    if cells <= LARGEST_GRID:
        seen = np.zeros(cells, bool)
        seen[numbers] = True
        return np.flatnonzero(seen)
    return np.unique(numbers)


def _neighbours(places, sizes, offsets, stride, pad, slots, table, mutual, out):
    count, offs = places.shape[1], offsets.shape[0]
    for block in prange((count + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        size = min(_BLOCK, count - first)
        z, y, x = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
        number, there = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
        for i in range(size):
            z[i] = places[1, first + i] * stride[0] - pad[0]
            y[i] = places[2, first + i] * stride[1] - pad[1]
            x[i] = places[3, first + i] * stride[2] - pad[2]
            number[i] = ((places[0, first + i] * sizes[0] + z[i]) * sizes[1] + y[i]) * sizes[2] + x[i]
        for k in range(offs // 2 if mutual else offs):
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            step = (dz * sizes[1] + dy) * sizes[2] + dx
            row = out[k, first : first + size]
            for i in range(row.size):  # the number at the offset, or -1 outside
                a, b, c = z[i] + dz, y[i] + dy, x[i] + dx
                inside = (a >= 0) & (a < sizes[0]) & (b >= 0) & (b < sizes[1]) & (c >= 0) & (c < sizes[2])
                there[i] = number[i] + step if inside else -1
            if slots.size == 0:
                for i in range(row.size):
                    row[i] = table[there[i]] if there[i] >= 0 else np.int32(-1)
            else:
                for i in range(row.size):
                    row[i] = table[_slot(slots, there[i])] if there[i] >= 0 else np.int32(-1)
                    if mutual and row[i] >= 0:
                        out[offs - 1 - k, row[i]] = first + i


_neighbours_loop = Loop(_neighbours, 2_000, "neighbours")


def neighbours(places: Any, sizes: Any, offsets: Any, stride: Any, pad: Any, found: Any) -> np.ndarray:
    """[offsets, places]: the entry at place * stride - pad + offset, or -1. `found`: what `table` gave."""
    out = np.empty((offsets.shape[0], places.shape[1]), np.int32)
    _neighbours_loop(places, sizes, offsets, stride, pad, *found, False, out, size=places.shape[1])
    return out


def mutual_neighbours(places: Any, sizes: Any, offsets: Any, found: Any) -> np.ndarray:
    """As `neighbours` of the places that `found` knows, in that order, by offsets with -offsets[k] =
    offsets[-1 - k].

    In a hash table half of them are looked up: who finds a neighbour is its neighbour at the opposite offset.
    In a grid looking up is as fast as writing the other way round.
    """
    zero, mutual = np.zeros(3, np.int64), bool(found[0].size)
    out = np.empty((offsets.shape[0], places.shape[1]), np.int32)
    if mutual:
        half = offsets.shape[0] // 2
        out[half] = np.arange(places.shape[1])
        out[half + 1 :] = -1
    _neighbours_loop(places, sizes, offsets, zero + 1, zero, *found, mutual, out, size=places.shape[1])
    return out


@njit(cache=True)
def reached(places, sizes, offsets, stride, pad, into):
    """The numbers of all places p of a grid `sizes` with p * stride - pad + offset among `places`; with
    repeats."""
    whole, rest = offsets // stride, offsets % stride
    count = 0
    for i in range(places.shape[1]):
        z, y, x = places[1, i] + pad[0], places[2, i] + pad[1], places[3, i] + pad[2]
        z, y, x, over_z, over_y, over_x = (
            z // stride[0],
            y // stride[1],
            x // stride[2],
            z % stride[0],
            y % stride[1],
            x % stride[2],
        )
        for k in range(offsets.shape[0]):
            if over_z != rest[k, 0] or over_y != rest[k, 1] or over_x != rest[k, 2]:
                continue
            pz, py, px = z - whole[k, 0], y - whole[k, 1], x - whole[k, 2]
            if 0 <= pz < sizes[0] and 0 <= py < sizes[1] and 0 <= px < sizes[2]:
                into[count] = ((places[0, i] * sizes[0] + pz) * sizes[1] + py) * sizes[2] + px
                count += 1
    return count


@njit(cache=True)
def spread(places, sizes, offsets, stride, pad, into):
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


def _add_rows(out, places, values):
    for i in prange(places.size):
        row, value = out[places[i]], values[i]
        for j in range(row.size):
            row[j] += value[j]


_add_rows_loop = Loop(_add_rows, PARALLEL_FROM, "add_rows")


def add_rows(out: Any, places: Any, values: Any) -> None:
    """out[places[i]] += values[i], where no place occurs twice."""
    _add_rows_loop(out, places, values, size=values.size)


def _largest(near, x, out, winner):
    for i in prange(near.shape[1]):
        top, won, first = out[i], winner[i], True
        for k in range(near.shape[0]):
            e = near[k, i]
            if e < 0:
                continue
            row = x[e]
            for c in range(row.size):
                larger = first or row[c] > top[c] or row[c] != row[c]
                top[c] = row[c] if larger else top[c]
                won[c] = e if larger else won[c]
            first = False


_largest_loop = Loop(_largest, PARALLEL_FROM, "sparse_max_pool")


def largest(near: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each place's neighbours, channel by channel, and which entry it was; nan carries on."""
    shape = (near.shape[1], x.shape[1])
    out, winner = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    _largest_loop(near, x, out, winner, size=near.size * x.shape[1])
    return out, winner


def _neighbour_sums(near, x, out):
    for i in prange(near.shape[1]):
        total = out[i]
        for c in range(total.size):
            total[c] = 0
        for k in range(near.shape[0]):
            e = near[k, i]
            if e >= 0:
                row = x[e]
                for c in range(row.size):
                    total[c] += row[c]


_neighbour_sums_loop = Loop(_neighbour_sums, PARALLEL_FROM, "sparse_sum_pool")


def neighbour_sums(near: Any, x: Any) -> np.ndarray:
    """The sum of each place's neighbours, channel by channel."""
    out = np.empty((near.shape[1], x.shape[1]), x.dtype)
    _neighbour_sums_loop(near, x, out, size=near.size * x.shape[1])
    return out


def _turned(near, out):
    for k in prange(near.shape[0]):
        row, back = near[k], out[k]
        for i in range(back.size):
            back[i] = -1
        for i in range(row.size):
            if row[i] >= 0:
                back[row[i]] = i


_turned_loop = Loop(_turned, PARALLEL_FROM, "turned_neighbours")


def turned(near: Any, count: int) -> np.ndarray:
    """[offsets, count]: for each of `count` entries the place whose neighbour it is at an offset, or -1."""
    out = np.empty((near.shape[0], count), np.int32)
    _turned_loop(near, out, size=near.size)
    return out


def warm_up() -> None:
    """Compile (or load from the cache) what a float32 network uses; the others compile when first used."""
    places, sizes, offsets = np.zeros((4, 1), np.int64), np.ones(3, np.int64), np.zeros((1, 3), np.int64)
    found, near = table(np.zeros(1, np.int64), 1), np.zeros((1, 1), np.int32)
    reached(places, sizes, offsets, sizes, sizes - 1, np.empty(1, np.int64))
    x, winner = np.ones((1, 1), np.float32), np.empty((1, 1), np.int32)
    for form in ("serial", "parallel"):
        for loop, arrays in (
            (_neighbours_loop, (places, sizes, offsets, sizes, sizes - 1, *found, False, near)),
            (_turned_loop, (near, winner)),
            (_largest_loop, (near, x, x.copy(), winner)),
            (_neighbour_sums_loop, (near, x, x.copy())),
        ):
            getattr(loop, form)(*arrays)
        warm_up_products(form)
