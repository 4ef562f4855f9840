"""Loops over the messages that a node receives: maxima, sums for several heads, softmax.

Edges are kept by rows as in `cpu_sparse_structure`: row r owns the places starts[r] to starts[r + 1]. A row
is in one part of the work only, so no result depends on the number of threads. Sums without weights are
products of sparse matrices: `cpu_sparse_dense` has them.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .cpu_sparse_machine import prefetch
from .cpu_sparse_structure import PARALLEL_FROM
from .exponential import exp
from .loops import Loop, in_both_forms

AHEAD = 16  # places
LINE = 16  # numbers of four bytes in a line of memory
CHUNK = 1 << 16  # numbers that are compared at a time


@njit(inline="always")
def _row_ahead(flat, cols, place, width):
    """Ask for the row of memory that the place `AHEAD` will need."""
    begin = cols[min(place + AHEAD, cols.size - 1)] * width
    for j in range(begin, begin + width, LINE):
        prefetch(flat, j)


@njit(inline="always")
def _first(row, starts, cols, x, r):
    """Set the row to what it receives first, to 0 where that is nothing."""
    if starts[r] == starts[r + 1]:
        row[:] = 0
    else:
        row[:] = x[cols[starts[r]]]


def _row_max(cuts, starts, cols, x, out):
    flat, width = x.ravel(), x.shape[1]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row = out[r]
            _first(row, starts, cols, x, r)
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat, cols, place, width)
                other = x[cols[place]]
                for j in range(width):
                    row[j] = other[j] if other[j] > row[j] else row[j]


def _row_min(cuts, starts, cols, x, out):
    flat, width = x.ravel(), x.shape[1]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row = out[r]
            _first(row, starts, cols, x, r)
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat, cols, place, width)
                other = x[cols[place]]
                for j in range(width):
                    row[j] = other[j] if other[j] < row[j] else row[j]


def _equal_sums(cuts, starts, cols, x, y, g, out):
    flat_y, flat_g, width = y.ravel(), g.ravel(), x.shape[1]
    zero = g.dtype.type(0)
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row, mine = out[r], x[r]
            row[:] = zero
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat_y, cols, place, width)
                _row_ahead(flat_g, cols, place, width)
                other, gradient = y[cols[place]], g[cols[place]]
                for j in range(width):
                    row[j] += gradient[j] if mine[j] == other[j] else zero


def _head_sums(cuts, starts, cols, edges, weights, x, out):
    heads, width = x.shape[1], x.shape[2]
    flat = x.ravel()
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            rows = out[r]
            rows[:] = 0
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat, cols, place, heads * width)
                weight, others = weights[edges[place]], x[cols[place]]
                if width == 1:
                    for h in range(heads):
                        rows[h, 0] += weight[h] * others[h, 0]
                else:
                    for h in range(heads):
                        row, other, w = rows[h], others[h], weight[h]
                        for j in range(width):
                            row[j] += w * other[j]


def _head_dots(cuts, starts, cols, edges, x, y, out):
    heads, width = x.shape[1], x.shape[2]
    flat = y.ravel()
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            rows = x[r]
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat, cols, place, heads * width)
                dots, others = out[edges[place]], y[cols[place]]
                if width == 1:
                    for h in range(heads):
                        dots[h] = rows[h, 0] * others[h, 0]
                else:
                    for h in range(heads):
                        row, other, total = rows[h], others[h], x.dtype.type(0)
                        for j in range(width):
                            total += row[j] * other[j]
                        dots[h] = total


# The edges of a row may stand far from one another: each is asked for before it is needed, and what the row
# needs twice is in the caches the second time. `fixed` gives the number of heads as the length of a tuple,
# which is known when the loop is compiled: then what belongs to the heads of an edge is one vector.

FIXED_HEADS = (1, 2, 4, 8)


def _fixed(heads):
    return (0,) * heads if heads in FIXED_HEADS else ()


@njit(inline="always")
def _longest(starts, first, last):
    longest = 0
    for r in range(first, last):
        longest = max(longest, starts[r + 1] - starts[r])
    return longest


def _edge_softmax(cuts, starts, edges, values, out, fixed):
    heads = len(fixed) or values.shape[1]
    flat_values, flat_out = values.ravel(), out.ravel()
    for part in prange(cuts.size - 1):
        near = np.empty(_longest(starts, cuts[part], cuts[part + 1]) * heads, values.dtype)
        tops, scales = np.empty(heads, values.dtype), np.empty(heads, values.dtype)
        for r in range(cuts[part], cuts[part + 1]):
            if starts[r] == starts[r + 1]:
                continue
            value = values[edges[starts[r]]]
            for h in range(heads):
                tops[h] = value[h]
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat_values, edges, place, heads)
                _row_ahead(flat_out, edges, place, heads)
                value = values[edges[place]]
                for h in range(heads):
                    tops[h] = max(tops[h], value[h])
            row = near[: (starts[r + 1] - starts[r]) * heads]
            i = 0
            for place in range(starts[r], starts[r + 1]):
                value = values[edges[place]]
                for h in range(heads):
                    row[i + h] = value[h] - tops[h]
                i += heads
            for i in range(row.size):
                row[i] = exp(row[i])
            for h in range(heads):
                total = values.dtype.type(0)
                for i in range(h, row.size, heads):
                    total += row[i]
                scales[h] = values.dtype.type(1) / total
            i = 0
            for place in range(starts[r], starts[r + 1]):
                result = out[edges[place]]
                for h in range(heads):
                    result[h] = row[i + h] * scales[h]
                i += heads


def _edge_softmax_back(cuts, starts, edges, y, g, into, fixed):
    heads = len(fixed) or y.shape[1]
    flat_y, flat_g, flat_into = y.ravel(), g.ravel(), into.ravel()
    for part in prange(cuts.size - 1):
        means = np.empty(heads, y.dtype)
        for r in range(cuts[part], cuts[part + 1]):
            for h in range(heads):
                means[h] = 0
            for place in range(starts[r], starts[r + 1]):
                _row_ahead(flat_y, edges, place, heads)
                _row_ahead(flat_g, edges, place, heads)
                _row_ahead(flat_into, edges, place, heads)
                result, gradient = y[edges[place]], g[edges[place]]
                for h in range(heads):
                    means[h] += result[h] * gradient[h]
            for place in range(starts[r], starts[r + 1]):
                result, gradient, other = y[edges[place]], g[edges[place]], into[edges[place]]
                for h in range(heads):
                    other[h] = result[h] * (gradient[h] - means[h])


def _differ(owned, given, found):
    for c in prange(found.size):
        differ = False
        for e in range(c * CHUNK, min((c + 1) * CHUNK, owned.size)):
            differ |= owned[e] != given[e]
        found[c] = differ


_row_max_loop = Loop(_row_max, PARALLEL_FROM)
_row_min_loop = Loop(_row_min, PARALLEL_FROM)
_equal_sums_loop = Loop(_equal_sums, PARALLEL_FROM)
_head_sums_loop = Loop(_head_sums, PARALLEL_FROM, fastmath={"contract"})
_head_dots_loop = Loop(_head_dots, PARALLEL_FROM, fastmath={"contract", "reassoc"})
_edge_softmax_loop = Loop(_edge_softmax, PARALLEL_FROM, fastmath={"contract"})
_edge_softmax_back_loop = Loop(_edge_softmax_back, PARALLEL_FROM, fastmath={"contract"})
_differ_loop = Loop(_differ, 4 * CHUNK)


def row_max(cuts: Any, starts: Any, cols: Any, x: Any, out: Any) -> None:
    """out[r] = the largest of x[cols[place]] over row r's places, 0 without any. x: [columns, k], out:
    [rows, k].

    A number takes the place of another where it is larger, so a NaN stays only where it comes first.
    """
    _row_max_loop(cuts, starts, cols, x, out, size=cols.size * x.shape[1])


def row_min(cuts: Any, starts: Any, cols: Any, x: Any, out: Any) -> None:
    """`row_max` with the smallest."""
    _row_min_loop(cuts, starts, cols, x, out, size=cols.size * x.shape[1])


def equal_sums(cuts: Any, starts: Any, cols: Any, x: Any, y: Any, g: Any, out: Any) -> None:
    """out[r] = the sum of g[col] where x[r] equals y[col], number by number. x, out: [rows, k]; y, g:
    [columns, k].

    It is the gradient of a maximum, and that gradient's own: all that equal the maximum get all of its
    gradient.
    """
    _equal_sums_loop(cuts, starts, cols, x, y, g, out, size=cols.size * x.shape[1])


def head_sums(cuts: Any, starts: Any, cols: Any, edges: Any, weights: Any, x: Any, out: Any) -> None:
    """out[r, h] = the sum of weights[edge, h] x[col, h]. weights: [edges, heads], x: [columns, heads, k]."""
    _head_sums_loop(cuts, starts, cols, edges, weights, x, out, size=cols.size * x.shape[1] * x.shape[2])


def head_dots(cuts: Any, starts: Any, cols: Any, edges: Any, x: Any, y: Any, out: Any) -> None:
    """out[edge, h] = x[row, h] . y[col, h]. x: [rows, heads, k], y: [columns, heads, k], out: [edges,
    heads]."""
    _head_dots_loop(cuts, starts, cols, edges, x, y, out, size=cols.size * x.shape[1] * x.shape[2])


def edge_softmax(cuts: Any, starts: Any, edges: Any, values: Any, out: Any) -> None:
    """e^v over the sum of e^v of the row, head by head. values, out: [edges, heads]."""
    _edge_softmax_loop(cuts, starts, edges, values, out, _fixed(values.shape[1]), size=values.size)


def edge_softmax_back(cuts: Any, starts: Any, edges: Any, y: Any, g: Any, into: Any) -> None:
    """The gradient g taken back through the softmax y."""
    _edge_softmax_back_loop(cuts, starts, edges, y, g, into, _fixed(y.shape[1]), size=y.size)


def differ(owned: np.ndarray, given: np.ndarray) -> bool:
    """Whether two arrays of as many whole numbers differ."""
    found = np.zeros(-(-owned.size // CHUNK), np.bool_)
    _differ_loop(owned, given, found, size=owned.size)
    return bool(found.any())


def warm_up() -> None:
    """Compile (or load from the cache) every loop for float32 values, in both forms."""
    cuts, starts = np.array([0, 2]), np.array([0, 1, 2], np.int32)
    cols, x = np.zeros(2, np.int32), np.ones((2, 1), np.float32)
    for _ in in_both_forms():
        for extreme in (row_max, row_min):
            extreme(cuts, starts, cols, x, np.empty_like(x))
        equal_sums(cuts, starts, cols, x, x, x, np.empty_like(x))
        head_sums(cuts, starts, cols, cols, x, x[:, None], np.empty_like(x[:, None]))
        head_dots(cuts, starts, cols, cols, x[:, None], x[:, None], np.empty_like(x))
        edge_softmax(cuts, starts, cols, x, np.empty_like(x))
        edge_softmax_back(cuts, starts, cols, x, x, np.empty_like(x))
        for kind in (np.int32, np.int64):
            differ(cols, cols.astype(kind))
