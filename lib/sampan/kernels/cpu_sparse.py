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


def cuts(crows: np.ndarray, each: int = PARTS_A_THREAD) -> np.ndarray:
    """Rows at which to cut into parts of about equal work, entries and rows together; `each` parts a thread."""
    work = crows + np.arange(crows.size, dtype=np.int64)
    parts = min(max(crows.size - 1, 1), each * config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
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
def ascending(rows, cols):  # type: ignore[no-untyped-def]
    """Whether the entries ascend by row and column, without repeats."""
    for e in range(1, rows.size):
        if rows[e] < rows[e - 1] or (rows[e] == rows[e - 1] and cols[e] <= cols[e - 1]):
            return False
    return True


# An entry while it is sorted: its column in the upper half of an int64, where it stood in the lower.
_LOW = np.int64(0xFFFFFFFF)


@njit(cache=True)
def _by_rows(rows, cols, crows, packed):  # type: ignore[no-untyped-def]
    """A counting sort by row."""
    crows[:] = 0
    for e in range(rows.size):
        crows[rows[e] + 1] += 1
    for r in range(crows.size - 1):
        crows[r + 1] += crows[r]
    for e in range(rows.size):
        place = crows[rows[e]]
        crows[rows[e]] = place + 1
        packed[place] = (np.int64(cols[e]) << 32) | e
    for r in range(crows.size - 1, 0, -1):
        crows[r] = crows[r - 1]
    crows[0] = 0


def _sort_rows(cuts, crows, packed):  # type: ignore[no-untyped-def]
    for part in prange(cuts.size - 1):
        for r in range(cuts[part], cuts[part + 1]):
            row = packed[crows[r] : crows[r + 1]]
            if row.size > 64:
                row.sort()
                continue
            for i in range(1, row.size):
                entry, j = row[i], i
                while j > 0 and row[j - 1] > entry:
                    row[j] = row[j - 1]
                    j -= 1
                row[j] = entry


_sort_rows_loop = Loop(_sort_rows, PARALLEL_FROM, "sort_rows")


@njit(cache=True)
def _without_repeats(crows, packed, new_crows, cols, starts):  # type: ignore[no-untyped-def]
    count = 0
    for r in range(crows.size - 1):
        new_crows[r] = count
        before = np.int64(-1)
        for i in range(crows[r], crows[r + 1]):
            c = packed[i] >> 32
            if c != before:
                cols[count], starts[count] = c, i
                before = c
                count += 1
    new_crows[crows.size - 1] = count
    starts[count] = packed.size
    return count


def grouped(
    rows: Any, cols: Any, height: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """(crows, cols, segments): the places of entries in any order, each once, by row and column.

    segments: (starts, order); the entries of place k are those that order names between starts[k] and starts[k + 1],
    in the order they came.
    """
    crows, packed = np.empty(height + 1, np.int32), np.empty(rows.size, np.int64)
    _by_rows(rows, cols, crows, packed)
    _sort_rows_loop(cuts(crows), crows, packed, size=rows.size)
    new_crows, new_cols, starts = (
        np.empty_like(crows),
        np.empty(rows.size, np.int32),
        np.empty(rows.size + 1, np.int32),
    )
    count = _without_repeats(crows, packed, new_crows, new_cols, starts)
    return new_crows, new_cols[:count], (starts[: count + 1], packed)


def _segment_sums(starts, order, values, out):  # type: ignore[no-untyped-def]
    for k in prange(out.shape[0]):
        row = out[k]
        row[:] = 0
        for i in range(starts[k], starts[k + 1]):
            value = values[order[i] & _LOW]
            for j in range(row.size):
                row[j] += value[j]


def _segment_sums_flat(starts, order, values, out):  # type: ignore[no-untyped-def]
    for k in prange(out.size):
        total = values[order[starts[k]] & _LOW]
        for i in range(starts[k] + 1, starts[k + 1]):
            total += values[order[i] & _LOW]
        out[k] = total


def _segment_spread(starts, order, g, out):  # type: ignore[no-untyped-def]
    for k in prange(g.shape[0]):
        for i in range(starts[k], starts[k + 1]):
            out[order[i] & _LOW] = g[k]


_segment_sums_loop = Loop(_segment_sums, PARALLEL_FROM, "segment_sums")
_segment_sums_flat_loop = Loop(_segment_sums_flat, PARALLEL_FROM, "segment_sums_flat")
_segment_spread_loop = Loop(_segment_spread, PARALLEL_FROM, "segment_spread")


def segment_sums(segments: Any, values: np.ndarray) -> np.ndarray:
    """For each place the sum of its entries' values. values: [entries, k]; returns [places, k]."""
    starts, order = segments
    out = np.empty((starts.size - 1, values.shape[1]), values.dtype)
    if values.shape[1] == 1:
        _segment_sums_flat_loop(starts, order, values[:, 0], out[:, 0], size=values.size)
    else:
        _segment_sums_loop(starts, order, values, out, size=values.size)
    return out


def segment_spread(segments: Any, g: np.ndarray) -> np.ndarray:
    """For each entry what its place has. g: [places, k]; returns [entries, k]."""
    starts, order = segments
    out = np.empty((order.size, g.shape[1]), g.dtype)
    _segment_spread_loop(starts, order, g, out, size=out.size)
    return out


@njit(cache=True)
def add_at(out, places, values):  # type: ignore[no-untyped-def]
    """out[places[i]] += values[i]; the place -1 drops it."""
    for i in range(places.size):
        if places[i] >= 0:
            out[places[i]] += values[i]


def _union(cuts, a_crows, a_cols, b_crows, b_cols, crows, cols, from_a, from_b, ends):  # type: ignore[no-untyped-def]
    # Each part is merged where the longest result would put it, and moved up afterwards.
    for part in prange(cuts.size - 1):
        k = a_crows[cuts[part]] + b_crows[cuts[part]]
        for r in range(cuts[part], cuts[part + 1]):
            i, i_end, j, j_end = a_crows[r], a_crows[r + 1], b_crows[r], b_crows[r + 1]
            crows[r] = k
            while i < i_end and j < j_end:
                a, b = a_cols[i], b_cols[j]
                cols[k] = min(a, b)
                from_a[k] = i if a <= b else -1
                from_b[k] = j if b <= a else -1
                i += a <= b
                j += b <= a
                k += 1
            while i < i_end:
                cols[k], from_a[k], from_b[k] = a_cols[i], i, -1
                i += 1
                k += 1
            while j < j_end:
                cols[k], from_a[k], from_b[k] = b_cols[j], -1, j
                j += 1
                k += 1
        ends[part] = k


_union_loop = Loop(_union, PARALLEL_FROM, "sparse_union")


def union(a_crows: Any, a_cols: Any, b_crows: Any, b_cols: Any) -> tuple[np.ndarray, ...]:
    """(crows, cols, from_a, from_b): the places of both matrices, and the entry of each there, or -1."""
    most, parts = a_cols.size + b_cols.size, cuts(a_crows + b_crows, each=1)
    crows, cols, ends = (
        np.empty_like(a_crows),
        np.empty(most, a_cols.dtype),
        np.empty(parts.size - 1, np.int64),
    )
    found = [cols, np.empty(most, np.int32), np.empty(most, np.int32)]
    _union_loop(parts, a_crows, a_cols, b_crows, b_cols, crows, *found, ends, size=most)
    count = int(ends[0])
    for part in range(1, ends.size):
        start = int(a_crows[parts[part]] + b_crows[parts[part]])
        length = int(ends[part]) - start
        if start != count:
            for array in found:
                array[count : count + length] = array[start : start + length]
            crows[parts[part] : parts[part + 1]] -= start - count
        count += length
    crows[-1] = count
    return crows, *(array[:count] for array in found)


def _united(a, b, sign, from_a, from_b, out):  # type: ignore[no-untyped-def]
    zero = out.dtype.type(0)
    for i in prange(
        out.size
    ):  # both are read whatever is picked: a branch that cannot be foretold costs more
        x, y = a[max(from_a[i], 0)], b[max(from_b[i], 0)]
        out[i] = (x if from_a[i] >= 0 else zero) + (sign * y if from_b[i] >= 0 else zero)


_united_loop = Loop(_united, PARALLEL_FROM, "sparse_sum")


def united(a: Any, b: Any, sign: int, from_a: Any, from_b: Any) -> np.ndarray:
    """a[from_a] + sign b[from_b], where -1 picks 0."""
    out = np.empty(from_a.size, a.dtype)
    a, b = (v if v.size else np.zeros(1, v.dtype) for v in (a, b))
    _united_loop(a, b, a.dtype.type(sign), from_a, from_b, out, size=from_a.size)
    return out


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
