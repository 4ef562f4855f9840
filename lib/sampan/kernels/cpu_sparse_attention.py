"""Loops of attention at the entries of a sparse mask: softmax(Q K^T scale) V in one pass a row, and back.

The masks stand on the diagonal of one matrix by rows, `length` rows each, and each serves `heads` heads one
after the
other: Q, K, V are [masks, heads, length, width], flattened to rows. What head h of row r reads and writes
lies `_shift` rows below what the entries say. Weights and slopes are [heads, entries].
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_sparse_dense import row_dots, row_sum
from .cpu_sparse_structure import PARALLEL_FROM
from .exponential import exp
from .loops import Loop


@njit(cache=True, inline="always")
def _shift(r, head, heads, length):
    return (r // length * (heads - 1) + head) * length


def _attend(cuts, crows, cols, q, k, v, scale, length, weights, out):
    heads, parts = weights.shape[0], cuts.size - 1
    for task in prange(heads * parts):
        head, part = task // parts, task % parts
        scores = weights[head]
        for r in range(cuts[part], cuts[part + 1]):
            shift, start, stop = _shift(r, head, heads, length), crows[r], crows[r + 1]
            row = scores[start:stop]
            row_dots(scores, q[r + shift], cols, k[shift:], start, stop)
            top = row[0] if row.size else scale
            for e in range(1, row.size):
                top = max(top, row[e])
            for e in range(row.size):
                row[e] = exp((row[e] - top) * scale)
            total = scale - scale
            for e in range(row.size):
                total += row[e]
            for e in range(row.size):
                row[e] /= total
            row_sum(out[r + shift], scores, cols, v[shift:], start, stop)


def _attend_back(cuts, crows, cols, places, k, v, g, scale, length, weights, weights_t, slopes_t, dq):
    heads, parts = weights.shape[0], cuts.size - 1
    for task in prange(heads * parts):
        head, part = task // parts, task % parts
        first, last = crows[cuts[part]], crows[cuts[part + 1]]
        slopes, some = np.empty(last - first, weights.dtype), cols[first:last]
        for r in range(cuts[part], cuts[part + 1]):
            shift, start, stop = _shift(r, head, heads, length), crows[r] - first, crows[r + 1] - first
            weight, place = weights[head, crows[r] : crows[r + 1]], places[crows[r] : crows[r + 1]]
            slope = slopes[start:stop]
            row_dots(slopes, g[r + shift], some, v[shift:], start, stop)
            mean = scale - scale
            for e in range(slope.size):
                mean += weight[e] * slope[e]
            for e in range(slope.size):
                slope[e] = weight[e] * (slope[e] - mean) * scale
            # Stored in the order of the columns now, while they are in the cache.
            for e in range(slope.size):
                weights_t[head, place[e]] = weight[e]
                slopes_t[head, place[e]] = slope[e]
            row_sum(dq[r + shift], slopes, some, k[shift:], start, stop)


def _attend_turned(cuts, crows, cols, values, x, length, out):
    heads, parts = values.shape[0], cuts.size - 1
    for task in prange(heads * parts):
        head, part = task // parts, task % parts
        for r in range(cuts[part], cuts[part + 1]):
            shift = _shift(r, head, heads, length)
            row_sum(out[r + shift], values[head], cols, x[shift:], crows[r], crows[r + 1])


_FAST = {"contract", "reassoc"}  # what is summed in another order is so whatever the number of threads
_attend_loop = Loop(_attend, PARALLEL_FROM, "sparse_attention", _FAST)
_attend_back_loop = Loop(_attend_back, PARALLEL_FROM, "sparse_attention_back", _FAST)
_attend_turned_loop = Loop(_attend_turned, PARALLEL_FROM, "sparse_attention_turned", _FAST)


def attend(rows: Any, q: Any, k: Any, v: Any, scale: float, length: int, weights: Any, out: Any) -> None:
    """out = softmax(q k^T scale) v, and the weights. rows: (cuts, crows, cols) of the masks."""
    _attend_loop(*rows, q, k, v, q.dtype.type(scale), length, weights, out, size=weights.size * q.shape[1])


def attend_back(
    rows: Any, turned: Any, given: Any, scale: float, length: int, weights: Any, gradients: Any
) -> None:
    """gradients (dq, dk, dv) of given (q, k, v, g).

    turned: (cuts, crows, cols, places) of the transposed masks; places: where each entry stands there.
    """
    (q, k, v, g), (dq, dk, dv), (*back, places) = given, gradients, turned
    weights_t, slopes_t = np.empty_like(weights), np.empty_like(weights)
    scale, size = q.dtype.type(scale), weights.size * q.shape[1]
    _attend_back_loop(*rows, places, k, v, g, scale, length, weights, weights_t, slopes_t, dq, size=size)
    _attend_turned_loop(*back, slopes_t, q, length, dk, size=size)
    _attend_turned_loop(*back, weights_t, g, length, dv, size=size)
