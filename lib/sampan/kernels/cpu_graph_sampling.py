"""Loops that sample neighbours in compressed rows: see `graph.Adjacency` for what the arrays are.

Sampling takes two steps: first where the row of each node lies and how many places it has, then which of them
are drawn. The rows may be a caller's own arrays of int32 or int64, which he may overwrite meanwhile: each
number is read once, and what was read is checked before it is used as an index.

Random numbers are counted, not kept: the node at position i of a call draws from the stream mixed(seed, i)
(SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), so a
sample does not depend on the number of threads.
"""

import math
from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_sparse_machine import prefetch
from .loops import Loop, in_both_forms

PARTS = 64  # what threads take in turn
PARALLEL_FROM = 20_000  # nodes or edges; below it starting threads costs more than it saves
AHEAD = 12  # nodes
SMALL = 24  # draws of a row up to which each is compared with those before it

STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = (np.uint64(n) for n in (11, 27, 30, 31, 32))


@njit(inline="always")
def mixed(state):
    """64 random bits from a state; a stream adds STEP to its state for each draw."""
    state = (state ^ (state >> _30)) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    return state ^ (state >> _31)


@njit(inline="always")
def stream(seed, number):
    """The first state of a stream."""
    return mixed(seed + STEP * np.uint64(number + 1))


@njit(inline="always")
def below(bits, limit):
    """A whole number from 0 to limit - 1, limit < 2^32; no probability is off by more than limit / 2^32 of
    itself."""
    return np.int64(((bits >> _32) * np.uint64(limit)) >> _32)


@njit(inline="always")
def fraction(bits):
    """A number in (0, 1)."""
    return (np.float64(bits >> _11) + 0.5) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def child(seed, number):
    """A seed for a part of a call: neighbouring seeds share no streams."""
    return stream(mixed(seed), number)


# --- where the rows lie -------------------------------------------------------------------------------------


def _rows_found(starts, edges, nodes, begins, degrees, wrong):
    height = np.int64(starts.size - 1)
    for part in prange(PARTS):
        for i in range(nodes.size * part // PARTS, nodes.size * (part + 1) // PARTS):
            prefetch(starts, nodes[min(i + AHEAD, nodes.size - 1)])
            node = np.int64(nodes[i])
            begins[i] = degrees[i] = 0
            if node < 0 or node >= height:
                wrong[part] = i
                continue
            low, high = np.int64(starts[node]), np.int64(starts[node + 1])
            if low < 0 or high < low or high > edges:
                wrong[part] = i
                continue
            begins[i], degrees[i] = low, high - low


def _rows_between(starts, times, nodes, after, before, begins, degrees):
    for part in prange(PARTS):
        end = nodes.size * (part + 1) // PARTS
        for i in range(nodes.size * part // PARTS, end):
            low, stop = np.int64(starts[nodes[i]]), np.int64(starts[nodes[i] + 1])
            high = stop
            while low < high:  # the first place that is not before
                middle = (low + high) // 2
                if times[middle] < before[i]:
                    low = middle + 1
                else:
                    high = middle
            last, low = low, np.int64(starts[nodes[i]])
            high = last
            while low < high:  # the first place that is not too old
                middle = (low + high) // 2
                if times[middle] < after[i]:
                    low = middle + 1
                else:
                    high = middle
            begins[i], degrees[i] = low, last - low


_rows_loop = Loop(_rows_found, PARALLEL_FROM, "sampled_rows")
_between_loop = Loop(_rows_between, PARALLEL_FROM, "sampled_rows_between")


def rows_found(starts: Any, edges: int, nodes: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """(begins, degrees, wrong): where the row of each node begins and how many of the `edges` places it has,
    int64.

    wrong: the position of a node that is none, or whose row does not lie inside; -1 where there is none.
    """
    begins, degrees = np.empty(nodes.size, np.int64), np.empty(nodes.size, np.int64)
    wrong = np.full(PARTS, -1, np.int64)
    _rows_loop(starts, edges, nodes, begins, degrees, wrong, size=nodes.size)
    return begins, degrees, int(wrong.max())


def rows_between(
    starts: Any, times: Any, nodes: Any, after: Any, before: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(begins, degrees): of each node's row, whose `times` ascend, the places with after <= time < before.

    All arrays are the library's own, and checked.
    """
    begins, degrees = np.empty(nodes.size, np.int64), np.empty(nodes.size, np.int64)
    _between_loop(starts, times, nodes, after, before, begins, degrees, size=nodes.size)
    return begins, degrees


# --- which places are drawn ---------------------------------------------------------------------------------


@njit(inline="always")
def _few(state, begin, degree, chosen):
    """Different places, each choice equally likely: Floyd's algorithm, which compares each draw with those
    before it."""
    for j in range(chosen.size):
        last = degree - chosen.size + j
        state += STEP
        place = begin + below(mixed(state), last + 1)
        for k in range(j):
            if chosen[k] == place:
                place = begin + last
                break
        chosen[j] = place


@njit(inline="always")
def _many(state, begin, degree, chosen):
    """The same for many draws: a reservoir that jumps to the next place which enters it (Li, "Reservoir
    sampling algorithms of time complexity O(n(1 + log(N/n)))", 1994)."""
    count = chosen.size
    for j in range(count):
        chosen[j] = begin + j
    weight, place = 1.0, np.float64(count - 1)
    while True:
        state += STEP
        weight *= math.exp(math.log(fraction(mixed(state))) / count)
        state += STEP
        place += math.floor(math.log(fraction(mixed(state))) / math.log1p(-weight)) + 1
        if not place < degree:
            return
        state += STEP
        chosen[below(mixed(state), count)] = begin + np.int64(place)


def _drawn(begins, degrees, offsets, neighbours, replace, seed, first, places, values, targets):
    for part in prange(PARTS):
        low, high = begins.size * part // PARTS, begins.size * (part + 1) // PARTS
        for i in range(low, high):
            begin, degree, offset = begins[i], degrees[i], offsets[i]
            count = offsets[i + 1] - offset
            chosen = places[offset : offset + count]
            state = stream(seed, i)
            if replace:
                for j in range(count):
                    state += STEP
                    chosen[j] = begin + below(mixed(state), degree)
            elif count == degree:
                for j in range(count):
                    chosen[j] = begin + j
            elif count <= SMALL:
                _few(state, begin, degree, chosen)
            else:
                _many(state, begin, degree, chosen)
            for j in range(count):
                prefetch(neighbours, chosen[j])
                targets[offset + j] = first + i
        for e in range(offsets[low], offsets[high]):
            values[e] = neighbours[places[e]]


def _drawn_weighted(
    begins, degrees, offsets, neighbours, weights, order, seed, first, places, values, targets
):
    # An edge of weight w comes after an exponential time of rate w; those that come first are taken
    # (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
    for part in prange(PARTS):
        for i in range(begins.size * part // PARTS, begins.size * (part + 1) // PARTS):
            offset = offsets[i]
            count = offsets[i + 1] - offset
            chosen, keys = places[offset : offset + count], np.full(count, np.inf)
            chosen[:] = begins[i]  # a place of the row, whatever becomes of the weights meanwhile
            state, filled, latest = stream(seed, i), 0, 0
            for place in range(begins[i], begins[i] + degrees[i] if count else begins[i]):
                state += STEP
                weight = np.float64(weights[order[place] if order.size else place])
                if not weight > 0:
                    continue
                key = math.log(-math.log(fraction(mixed(state)))) - math.log(weight)
                if filled < count:
                    latest = filled
                    filled += 1
                elif not key < keys[latest]:
                    continue
                keys[latest], chosen[latest] = key, place
                if filled == count:
                    for j in range(count):
                        if keys[j] > keys[latest]:
                            latest = j
            for j in range(count):
                values[offset + j] = neighbours[chosen[j]]
                targets[offset + j] = first + i


def _positive(begins, degrees, weights, order, counts, wrong):
    for part in prange(PARTS):
        for i in range(begins.size * part // PARTS, begins.size * (part + 1) // PARTS):
            counts[i] = 0
            for place in range(begins[i], begins[i] + degrees[i]):
                weight = weights[order[place] if order.size else place]
                if not (weight >= 0 and weight < np.inf):
                    wrong[part] = place
                counts[i] += weight > 0


_drawn_loop = Loop(_drawn, PARALLEL_FROM, "sampled_places")
_weighted_loop = Loop(_drawn_weighted, PARALLEL_FROM, "sampled_by_weight")
_positive_loop = Loop(_positive, PARALLEL_FROM, "positive_weights")


def drawn(rows: Any, counts: Any, neighbours: Any, replace: bool, seed: int, first: int, kind: Any) -> Any:
    """(places, values, targets): of each row counts[i] places, what `neighbours` has there, and first + i.

    rows: (begins, degrees) of `rows_found`. counts: at most the degree unless `replace`. places: int64;
    values: the dtype of `neighbours`; targets: dtype `kind`.
    """
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    total = int(offsets[-1])
    found = np.empty(total, np.int64), np.empty(total, neighbours.dtype), np.empty(total, kind)
    _drawn_loop(*rows, offsets, neighbours, replace, np.uint64(seed), first, *found, size=total)
    return found


def drawn_by_weight(
    rows: Any, size: int, neighbours: Any, weights: tuple[Any, Any], seed: int, first: int, kind: Any
) -> Any:
    """(places, values, targets, counts): of each row up to `size` different places, one after another with
    the probability of their weights among those that are left; never one of weight 0.

    weights: (values, order): the weight of a place is values[order[place]], or values[place] if order is
    empty.
    Returns the place of a weight below 0 or not finite instead, if a row has one.
    """
    counts, wrong = np.empty(rows[0].size, np.int64), np.full(PARTS, -1, np.int64)
    work = int(rows[1].sum())
    _positive_loop(*rows, *weights, counts, wrong, size=work)
    if wrong.max() >= 0:
        return int(wrong.max())
    counts = np.minimum(counts, size)
    offsets = np.append(0, np.cumsum(counts))
    total = int(offsets[-1])
    found = np.empty(total, np.int64), np.empty(total, neighbours.dtype), np.empty(total, kind)
    _weighted_loop(*rows, offsets, neighbours, *weights, np.uint64(seed), first, *found, size=work)
    return *found, counts


# --- new numbers --------------------------------------------------------------------------------------------


@njit(cache=True)
def _numbered(values, table, nodes, count, numbers):
    last = values.size - 1
    for i in range(values.size):
        prefetch(table, values[min(i + 2 * AHEAD, last)])
        node = np.int64(values[i])
        if node < 0 or node >= table.size:
            return -1 - i
        number = np.int64(table[node])
        new = number < 0
        number = count if new else number
        table[node], nodes[count], numbers[i] = number, node, number
        count += new
    return count


@njit(cache=True)
def _forgotten(table, nodes):
    for i in range(nodes.size):
        prefetch(table, nodes[min(i + 2 * AHEAD, nodes.size - 1)])
        table[nodes[i]] = -1


_tables: list[np.ndarray] = []  # not in use; all -1


class Numbers:
    """Nodes in the order in which they first came, through a table with a slot for every node.

    The table is lent by a pool while the block of `with` runs, and each slot that was used is emptied after
    it; filling a new one costs more than using it. Threads have a table each. nodes: dtype `kind`.
    """

    def __init__(self, height: int, kind: Any = np.int64) -> None:
        self.height, self.count, self.nodes = height, 0, np.empty(1, kind)

    def __enter__(self) -> "Numbers":
        table = None
        with suppress(IndexError):  # all are in use
            table = _tables.pop()
        if table is None or table.size < self.height:
            table = np.full(self.height, -1, np.int32)
        self.table = table
        return self

    def __exit__(self, kind: Any, *others: Any) -> None:
        if kind is None:  # after an error the slots in use are not known
            _forgotten(self.table, self.nodes[: self.count])
            _tables.append(self.table)

    def of(self, values: np.ndarray) -> tuple[np.ndarray, int]:
        """(number of each value, position of one outside of 0 to height - 1, or -1)."""
        numbers, room = np.empty(values.size, self.nodes.dtype), self.count + values.size + 1
        if room > self.nodes.size:
            nodes = np.empty(room, self.nodes.dtype)
            nodes[: self.count] = self.nodes[: self.count]
            self.nodes = nodes
        count = _numbered(values, self.table[: self.height], self.nodes, self.count, numbers)
        if count < 0:
            return numbers, -1 - count
        self.count = count
        return numbers, -1


@njit(cache=True)
def _slot(keys, used, key):
    """Where a key is in the table, or the empty slot where it belongs."""
    mask = used.size - 1
    slot = np.int64(mixed(np.uint64(key) * STEP) >> _32) & mask
    while used[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def _reindexed(x, neighbours, counts, keys, used, sources, targets, nodes):
    for i in range(x.size):
        nodes[i] = x[i]
        slot = _slot(keys, used, np.int64(nodes[i]))
        keys[slot], used[slot] = nodes[i], i  # of a node that comes twice the last place counts
    count = x.size
    for e in range(neighbours.size):
        key = np.int64(neighbours[e])
        slot = _slot(keys, used, key)
        if used[slot] < 0:
            keys[slot], used[slot], nodes[count] = key, count, key
            count += 1
        sources[e] = used[slot]
    e = 0
    for i in range(counts.size):
        number = used[_slot(keys, used, np.int64(nodes[i % x.size]))]
        for _ in range(counts[i]):
            targets[e] = number
            e += 1
    return count


def reindexed(x: Any, neighbours: Any, counts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sources, targets, nodes) of edges neighbours[e] -> x[i], where counts[i] edges lead to x[i % len(x)].

    nodes: x, then what else comes, in the order of its first coming, any numbers of the dtype of x. counts:
    the library's own, not negative, with the sum len(neighbours).
    """
    room = 1 << (2 * (x.size + neighbours.size)).bit_length()
    keys, used = np.empty(room, np.int64), np.full(room, -1, np.int64)
    sources, targets = np.empty(neighbours.size, x.dtype), np.empty(neighbours.size, x.dtype)
    nodes = np.empty(x.size + neighbours.size, x.dtype)
    count = _reindexed(x, neighbours, counts, keys, used, sources, targets, nodes)
    return sources, targets, nodes[:count]


# --- subgraphs and pairs that are no edges ------------------------------------------------------------------


@njit(cache=True)
def _kept(starts, neighbours, nodes, table, counts, places):
    """The places of rows `nodes` whose neighbours have a number in `table`; only counted while `places` is
    empty."""
    e = 0
    for i in range(nodes.size):
        before = e
        for place in range(starts[nodes[i]], starts[nodes[i] + 1]):
            if table[neighbours[place]] >= 0:
                if places.size:
                    places[e] = place
                e += 1
        counts[i] = e - before
    return e


def inside(starts: Any, neighbours: Any, nodes: Any, table: Any) -> tuple[np.ndarray, np.ndarray]:
    """(places, counts): the places of the rows `nodes` that lead to a node with a number in `table`, and how
    many each row has. The arrays are the library's own."""
    counts = np.empty(nodes.size, np.int64)
    places = np.empty(_kept(starts, neighbours, nodes, table, counts, np.empty(0, np.int64)), np.int64)
    _kept(starts, neighbours, nodes, table, counts, places)
    return places, counts


TRIES = 32  # draws before a row is read in full
PAIR_TRIES = 1_000


@njit(inline="always")
def joined(starts, neighbours, row, column):
    """Whether the row has an edge to the column."""
    for place in range(starts[row], starts[row + 1]):  # noqa: SIM110 Numba has no any
        if neighbours[place] == column:
            return True
    return False


@njit
def _exact(starts, neighbours, row, width, bits, own):
    """One of the columns that the row has no edge to; -1 where there is none. own: nor the row itself."""
    free = np.ones(width, np.bool_)
    for place in range(starts[row], starts[row + 1]):
        free[neighbours[place]] = False
    if own:
        free[row] = False
    left = free.sum()
    if left == 0:
        return np.int64(-1)
    skip = below(bits, left)
    for column in range(width):
        if free[column]:
            if skip == 0:
                return np.int64(column)
            skip -= 1
    return np.int64(-1)


def _unjoined(starts, neighbours, rows, width, own, seed, columns):
    for part in prange(PARTS):
        for i in range(columns.size * part // PARTS, columns.size * (part + 1) // PARTS):
            row, state, column = np.int64(rows[i]), stream(seed, i), np.int64(-1)
            for _ in range(TRIES):
                state += STEP
                tried = below(mixed(state), width)
                if not (own and tried == row) and not joined(starts, neighbours, row, tried):
                    column = tried
                    break
            if column < 0:
                state += STEP
                column = _exact(starts, neighbours, row, width, mixed(state), own)
            columns[i] = column


def _pairs(starts, neighbours, width, own, seed, rows, columns):
    for part in prange(PARTS):
        for i in range(columns.size * part // PARTS, columns.size * (part + 1) // PARTS):
            state = stream(seed, i)
            rows[i] = columns[i] = -1
            for _ in range(PAIR_TRIES):
                state += STEP
                row = below(mixed(state), starts.size - 1)
                state += STEP
                column = below(mixed(state), width)
                if not (own and column == row) and not joined(starts, neighbours, row, column):
                    rows[i], columns[i] = row, column
                    break


_pairs_loop = Loop(_pairs, PARALLEL_FROM, "negative_pairs")
_unjoined_loop = Loop(_unjoined, PARALLEL_FROM, "negative_edges")


def unjoined(starts: Any, neighbours: Any, rows: Any, width: int, own: bool, seed: int) -> np.ndarray:
    """For each of `rows` a column of 0 to width - 1 that it has no edge to, each equally likely; -1 where it
    is joined to all. own: nor the row's own number. The arrays are the library's own; int64."""
    columns = np.empty(rows.size, np.int64)
    _unjoined_loop(starts, neighbours, rows, width, own, np.uint64(seed), columns, size=rows.size)
    return columns


def unjoined_pairs(
    starts: Any, neighbours: Any, width: int, own: bool, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of `count` pairs without an edge, each such pair equally likely; -1 where PAIR_TRIES
    draws met only edges. The arrays are the library's own; int64."""
    rows, columns = np.empty(count, np.int64), np.empty(count, np.int64)
    _pairs_loop(starts, neighbours, width, own, np.uint64(seed), rows, columns, size=count)
    return rows, columns


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        for kind in (np.int32, np.int64):
            starts, nodes = np.array([0, 1, 2], kind), np.array([0, 1], kind)
            rows = rows_found(starts, 2, nodes)[:2]
            for replace in (False, True):
                drawn(rows, rows[1], nodes, replace, 0, 0, np.int64)
            for order in (np.empty(0, np.int32), np.array([0, 1], np.int32)):
                drawn_by_weight(rows, 1, nodes, (np.ones(2, np.float32), order), 0, 0, np.int64)
            with Numbers(2) as numbers:
                numbers.of(nodes)
            reindexed(nodes, nodes, np.ones(2, np.int64))
        starts, nodes = np.array([0, 1, 2], np.int32), np.array([0, 1], np.int32)
        moments = np.arange(2, dtype=np.int64)
        rows_between(starts, moments, nodes, moments, moments)
        inside(starts, nodes, nodes, nodes)
        unjoined(starts, nodes, nodes, 2, False, 0)
        unjoined_pairs(starts, nodes, 2, False, 1, 0)
        child(np.uint64(0), 0)
