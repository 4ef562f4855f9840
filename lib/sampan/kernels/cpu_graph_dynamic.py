"""Loops over rows that grow and shrink: the neighbours of each node in a graph that changes.

All rows lie in one pool; row r has the places offsets[r] to offsets[r] + lengths[r] and room for
capacities[r]. A row that is full moves to the end of the pool with twice the room. `versions[r]` is the
version of the graph in which the row was placed: places of a row that a snapshot sees are never written
again, so a row that loses an edge after a snapshot moves first.

`state` is [end, unused]: where the pool's free part begins, and how many places before it no row has.

A row keeps the order in which its edges were added. The loops are serial: the work of a batch is a few random
reads an edge, and readers wait for it.
"""

import numpy as np
from numba import njit

from .cpu_sparse_machine import prefetch

LEAST = 4  # places of a row
AHEAD = 8  # rows


@njit(inline="always")
def _row_ahead(rows, i, offsets, lengths, neighbours, edges):
    """Ask for both ends of the row that comes `AHEAD` rows later."""
    row = rows[min(i + AHEAD, rows.size - 1)]
    first, last = offsets[row], offsets[row] + lengths[row]
    prefetch(neighbours, first)
    prefetch(edges, first)
    prefetch(neighbours, last)
    prefetch(edges, last)


@njit(cache=True, nogil=True)
def _room(count):
    room = LEAST
    while room < count:
        room *= 2
    return room


@njit(cache=True, nogil=True)
def needed(rows, lengths, capacities, counts):
    """How many places at the end of the pool a batch of one more edge in each of `rows` takes at most.

    counts: zeros [rows], of which those of the batch become minus the number of its edges in the row.
    """
    total = 0
    for row in rows:
        counts[row] -= 1
    for row in rows:
        if counts[row] < 0:
            count = lengths[row] - counts[row]
            if count > capacities[row]:
                total += _room(count)
            counts[row] = -counts[row]
    for row in rows:
        counts[row] = -abs(counts[row])
    return total


@njit(cache=True, nogil=True)
def _move(row, room, state, version, offsets, lengths, capacities, versions, neighbours, edges):
    """The row to the end of the pool."""
    old, end = offsets[row], state[0]
    for i in range(lengths[row]):
        neighbours[end + i], edges[end + i] = neighbours[old + i], edges[old + i]
    state[0] += room
    state[1] += capacities[row]
    offsets[row], capacities[row], versions[row] = end, room, version


@njit(cache=True, nogil=True)
def insert(
    rows, others, numbers, counts, state, version, offsets, lengths, capacities, versions, neighbours, edges
):
    """Append edge numbers[i] to others[i] to row rows[i]. `counts` as `needed` left them; they become zeros
    again."""
    for i in range(rows.size):
        row = rows[i]
        if counts[row] < 0:
            count = lengths[row] - counts[row]
            counts[row] = 0
            if count > capacities[row]:
                room = _room(count)
                _move(row, room, state, version, offsets, lengths, capacities, versions, neighbours, edges)
        place = offsets[row] + lengths[row]
        neighbours[place], edges[place] = others[i], numbers[i]
        lengths[row] += 1


@njit(cache=True, nogil=True)
def find(rows, others, offsets, lengths, neighbours, edges, dead, found):
    """found[i] = the newest edge from rows[i] to others[i] that is not dead, which it then is.

    Returns the first i without one, or -1. The caller undoes the marks.
    """
    for i in range(rows.size):
        row, edge = rows[i], -1
        for place in range(offsets[row] + lengths[row] - 1, offsets[row] - 1, -1):
            if neighbours[place] == others[i] and not dead[edges[place]]:
                edge = edges[place]
                break
        if edge < 0:
            return i
        found[i] = edge
        dead[edge] = True
    return -1


@njit(cache=True, nogil=True)
def kept_places(rows, lengths, seen):
    """How many places the different `rows` take at most if each moves. seen: zeros [rows], zeros again
    after."""
    total = 0
    for row in rows:
        if not seen[row]:
            seen[row] = 1
            total += _room(lengths[row])
    for row in rows:
        seen[row] = 0
    return total


@njit(cache=True, nogil=True)
def mark(numbers, dead, marked):
    """Mark these edges as dead; marked[:count] = each of them once. Returns count."""
    count = 0
    for number in numbers:
        if not dead[number]:
            dead[number] = True
            marked[count] = number
            count += 1
    return count


@njit(cache=True, nogil=True)
def _without(row, number, offsets, lengths, neighbours, edges):
    """Take one edge out of a row."""
    to = offsets[row]
    for place in range(offsets[row], offsets[row] + lengths[row]):  # no branch: it could not be foretold
        edge = edges[place]
        neighbours[to], edges[to] = neighbours[place], edge
        to += edge != number
    lengths[row] = to - offsets[row]


@njit(cache=True, nogil=True)
def remove(
    rows,
    numbers,
    dead,
    counts,
    state,
    version,
    visible,
    offsets,
    lengths,
    capacities,
    versions,
    neighbours,
    edges,
):
    """Take edge numbers[i], which is dead, out of row rows[i].

    A row whose version is at most `visible`, that of the last snapshot in use, moves to the end of the pool.
    A row that loses one edge is searched for its number: to ask of each edge whether it is dead would cost
    a read from memory in no order for each. counts: zeros [rows], zeros again after.
    """
    for row in rows:
        counts[row] += 1
    for i in range(rows.size):
        _row_ahead(rows, i, offsets, lengths, neighbours, edges)
        row = rows[i]
        count, counts[row] = counts[row], 0
        if count == 0:
            continue
        if versions[row] <= visible:
            room = _room(lengths[row])
            _move(row, room, state, version, offsets, lengths, capacities, versions, neighbours, edges)
        if count == 1:
            _without(row, numbers[i], offsets, lengths, neighbours, edges)
            continue
        to = offsets[row]
        for place in range(offsets[row], offsets[row] + lengths[row]):
            if not dead[edges[place]]:
                neighbours[to], edges[to] = neighbours[place], edges[place]
                to += 1
        lengths[row] = to - offsets[row]


@njit(cache=True, nogil=True)
def gather(rows, offsets, lengths, neighbours, edges, out_neighbours, out_edges):
    """The places of `rows` one after another."""
    to = 0
    for i in range(rows.size):
        _row_ahead(rows, i, offsets, lengths, neighbours, edges)
        row = rows[i]
        for place in range(offsets[row], offsets[row] + lengths[row]):
            out_neighbours[to], out_edges[to] = neighbours[place], edges[place]
            to += 1


@njit(cache=True, nogil=True)
def copy_rows(rows, starts, offsets, lengths, neighbours, edges, to_neighbours, to_edges):
    """Row rows[i] to the places from starts[i] of another pool."""
    for i in range(rows.size):
        row, to = rows[i], starts[i]
        for j in range(lengths[row]):
            place = offsets[row] + j
            to_neighbours[to + j], to_edges[to + j] = neighbours[place], edges[place]


def warm_up() -> None:
    """Compile (or load from the cache) every loop, for columns of a table of rows as `GrowingRows` has,
    and for copies of a snapshot. Two rows: the column of one is contiguous, and would be another type."""
    rows, other, dead = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.bool_)
    long, short = np.zeros((2, 2), np.int64), np.zeros((2, 3), np.int32)
    offsets, versions = long[:, 0], long[:, 1]
    lengths, capacities, counts = short[:, 0], short[:, 1], short[:, 2]
    pool = np.zeros(64, np.int32), np.zeros(64, np.int32)
    state = np.zeros(2, np.int64)
    needed(rows, lengths, capacities, counts)
    insert(rows, other, other, counts, state, 0, offsets, lengths, capacities, versions, *pool)
    find(rows, other, offsets, lengths, *pool, dead, np.zeros(1, np.int32))
    kept_places(rows, lengths, counts)
    copied = offsets.copy(), lengths.copy()
    for columns in ((offsets, lengths), copied):
        gather(rows, *columns, *pool, np.zeros(1, np.int32), np.zeros(1, np.int32))
    copy_rows(rows, copied[0], *copied, *pool, np.zeros(1, np.int32), np.zeros(1, np.int32))
    mark(other, dead, np.zeros(1, np.int32))
    remove(rows, other, dead, counts, state, 0, 0, offsets, lengths, capacities, versions, *pool)
