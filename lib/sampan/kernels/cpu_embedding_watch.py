"""Whether rows of a table are still what they were, without a copy of them."""

import numpy as np
from numba import prange

from .cpu_embedding import AHEAD, PARALLEL_FROM, PARTS, row_ahead
from .registry import Loop


def _hashes(words, places, factors, out):  # type: ignore[no-untyped-def]
    parts = min(places.size, PARTS)
    for part in prange(parts):
        for k in range(places.size * part // parts, places.size * (part + 1) // parts):
            row_ahead(words, places[min(k + AHEAD, places.size - 1)])
            row, total = words[places[k]], np.uint64(0)
            for j in range(row.size):
                total += np.uint64(row[j]) * factors[j]
            out[k] = total


_hashes_loop = Loop(_hashes, PARALLEL_FROM, "row_hashes")


def hashes(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """uint64 [places]: a number of the bits of each of these rows [n, d] of floats.

    A sum of odd random multiples of the words (Dietzfelbinger 1996): rows that differ in one word never share it, others once in
    about 2^32 times.
    """
    factors = np.random.default_rng(20).integers(0, 1 << 63, rows.shape[1], np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    out = np.empty(places.size, np.uint64)
    words = rows.view(np.dtype(f"u{rows.itemsize}"))
    _hashes_loop(words, places, factors, out, size=places.size * rows.shape[1])
    return out
