"""Softmax by rows, and sparse times sparse.

A product of two sparse matrices is made in two steps: where its entries are (which a pattern keeps, since it
never changes), then their values. Both go by Gustavson's algorithm (ACM TOMS 4, 1978): a row of the product
is a sum of rows of the second matrix. Gradients ask for a product at few of its entries: there rows are
multiplied with rows.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numba.core import config

from .cpu_sparse_machine import prefetch, trailing_zeros
from .cpu_sparse_structure import PARALLEL_FROM
from .exponential import exp
from .loops import Loop


def _softmax(cuts, crows, values, out):
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row, result = values[crows[r] : crows[r + 1]], out[crows[r] : crows[r + 1]]
            if row.size == 0:
                continue
            top = row[0]
            for i in range(1, row.size):
                top = max(top, row[i])
            for i in range(row.size):
                result[i] = exp(row[i] - top)
            total = values.dtype.type(0)
            for i in range(row.size):
                total += result[i]
            scale = values.dtype.type(1) / total
            for i in range(row.size):
                result[i] *= scale


def _softmax_back(cuts, crows, out, g, into):
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


_softmax_loop = Loop(_softmax, PARALLEL_FROM, "row_softmax", fastmath={"contract"})
_softmax_back_loop = Loop(_softmax_back, PARALLEL_FROM, "row_softmax_back", fastmath={"contract"})


def softmax(cuts: Any, crows: Any, values: Any, out: Any) -> None:
    """e^v / the sum of e^v over the entries of each row; places without an entry take no part."""
    _softmax_loop(cuts, crows, values, out, size=values.size)


def softmax_back(cuts: Any, crows: Any, out: Any, g: Any, into: Any) -> None:
    """The gradient g taken back through the softmax `out`."""
    _softmax_back_loop(cuts, crows, out, g, into, size=out.size)


# --- sparse times sparse ------------------------------------------------------------------------------------

PART = 1 << 16  # products of two entries that are worth a part of their own
SHORT = 32  # so many are sorted as they come, more are marked in a row of bits
SCRATCH = 1 << 26  # columns that are found before they are moved together


@njit(inline="always")
def _rows_ahead(cols, e, crows, others, values):
    """Ask for the rows of the second matrix that entries after e will need: first where they are, then what
    they hold."""
    last = cols.size - 1
    prefetch(crows, cols[min(e + 32, last)])
    start = crows[cols[min(e + 8, last)]]
    prefetch(others, start)
    prefetch(values, start)


def _spgemm_columns(cuts, a_crows, a_cols, b_crows, b_cols, width, starts, found, counts):
    for part in prange(cuts.size - 1):
        # A bit for each column, and one for each 64 of them: to go through what is set is to go through it in
        # order.
        bits, words = np.zeros(width // 64 + 1, np.int64), np.zeros(width // 4096 + 1, np.int64)
        k = starts[part]
        for r in range(cuts[part], cuts[part + 1]):
            begun, size = k, 0
            for e in range(a_crows[r], a_crows[r + 1]):
                _rows_ahead(a_cols, e, b_crows, b_cols, b_cols)
                size += b_crows[a_cols[e] + 1] - b_crows[a_cols[e]]
            if size <= SHORT:
                for e in range(a_crows[r], a_crows[r + 1]):
                    for f in range(b_crows[a_cols[e]], b_crows[a_cols[e] + 1]):
                        c, j = b_cols[f], k
                        while j > begun and found[j - 1] > c:
                            j -= 1
                        if j == begun or found[j - 1] != c:
                            for i in range(k, j, -1):
                                found[i] = found[i - 1]
                            found[j] = c
                            k += 1
            else:
                for e in range(a_crows[r], a_crows[r + 1]):
                    for f in range(b_crows[a_cols[e]], b_crows[a_cols[e] + 1]):
                        word = b_cols[f] >> 6
                        bits[word] |= np.int64(1) << np.int64(b_cols[f] & 63)
                        words[word >> 6] |= np.int64(1) << np.int64(word & 63)
                for w in range(words.size):
                    above = words[w]
                    words[w] = 0
                    while above != 0:
                        word = (w << 6) + trailing_zeros(above)
                        above &= above - 1
                        below = bits[word]
                        bits[word] = 0
                        # One or two, most often: without a test of which, that could not be foretold.
                        found[k] = (word << 6) + trailing_zeros(below)
                        below &= below - 1
                        found[k + 1] = (word << 6) + trailing_zeros(below)
                        k += 1 + (below != 0)
                        below &= below - 1
                        while below != 0:
                            found[k] = (word << 6) + trailing_zeros(below)
                            below &= below - 1
                            k += 1
            counts[r] = k - begun


def _spgemm_values(cuts, a_crows, a_cols, a, b_crows, b_cols, b, width, crows, cols, out):
    for part in prange(cuts.size - 1):
        total = np.empty(width, out.dtype)  # what is read of it is set first
        for r in range(cuts[part], cuts[part + 1]):
            for e in range(crows[r], crows[r + 1]):
                total[cols[e]] = 0
            for e in range(a_crows[r], a_crows[r + 1]):
                _rows_ahead(a_cols, e, b_crows, b_cols, b)
                v = a[e]
                for f in range(b_crows[a_cols[e]], b_crows[a_cols[e] + 1]):
                    total[b_cols[f]] += v * b[f]
            for e in range(crows[r], crows[r + 1]):
                out[e] = total[cols[e]]


def _spgemm_dots(cuts, p_crows, p_cols, p, q_crows, q_cols, q, width, crows, cols, out):
    for part in prange(cuts.size - 1):
        row = np.zeros(width, out.dtype)
        for r in range(cuts[part], cuts[part + 1]):
            if crows[r] == crows[r + 1]:
                continue
            for e in range(p_crows[r], p_crows[r + 1]):
                row[p_cols[e]] = p[e]
            for e in range(crows[r], crows[r + 1]):
                _rows_ahead(cols, e, q_crows, q_cols, q)
                total = out.dtype.type(0)
                for f in range(q_crows[cols[e]], q_crows[cols[e] + 1]):
                    total += row[q_cols[f]] * q[f]
                out[e] = total
            for e in range(p_crows[r], p_crows[r + 1]):
                row[p_cols[e]] = 0


_columns_loop = Loop(_spgemm_columns, 2, "spgemm_columns")
_values_loop = Loop(_spgemm_values, 2, "spgemm", fastmath={"contract"})
_dots_loop = Loop(_spgemm_dots, 2, "spgemm_dots", fastmath={"contract"})


def _work(matrix: Any, lengths: np.ndarray) -> np.ndarray:
    """The sum of lengths[col] over the entries of all rows before each row. [rows + 1]"""
    crows, cols = matrix[:2]
    total = np.zeros(cols.size + 1, np.int64)
    np.cumsum(lengths[cols], out=total[1:])
    return total[crows]


def _parts(work: np.ndarray) -> np.ndarray:
    """Rows at which to cut into parts of about equal work: one for little of it, a few a thread for much."""
    work = work + np.arange(work.size)
    most = 4 * config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set at run time
    parts = max(min(int(work[-1]) // PART, most, work.size - 1), 1)
    return np.searchsorted(work, np.linspace(0, work[-1], parts + 1).astype(np.int64)).astype(np.int64)


def spgemm_columns(left: Any, right: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(crows, cols): where the product of two matrices (crows, cols) has entries; `width`: columns of the
    second.

    Raises ValueError for a product of 2^31 entries or more.
    """
    work = _work(left, np.diff(right[0]))
    most = np.minimum(np.diff(work), width)  # entries of each row of the product, at most
    counts, pieces = np.zeros(most.size, np.int64), []
    cuts, first = _parts(work), 0
    # Each part writes where the longest results of those before it would end, and one place more.
    ends = np.append(0, np.cumsum(most))[cuts] + np.arange(cuts.size)
    while first < cuts.size - 1:
        last = max(int(np.searchsorted(ends, ends[first] + SCRATCH, "right")) - 1, first + 1)
        starts, found = ends[first:last] - ends[first], np.empty(int(ends[last] - ends[first]), np.int32)
        _columns_loop(cuts[first : last + 1], *left, *right, width, starts, found, counts, size=last - first)
        for part, start in zip(range(first, last), starts, strict=True):
            pieces.append(found[start : start + counts[cuts[part] : cuts[part + 1]].sum()])
        first = last
    crows = np.append(0, np.cumsum(counts))
    if crows[-1] >= 2**31:
        raise ValueError(f"matmul: expected a product of less than 2^31 entries, got {crows[-1]}")
    return crows.astype(np.int32), np.concatenate(pieces)


def spgemm_values(left: Any, right: Any, width: int, at: Any) -> np.ndarray:
    """The values of the product of two matrices (crows, cols, values) at the places `at`: (crows, cols).

    `width`: columns of the second.
    """
    out = np.empty(at[1].size, left[2].dtype)
    cuts = _parts(_work(left, np.diff(right[0])))
    _values_loop(cuts, *left, *right, width, *at, out, size=cuts.size - 1)
    return out


def spgemm_dots(left: Any, right: Any, width: int, at: Any) -> np.ndarray:
    """P Q^T at the places `at` alone: row by row of P, column by row of Q; `width`: columns of both.

    The cost is that of P once and of a row of Q for each place, where the product itself would take a row of
    Q^T for each entry of P.
    """
    out = np.empty(at[1].size, left[2].dtype)
    cuts = _parts(_work(at, np.diff(right[0])) + left[0])
    _dots_loop(cuts, *left, *right, width, *at, out, size=cuts.size - 1)
    return out
