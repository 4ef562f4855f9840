"""Loops over the rows of a matrix of scores [frames, classes]: the greatest entry and where it is."""

import numba
import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

LANES = 16  # running maxima: as many as a vector register of float32 holds
PARALLEL_FROM = 100_000  # scores


@numba.njit(cache=True, error_model="numpy")
def largest_entry(row):
    """The greatest entry of a row that is not empty; NaN counts only in front.

    LLVM turns no maximum of floats into vector code, because of NaN, but it does so for independent lanes.
    """
    lanes = np.empty(LANES, row.dtype)
    lanes[:] = row[0]
    whole = row.size - row.size % LANES
    for j in range(0, whole, LANES):
        for i in range(LANES):
            value = row[j + i]
            lanes[i] = value if value > lanes[i] else lanes[i]
    found = lanes[0]
    for i in range(1, LANES):
        found = lanes[i] if lanes[i] > found else found
    for j in range(whole, row.size):
        found = row[j] if row[j] > found else found
    return found


def _best_classes(scores, best):
    for n in prange(scores.shape[0]):
        row = scores[n]
        found = largest_entry(row)
        at = 0
        while at < row.size - 1 and row[at] != found:
            at += 1
        broken = 0
        for j in range(row.size):
            broken += row[j] != row[j]
        best[n] = -1 if broken else at


_best_loop = Loop(_best_classes, PARALLEL_FROM, "best_classes")


def best_classes(scores: np.ndarray) -> np.ndarray:
    """The first class of the greatest score of each row of [rows, classes], int64; -1 for a row with NaN."""
    rows = np.ascontiguousarray(scores)
    best = np.empty(len(rows), np.int64)
    if rows.size:
        _best_loop(rows, best, size=rows.size)
    return best


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        for kind in (np.float32, np.float64):
            best_classes(np.zeros((2, 3), kind))
