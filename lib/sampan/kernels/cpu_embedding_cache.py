"""Loops of a cache of rows: which place a row has, the least recently used one gives way.

A doubly linked list from the newest place to the oldest, four numbers a place in `nodes`: the next newer
place, the next older one, the batch that asked for it last, and the mark that keeps it. `place_of[row]` is
its place + 1, 0 for none, as fresh memory has it. `ends`: newest place, oldest place, places in use.
"""

from numba import njit

from .cpu_embedding import row_ahead
from .cpu_sparse_machine import prefetch

NEWER, OLDER, ASKED, KEPT = range(4)
AHEAD = 16  # rows that are prefetched: the hardware cannot predict where they lie

# One thread, and without the interpreter's lock: they run beside a computation, on a thread of their own.


@njit(cache=True, inline="always")
def _taken_out(place, nodes, ends):
    newer, older = nodes[place, NEWER], nodes[place, OLDER]
    if newer >= 0:
        nodes[newer, OLDER] = older
    else:
        ends[0] = older
    if older >= 0:
        nodes[older, NEWER] = newer
    else:
        ends[1] = newer


@njit(cache=True, inline="always")
def _put_first(place, nodes, ends):
    nodes[place, NEWER], nodes[place, OLDER] = -1, ends[0]
    if ends[0] >= 0:
        nodes[ends[0], NEWER] = place
    else:
        ends[1] = place
    ends[0] = place


@njit(cache=True)
def _oldest(nodes, ends, keep):
    """The oldest place that is not kept, taken out; -1 where all are. Kept ones that are met become the
    newest."""
    first_kept = -1
    while ends[1] >= 0:
        place = ends[1]
        _taken_out(place, nodes, ends)
        if nodes[place, KEPT] != keep:
            return place
        _put_first(place, nodes, ends)
        if place == first_kept:
            break
        if first_kept < 0:
            first_kept = place
    return -1


@njit(cache=True)
def _put_back_first(places, count, nodes, ends, batch):
    """Link what a batch asked for before all others, the last asked for first."""
    head, before = ends[0], -1
    for i in range(count - 1, -1, -1):
        place = places[i]
        if nodes[place, ASKED] != batch:
            continue
        nodes[place, ASKED] = -batch
        nodes[place, NEWER] = before
        if before >= 0:
            nodes[before, OLDER] = place
        else:
            ends[0] = place
        before = place
    if before >= 0:
        nodes[before, OLDER] = head
        if head >= 0:
            nodes[head, NEWER] = before
        else:
            ends[1] = before


@njit(cache=True, nogil=True)
def ask(rows, place_of, row_at, nodes, ends, batch, keep, places, came, left):
    """The place of each row, which becomes the newest; returns (rows that came in, rows that had to leave,
    rows found).

    came: for each that came in, in order, the row and its place; left: the row that was there before, or -1.
    No row of this batch leaves, and none whose place is marked with `keep`. Where they are together more than
    the cache holds, -1 comes back for the first number, and all rows are where they were. batch: a number of
    1 or more, another for each call.

    A row is taken out of the list when it is first asked for, and all are put back at the end: that leaves
    the order which moving each row to the front at each of its occurrences does, and touches the neighbours
    of a row once.
    """
    count, gone, hits, last, done = 0, 0, 0, rows.size - 1, rows.size
    for i in range(rows.size):
        prefetch(place_of, rows[min(i + 2 * AHEAD, last)])
        soon = place_of[rows[min(i + AHEAD, last)]] - 1
        if soon >= 0:
            prefetch(nodes, 4 * soon)
        row = rows[i]
        place = place_of[row] - 1
        if place >= 0:
            hits += 1
            places[i] = place
            if nodes[place, ASKED] != batch:
                nodes[place, ASKED] = batch
                _taken_out(place, nodes, ends)
            continue
        if ends[2] < row_at.size:
            place, left[count] = ends[2], -1
            ends[2] += 1
        else:
            place = _oldest(nodes, ends, keep)
            if place < 0:
                done = i
                break
            left[count] = row_at[place]
            if left[count] >= 0:
                place_of[left[count]] = 0
                gone += 1
        nodes[place, ASKED], nodes[place, KEPT] = batch, -1
        row_at[place] = row
        place_of[row] = place + 1
        came[count, 0], came[count, 1] = row, place
        count += 1
        places[i] = place
    _put_back_first(places, done, nodes, ends, batch)
    if done == rows.size:
        return count, gone, hits
    for c in range(count - 1, -1, -1):
        place_of[came[c, 0]] = 0
        row_at[came[c, 1]] = left[c]
        if left[c] >= 0:
            place_of[left[c]] = came[c, 1] + 1
    return -1, 0, 0


@njit(cache=True, nogil=True)
def mark(places, nodes, keep, dirty):
    """Keep these places until another mark is asked for, and note that their rows will change."""
    for i in range(places.size):
        nodes[places[i], KEPT] = keep
        dirty[places[i]] = True


@njit(cache=True, nogil=True)
def copy_rows(to, to_rows, source, source_rows):
    """to[to_rows] = source[source_rows]; no place occurs twice."""
    last = to_rows.size - 1
    for i in range(to_rows.size):
        row_ahead(source, source_rows[min(i + AHEAD, last)])
        row_ahead(to, to_rows[min(i + AHEAD, last)])
        row, other = to[to_rows[i]], source[source_rows[i]]
        for j in range(row.size):
            row[j] = other[j]
