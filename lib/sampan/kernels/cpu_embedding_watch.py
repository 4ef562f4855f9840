"""What is known of a table's rows while it trains, and whether they are still what they were, without a copy
of them."""

from functools import cache

import numpy as np
from numba import njit, prange

from .cpu_embedding import AHEAD, PARALLEL_FROM, PARTS, row_ahead
from .cpu_sparse_machine import prefetch
from .loops import Loop

# What is known of a row, 64 bytes, one line of the caches: all of it is read or written together, in no order
# that can be foretold. `round`: the last one in which the row had a gradient, 0 for none.
ROW = np.dtype(
    [
        ("gradients", np.int64),
        ("updates", np.int64),
        ("sum", np.float64),
        ("largest", np.float64),
        ("round", np.int64),
        ("owner", np.int64),
        ("", np.int64, 2),
    ]
)


@njit(inline="always")
def _hash(row, factors):
    total = np.uint64(0)
    for j in range(row.size):
        total += np.uint64(row[j]) * factors[j]
    return total


def _seen(rows, norms, words, places, factors, now, known, fresh, held):
    for part in prange(min(rows.size, PARTS)):
        parts = min(rows.size, PARTS)
        for k in range(rows.size * part // parts, rows.size * (part + 1) // parts):
            soon = min(k + AHEAD, rows.size - 1)
            prefetch(known, rows[soon])
            row_ahead(words, places[soon])
            row, norm = known[rows[k]], norms[k]
            if 0 < row["round"] < now:
                row["updates"] += 1
            row["gradients"] += 1
            row["sum"] += norm
            row["largest"] = np.maximum(row["largest"], norm)
            fresh[k] = row["round"] != now
            if fresh[k]:
                row["round"], held[k] = now, _hash(words[places[k]], factors)


def _hashes(words, places, factors, out):
    for part in prange(min(places.size, PARTS)):
        parts = min(places.size, PARTS)
        for k in range(places.size * part // parts, places.size * (part + 1) // parts):
            row_ahead(words, places[min(k + AHEAD, places.size - 1)])
            out[k] = _hash(words[places[k]], factors)


_hashes_loop = Loop(_hashes, PARALLEL_FROM, "row_hashes")
_seen_loop = Loop(_seen, PARALLEL_FROM, "rows_seen")


@cache
def _factors(width: int) -> np.ndarray:
    """uint64 [width], odd: rows that differ in one word never share the sum of their multiples, others once
    in about 2^32 times (Dietzfelbinger 1996)."""
    drawn = np.random.default_rng(20).integers(0, 1 << 63, width, np.uint64)
    factors: np.ndarray = drawn * np.uint64(2) + np.uint64(1)
    return factors


def _words(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return values.view(np.dtype(f"u{values.itemsize}")), _factors(values.shape[1])


def hashes(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """uint64 [places]: a number of the bits of each of these rows [n, d] of floats, see `_factors`."""
    out = np.empty(places.size, np.uint64)
    words, factors = _words(rows)
    _hashes_loop(words, places, factors, out, size=places.size * rows.shape[1])
    return out


def seen(
    rows: np.ndarray, norms: np.ndarray, values: np.ndarray, places: np.ndarray, now: int, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Note in `known` (of dtype ROW) that each of these rows, different ones, had a gradient with this norm.

    values [n, d], of which row k lies at places[k] now. now: the round. A row that was last seen in an
    earlier one has moved since, and that is counted. Returns for each whether it is the first time in this
    round, and then its hash, see `hashes`.
    """
    fresh, held = np.empty(rows.size, np.bool_), np.empty(rows.size, np.uint64)
    words, factors = _words(values)
    _seen_loop(rows, norms, words, places, factors, now, known, fresh, held, size=rows.size * words.shape[1])
    return fresh, held
