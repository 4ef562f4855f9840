"""Loops over the rows of scores [batch, frames, classes]: the greatest entry and where it is."""

import numba
import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

LANES = 64  # running maxima, in several vector registers: a single one would wait for itself
PARALLEL_FROM = 100_000  # scores


@numba.njit(cache=True, error_model="numpy")
def largest_entry(row):
    """The greatest entry of a row that is not empty; NaN if an entry is NaN.

    LLVM turns no maximum of floats into vector code, because of NaN, but it does so for independent lanes.
    """
    lanes, broken = np.empty(LANES, row.dtype), np.zeros(LANES, np.int32)
    lanes[:] = row[0]
    whole = row.size - row.size % LANES
    for begin in range(0, whole, LANES):
        block = row[begin : begin + LANES]
        for i in range(LANES):
            value = block[i]
            lanes[i] = value if value > lanes[i] else lanes[i]
            broken[i] |= value != value
    for j in range(whole, row.size):
        value = row[j]
        lanes[0] = value if value > lanes[0] else lanes[0]
        broken[0] |= value != value
    found, wrong = lanes[0], broken[0]
    for i in range(1, LANES):
        found = lanes[i] if lanes[i] > found else found
        wrong |= broken[i]
    return row.dtype.type(np.nan) if wrong else found


@numba.njit(cache=True, error_model="numpy")
def best_class(row):
    """The first place of the greatest entry of a row that is not empty; -1 if an entry is NaN.

    The search passes over blocks without the entry by one comparison of vectors each. The row lies in the
    first cache by then.
    """
    found = largest_entry(row)
    if found != found:
        return -1
    whole = row.size - row.size % LANES
    at = whole
    for begin in range(0, whole, LANES):
        block = row[begin : begin + LANES]
        equal = 0
        for i in range(LANES):
            equal += block[i] == found
        if equal:
            at = begin
            break
    while row[at] != found:
        at += 1
    return at


def _best_classes(scores, lengths, best):
    frames = scores.shape[1]
    for n in prange(scores.shape[0] * frames):
        b, t = n // frames, n % frames
        best[b, t] = best_class(scores[b, t]) if t < lengths[b] else 0


_best_loop = Loop(_best_classes, PARALLEL_FROM, "best_classes")


def best_classes(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The first class of the greatest score of each frame, int64 [batch, frames]; -1 at a frame with NaN, 0
    behind the end of a sequence.

    scores: [batch, frames, classes]. lengths: int64 [batch], the frames of each sequence.
    """
    best = np.empty(scores.shape[:2], np.int64)
    if scores.size:
        _best_loop(np.ascontiguousarray(scores), lengths, best, size=scores.size)
    return best


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        for kind in (np.float32, np.float64):
            best_classes(np.zeros((1, 2, 3), kind), np.array([2]))
