"""Loops over ids without bounds: a hash table that grows in small steps, a count sketch, values drawn by id.

Extendible hashing (Fagin et al. 1979): the first bits of an id's hash choose, through a `directory`, a
segment of SEGMENT slots, in which the id is looked for by linear probing. A segment that is three quarters
full is split in two, which touches nothing else, so no insertion waits for the whole table. A slot is (id,
row + 1); 0 marks a free one, as fresh memory has it. The hardware cannot predict where a slot lies, so it is
prefetched AHEAD ids before. A secret `salt` goes into the hash, so that no caller can send ids that all want
one slot, or that make the directory double forever.
"""

import math

import numpy as np
from numba import njit, prange

from .cpu_sparse_machine import prefetch
from .loops import Loop

AHEAD = 24  # ids
PARTS = 64  # what threads take in turn
BITS = 12
SEGMENT = 1 << BITS  # slots of a segment: 64 kB, about 20 µs to split
FULL = SEGMENT * 3 // 4
SKETCH_ROWS, SKETCH_WIDTH = 4, 1 << 20  # these and their hash are part of the format of what is saved

_M1, _M2, _GOLDEN = (
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
    np.uint64(0x9E3779B97F4A7C15),
)


@njit(cache=True, inline="always")
def mixed(number):
    """64 well mixed bits of a uint64 (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    z = number + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _M1
    z = (z ^ (z >> np.uint64(27))) * _M2
    return z ^ (z >> np.uint64(31))


@njit(cache=True, inline="always")
def _segment_of(directory, depth, bits):
    return directory[0] if depth == 0 else directory[np.int64(bits >> np.uint64(64 - depth))]


@njit(cache=True, inline="always")
def _probe(slots, segment, bits, number):
    """The slot of `number` in its segment, or the free one where it would go."""
    start, at = segment * SEGMENT, np.int64(bits & np.uint64(SEGMENT - 1))
    while slots[start + at, 1] != 0 and slots[start + at, 0] != number:
        at = (at + 1) & (SEGMENT - 1)
    return start + at


@njit(cache=True, inline="always")
def _ask_for(number, directory, depth, slots, salt):
    bits = mixed(number ^ salt)
    segment = _segment_of(directory, depth, bits)
    prefetch(slots, 2 * (segment * SEGMENT + np.int64(bits & np.uint64(SEGMENT - 1))))


def _found(ids, directory, depth, slots, salt, rows):
    for part in prange(PARTS):
        begin, end = ids.size * part // PARTS, ids.size * (part + 1) // PARTS
        for i in range(begin, min(begin + AHEAD, end)):
            _ask_for(ids[i], directory, depth, slots, salt)
        for i in range(begin, end):
            if i + AHEAD < end:
                _ask_for(ids[i + AHEAD], directory, depth, slots, salt)
            bits = mixed(ids[i] ^ salt)
            at = _probe(slots, _segment_of(directory, depth, bits), bits, ids[i])
            rows[i] = np.int64(slots[at, 1]) - 1


_found_loop = Loop(_found, 20_000, "hash_find")


def find(
    ids: np.ndarray, directory: np.ndarray, depth: int, slots: np.ndarray, salt: np.uint64
) -> np.ndarray:
    """The row of each id, or -1."""
    rows = np.empty(ids.size, np.int64)
    _found_loop(ids, directory, depth, slots, salt, rows, size=ids.size)
    return rows


@njit(cache=True)
def insert(ids, begin, directory, depth, slots, salt, segments, used, free, rows, new, most):
    """Give each id from place `begin` on its row, a new one where it has none; stop where that needs room.

    New rows come from the end of `free`, a stack of `used[1]` rows that were given back, then from `used[0]`
    on, `most` at a time. new: first the number of new ones, then the places in `ids` where they came.
    segments: of each its entries, the bits of the hash that chose it, and those bits; used[2] is how many
    there are. Returns (the place it came to, what it waits for: 0 for nothing, 1 for a directory of twice the
    length, 2 where `most` have a row).
    """
    last = ids.size - 1
    for i in range(begin, ids.size):
        _ask_for(ids[min(i + AHEAD, last)], directory, depth, slots, salt)
        bits = mixed(ids[i] ^ salt)
        segment = _segment_of(directory, depth, bits)
        at = _probe(slots, segment, bits, ids[i])
        if slots[at, 1] == 0:
            if used[0] - used[1] >= most:
                return i, 2
            while segments[segment, 0] >= FULL:
                if (
                    used[2] == segments.shape[0]
                ):  # ids that share their bits: made so by a caller that knows the salt
                    return i, 2
                if segments[segment, 1] == depth:
                    return i, 1
                _split(segment, directory, depth, slots, salt, segments, used)
                segment = _segment_of(directory, depth, bits)
                at = _probe(slots, segment, bits, ids[i])
            if used[1]:
                used[1] -= 1
                row = free[used[1]]
            else:
                row = used[0]
                used[0] += 1
            slots[at, 0], slots[at, 1] = ids[i], np.uint64(row + 1)
            segments[segment, 0] += 1
            new[0] += 1
            new[new[0]] = i
        rows[i] = np.int64(slots[at, 1]) - 1
    return ids.size, 0


@njit(cache=True)
def _split(segment, directory, depth, slots, salt, segments, used):
    """Move half of the entries of `segment`, by the next bit of their hash, into a segment of their own."""
    made, bit = used[2], segments[segment, 1]
    used[2] += 1
    start = segment * SEGMENT
    kept = slots[start : start + SEGMENT].copy()
    slots[start : start + SEGMENT] = np.uint64(0)
    segments[segment, 0] = segments[made, 0] = 0
    for i in range(SEGMENT):
        if kept[i, 1] == 0:
            continue
        bits = mixed(kept[i, 0] ^ salt)
        to = made if (bits >> np.uint64(63 - bit)) & np.uint64(1) else segment
        at = _probe(slots, to, bits, kept[i, 0])
        slots[at, 0], slots[at, 1] = kept[i, 0], kept[i, 1]
        segments[to, 0] += 1
    segments[segment, 1] = segments[made, 1] = bit + 1
    segments[segment, 2] *= 2
    segments[made, 2] = segments[segment, 2] + 1
    width = depth - bit - 1  # bits of the directory's places that do not choose
    begin = segments[made, 2] << width
    directory[begin : begin + (1 << width)] = made


@njit(cache=True)
def remove(ids, directory, depth, slots, salt, segments, used, free):
    """Take ids out and give their rows back; later entries of a run move up, so no grave is left (Knuth, 6.4
    R)."""
    for i in range(ids.size):
        bits = mixed(ids[i] ^ salt)
        segment = _segment_of(directory, depth, bits)
        start = segment * SEGMENT
        hole = _probe(slots, segment, bits, ids[i]) - start
        if slots[start + hole, 1] == 0:
            continue
        free[used[1]] = np.int64(slots[start + hole, 1]) - 1
        used[1] += 1
        segments[segment, 0] -= 1
        at = hole
        while True:
            at = (at + 1) & (SEGMENT - 1)
            if slots[start + at, 1] == 0:
                break
            home = np.int64(mixed(slots[start + at, 0] ^ salt) & np.uint64(SEGMENT - 1))
            if ((at - home) & (SEGMENT - 1)) >= ((at - hole) & (SEGMENT - 1)):
                slots[start + hole] = slots[start + at]
                hole = at
        slots[start + hole] = np.uint64(0)


@njit(cache=True)
def count_up(ids, counters):
    """Count-min sketch (Cormode and Muthukrishnan 2005): counts each id, and returns how often it came, at
    most too high.

    counters: [SKETCH_ROWS, a power of two] uint16. Only the smallest counters of an id rise (conservative
    update).
    """
    seen, mask = np.empty(ids.size, np.int64), np.uint64(counters.shape[1] - 1)
    places = np.empty(SKETCH_ROWS, np.int64)
    for i in range(ids.size):
        low, high = mixed(ids[i]), mixed(ids[i] ^ _GOLDEN)
        least = np.int64(65535)
        for r in range(SKETCH_ROWS):
            places[r] = np.int64((low + np.uint64(r) * (high | np.uint64(1))) & mask)
            least = min(least, np.int64(counters[r, places[r]]))
        if least < 65535:
            for r in range(SKETCH_ROWS):
                if np.int64(counters[r, places[r]]) == least:
                    counters[r, places[r]] += 1
            least += 1
        seen[i] = least
    return seen


@njit(cache=True)
def touch(rows, moment, seen, last):
    """Note that these rows were looked up at a moment; -1 is none."""
    for i in range(rows.size):
        if rows[i] >= 0:
            seen[rows[i]] += 1
            last[rows[i]] = moment


def _drawn(ids, rows, seed, kind, scale, out):
    for i in prange(ids.size):
        row, start = out[rows[i]], mixed(ids[i] ^ mixed(seed))
        for j in range(row.size):
            if kind == 0:
                row[j] = scale
                continue
            u = np.float64(mixed(start + np.uint64(2 * j)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            if kind == 1:
                row[j] = scale * (2.0 * u - 1.0)
            else:  # Box and Muller 1958
                v = np.float64(mixed(start + np.uint64(2 * j + 1)) >> np.uint64(11)) * (
                    1.0 / 9007199254740992.0
                )
                row[j] = scale * math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)


_drawn_loop = Loop(_drawn, 20_000, "drawn_by_id")
KINDS = {"constant": 0, "uniform": 1, "normal": 2}


def drawn(
    ids: np.ndarray,
    rows: np.ndarray,
    seed: int,
    kind: str,
    scale: float,
    out: np.ndarray,
    alone: bool = False,
) -> None:
    """out[rows[i]] = values that depend on ids[i] and `seed` alone: `scale`, uniform within it, or normal
    with it.

    alone: in one thread.
    """
    size = 0 if alone else ids.size * out.shape[1]
    _drawn_loop(ids, rows, np.uint64(seed), KINDS[kind], scale, out, size=size)
