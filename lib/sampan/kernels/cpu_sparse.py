"""Loops over sparse matrices kept by rows.

A matrix of n rows is `crows` [n + 1] and, entry by entry, `cols` and `values`: row r owns the entries crows[r] to
crows[r + 1]. Work is split by `cuts`, row numbers between which lie about equal numbers of entries; one thread
takes a part, and a row is in one part only, so no result depends on the number of threads.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import njit, prange
from numba.core import config

from .cpu_recurrent import _exp
from .registry import Loop

PARTS_A_THREAD = 16
PARALLEL_FROM = 20_000  # entries times columns; below it starting threads costs more than it saves
WIDTHS = (16, 32, 64, 128)  # numbers of columns that get a loop of their own


def cuts(crows: np.ndarray) -> np.ndarray:
    """Rows at which to cut into parts of about equal work, entries and rows together."""
    work = crows + np.arange(crows.size, dtype=np.int64)
    parts = min(max(crows.size - 1, 1), PARTS_A_THREAD * config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return np.searchsorted(work, np.linspace(0, work[-1], parts + 1).astype(np.int64)).astype(np.int64)


# --- structure ------------------------------------------------------------------------------------------------


@njit(cache=True)
def transpose(crows, cols, width, t_crows, t_cols, order):  # type: ignore[no-untyped-def]
    """The same entries by columns: t_cols are their rows, `order` says where each stood. A counting sort."""
    t_crows[:] = 0
    for e in range(cols.size):
        t_crows[cols[e] + 1] += 1
    for c in range(width):
        t_crows[c + 1] += t_crows[c]
    for r in range(crows.size - 1):
        for e in range(crows[r], crows[r + 1]):
            c = cols[e]
            place = t_crows[c]
            t_crows[c] = place + 1
            t_cols[place] = r
            order[place] = e
    for c in range(width, 0, -1):
        t_crows[c] = t_crows[c - 1]
    t_crows[0] = 0


@njit(cache=True)
def rows_of(crows, rows):  # type: ignore[no-untyped-def]
    """The row of each entry."""
    for r in range(crows.size - 1):
        for e in range(crows[r], crows[r + 1]):
            rows[e] = r


@njit(cache=True)
def by_rows(rows, cols, crows, order):  # type: ignore[no-untyped-def]
    """Where each entry stands when they are sorted by row, then column, equals in the order they came."""
    crows[:] = 0
    for e in range(rows.size):
        crows[rows[e] + 1] += 1
    for r in range(crows.size - 1):
        crows[r + 1] += crows[r]
    for e in range(rows.size):
        place = crows[rows[e]]
        crows[rows[e]] = place + 1
        order[place] = e
    for r in range(crows.size - 1, 0, -1):
        crows[r] = crows[r - 1]
    crows[0] = 0
    for r in range(crows.size - 1):
        first, last = crows[r], crows[r + 1]
        if last - first > 32:
            row = order[first:last].copy()
            order[first:last] = row[np.argsort(cols[row], kind="mergesort")]
            continue
        for i in range(first + 1, last):
            e = order[i]
            c = cols[e]
            j = i
            while j > first and cols[order[j - 1]] > c:
                order[j] = order[j - 1]
                j -= 1
            order[j] = e


@njit(cache=True)
def without_repeats(crows, cols, order, group, new_crows, new_cols):  # type: ignore[no-untyped-def]
    """Entries of one place become one: `group` is each old entry's new number. Returns how many there are."""
    count = 0
    for r in range(crows.size - 1):
        new_crows[r] = count
        for i in range(crows[r], crows[r + 1]):
            e = order[i]
            if i == crows[r] or cols[e] != new_cols[count - 1]:
                new_cols[count] = cols[e]
                count += 1
            group[e] = count - 1
    new_crows[crows.size - 1] = count
    return count


@njit(cache=True)
def union(a_crows, a_cols, b_crows, b_cols, crows, cols, from_a, from_b):  # type: ignore[no-untyped-def]
    """The places of both matrices, by row and column; where each came from, or -1. Returns how many there are."""
    count = 0
    for r in range(a_crows.size - 1):
        crows[r] = count
        i, i_end, j, j_end = a_crows[r], a_crows[r + 1], b_crows[r], b_crows[r + 1]
        while i < i_end or j < j_end:
            if j == j_end or (i < i_end and a_cols[i] < b_cols[j]):
                cols[count], from_a[count], from_b[count] = a_cols[i], i, -1
                i += 1
            elif i == i_end or b_cols[j] < a_cols[i]:
                cols[count], from_a[count], from_b[count] = b_cols[j], -1, j
                j += 1
            else:
                cols[count], from_a[count], from_b[count] = a_cols[i], i, j
                i += 1
                j += 1
            count += 1
    crows[a_crows.size - 1] = count
    return count


# --- products -------------------------------------------------------------------------------------------------


def _times_dense(cuts, crows, cols, values, x, out):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row = out[r]
            row[:] = 0
            for e in range(crows[r], crows[r + 1]):
                v, other = values[e], x[cols[e]]
                for j in range(row.size):
                    row[j] += v * other[j]


@cache
def _times_dense_of(width: int) -> Loop:
    """The product for `width` columns: a count that the compiler knows keeps the inner loop free of tests."""
    if width == 0:
        return Loop(_times_dense, PARALLEL_FROM, "spmm")

    def times_dense(cuts, crows, cols, values, x, out):  # type: ignore[no-untyped-def]
        for part in prange(cuts.size - 1):
            for r in range(cuts[part], cuts[part + 1]):
                row = out[r]
                for j in range(width):
                    row[j] = 0
                for e in range(crows[r], crows[r + 1]):
                    v, other = values[e], x[cols[e]]
                    for j in range(width):
                        row[j] += v * other[j]

    return Loop(times_dense, PARALLEL_FROM, f"spmm_{width}")


def times_dense(cuts: Any, crows: Any, cols: Any, values: Any, x: Any, out: Any) -> None:
    """out[r] = the sum over row r's entries of value * x[col]. x: [columns, k], out: [rows, k]."""
    width = x.shape[1] if x.shape[1] in WIDTHS else 0
    _times_dense_of(width)(cuts, crows, cols, values, x, out, size=cols.size * x.shape[1])


def _sampled(cuts, crows, cols, x, y, out):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row = x[r]
            for e in range(crows[r], crows[r + 1]):
                other, total = y[cols[e]], out.dtype.type(0)
                for j in range(row.size):
                    total += row[j] * other[j]
                out[e] = total


_sampled_loop = Loop(_sampled, PARALLEL_FROM, "sddmm", fastmath={"reassoc", "contract"})


def sampled(cuts: Any, crows: Any, cols: Any, x: Any, y: Any, out: Any) -> None:
    """out[e] = x[row of e] . y[col of e]: the product x y^T, at the entries alone. x: [rows, k], y: [columns, k]."""
    _sampled_loop(cuts, crows, cols, x, y, out, size=cols.size * x.shape[1])


# --- softmax --------------------------------------------------------------------------------------------------


def _softmax(cuts, crows, values, out):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row, result = values[crows[r] : crows[r + 1]], out[crows[r] : crows[r + 1]]
            if row.size == 0:
                continue
            top = row[0]
            for i in range(1, row.size):
                top = max(top, row[i])
            for i in range(row.size):
                result[i] = _exp(row[i] - top)
            total = values.dtype.type(0)
            for i in range(row.size):
                total += result[i]
            scale = values.dtype.type(1) / total
            for i in range(row.size):
                result[i] *= scale


def _softmax_back(cuts, crows, out, g, into):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            y, grad, result = (
                out[crows[r] : crows[r + 1]],
                g[crows[r] : crows[r + 1]],
                into[crows[r] : crows[r + 1]],
            )
            mean = out.dtype.type(0)
            for i in range(y.size):
                mean += y[i] * grad[i]
            for i in range(y.size):
                result[i] = y[i] * (grad[i] - mean)


_softmax_loop = Loop(_softmax, PARALLEL_FROM, "row_softmax")
_softmax_back_loop = Loop(_softmax_back, PARALLEL_FROM, "row_softmax_back")


def softmax(cuts: Any, crows: Any, values: Any, out: Any) -> None:
    """e^v / the sum of e^v over the entries of each row; places without an entry take no part."""
    _softmax_loop(cuts, crows, values, out, size=values.size)


def softmax_back(cuts: Any, crows: Any, out: Any, g: Any, into: Any) -> None:
    """The gradient g taken back through the softmax `out`."""
    _softmax_back_loop(cuts, crows, out, g, into, size=out.size)


# --- sparse times sparse --------------------------------------------------------------------------------------
# Gustavson's algorithm (ACM TOMS 4, 1978): a row of the product is a sum of rows of the second matrix, gathered in
# an array as wide as that matrix, which each part of the rows has for itself.


def _product_size(cuts, a_crows, a_cols, b_crows, b_cols, width, counts):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        seen = np.full(width, -1, np.int32)
        for r in range(cuts[part], cuts[part + 1]):
            count = 0
            for e in range(a_crows[r], a_crows[r + 1]):
                k = a_cols[e]
                for f in range(b_crows[k], b_crows[k + 1]):
                    if seen[b_cols[f]] != r:
                        seen[b_cols[f]] = r
                        count += 1
            counts[r] = count


def _product(cuts, a_crows, a_cols, a, b_crows, b_cols, b, width, crows, cols, out):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        seen, total = np.full(width, -1, np.int32), np.zeros(width, out.dtype)
        for r in range(cuts[part], cuts[part + 1]):
            place = crows[r]
            for e in range(a_crows[r], a_crows[r + 1]):
                k, v = a_cols[e], a[e]
                for f in range(b_crows[k], b_crows[k + 1]):
                    c = b_cols[f]
                    if seen[c] != r:
                        seen[c] = r
                        total[c] = v * b[f]
                        cols[place] = c
                        place += 1
                    else:
                        total[c] += v * b[f]
            cols[crows[r] : place].sort()
            for e in range(crows[r], place):
                out[e] = total[cols[e]]


def _product_at(cuts, a_crows, a_cols, a, b_crows, b_cols, b, width, crows, cols, out):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        total = np.zeros(width, out.dtype)
        for r in range(cuts[part], cuts[part + 1]):
            for e in range(crows[r], crows[r + 1]):
                total[cols[e]] = 0
            for e in range(a_crows[r], a_crows[r + 1]):
                k, v = a_cols[e], a[e]
                for f in range(b_crows[k], b_crows[k + 1]):
                    total[b_cols[f]] += v * b[f]
            for e in range(crows[r], crows[r + 1]):
                out[e] = total[cols[e]]


_product_size_loop = Loop(_product_size, PARALLEL_FROM, "spgemm_size")
_product_loop = Loop(_product, PARALLEL_FROM, "spgemm")
_product_at_loop = Loop(_product_at, PARALLEL_FROM, "spgemm_at")


def product(
    cuts: Any, a_crows: Any, a_cols: Any, a: Any, b_crows: Any, b_cols: Any, b: Any, width: int
) -> Any:
    """(crows, cols, values) of the product of two sparse matrices; `width`: columns of the second."""
    counts = np.zeros(a_crows.size - 1, np.int64)
    _product_size_loop(cuts, a_crows, a_cols, b_crows, b_cols, width, counts, size=a_cols.size * 8)
    crows = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(a_crows.dtype)
    cols, out = np.empty(int(crows[-1]), np.int32), np.empty(int(crows[-1]), a.dtype)
    _product_loop(cuts, a_crows, a_cols, a, b_crows, b_cols, b, width, crows, cols, out, size=a_cols.size * 8)
    return crows, cols, out


def product_at(
    cuts: Any,
    a_crows: Any,
    a_cols: Any,
    a: Any,
    b_crows: Any,
    b_cols: Any,
    b: Any,
    width: int,
    crows: Any,
    cols: Any,
) -> Any:
    """The values of the product of two sparse matrices at the places `crows`, `cols` alone."""
    out = np.empty(cols.size, a.dtype)
    _product_at_loop(
        cuts, a_crows, a_cols, a, b_crows, b_cols, b, width, crows, cols, out, size=a_cols.size * 8
    )
    return out
