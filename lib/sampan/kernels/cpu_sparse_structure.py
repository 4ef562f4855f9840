"""Loops over sparse matrices kept by rows.

A matrix of n rows is `crows` [n + 1] and, entry by entry, `cols` and `values`: row r owns the entries
crows[r] to crows[r + 1]. Work is split by `cuts`, row numbers between which lie about equal numbers of
entries; one thread takes a part, and a row is in one part only, so no result depends on the number of
threads.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numba.core import config

from .cpu_sparse_machine import prefetch
from .loops import Loop

PARTS_A_THREAD = 16
PARALLEL_FROM = 20_000  # entries times columns; below it starting threads costs more than it saves


def cuts(crows: np.ndarray, each: int = PARTS_A_THREAD) -> np.ndarray:
    """Rows at which to cut into parts of about equal work, entries and rows together; `each` parts a
    thread."""
    work = crows + np.arange(crows.size, dtype=np.int64)
    # Set at run time.
    parts = min(max(crows.size - 1, 1), each * config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return np.searchsorted(work, np.linspace(0, work[-1], parts + 1).astype(np.int64)).astype(np.int64)


@njit(cache=True)
def transpose(crows, cols, width, t_crows, t_cols, order):
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
def rows_of(crows, rows):
    """The row of each entry."""
    for r in range(crows.size - 1):
        for e in range(crows[r], crows[r + 1]):
            rows[e] = r


@njit(cache=True)
def ascending(rows, cols):
    """Whether the entries ascend by row and column, without repeats."""
    for e in range(1, rows.size):
        if rows[e] < rows[e - 1] or (rows[e] == rows[e - 1] and cols[e] <= cols[e - 1]):
            return False
    return True


@njit(cache=True)
def compressed(rows, cols, width, crows, narrow):
    """Fill int32 `crows` [height + 1] and `narrow` [entries] from places that ascend without repeats and lie
    inside.

    Returns False where they do not. Each place is read once, so that what is written was checked whatever
    else happens to `rows` and `cols` meanwhile.
    """
    height, row, last = crows.size - 1, 0, -1
    crows[0] = 0
    for e in range(rows.size):
        r, c = np.int64(rows[e]), np.int64(cols[e])
        if r < row or r >= height or c < 0 or c >= width:
            return False
        if r > row:
            for between in range(row + 1, r + 1):
                crows[between] = e
            row = r
        elif c <= last:
            return False
        narrow[e], last = c, c
    for after in range(row + 1, height + 1):
        crows[after] = rows.size
    return True


# Entries in any order are sorted by row and column in two steps: first into buckets of neighbouring rows,
# then each bucket by itself, in the cache, digit by digit. An entry is one number meanwhile: the lower bits
# of its row, its column, and where it stood.

BUCKET = 2048  # entries
CHUNK = 1 << 18  # entries that are put into buckets together


def _bucket_sizes(rows, shift, chunk, sizes):
    for c in prange(sizes.shape[0]):
        mine = sizes[c]
        for e in range(c * chunk, min((c + 1) * chunk, rows.size)):
            mine[rows[e] >> shift] += 1


def _into_buckets(rows, cols, shift, chunk, col_bits, e_bits, places, packed):
    low = (np.int64(1) << shift) - 1
    for c in prange(places.shape[0]):
        place = places[c]
        for e in range(c * chunk, min((c + 1) * chunk, rows.size)):
            bucket = rows[e] >> shift
            packed[place[bucket]] = ((((rows[e] & low) << col_bits) | cols[e]) << e_bits) | e
            place[bucket] += 1


def _sort_buckets(starts, packed, shift, col_bits, e_bits, lengths, cols, firsts, order, counts):
    e_mask, col_mask = (np.int64(1) << e_bits) - 1, (np.int64(1) << col_bits) - 1
    for bucket in prange(starts.size - 1):
        keys = packed[starts[bucket] : starts[bucket + 1]]
        if keys.size <= 32:
            for i in range(1, keys.size):
                key, j = keys[i], i
                while j > 0 and keys[j - 1] > key:
                    keys[j] = keys[j - 1]
                    j -= 1
                keys[j] = key
        else:
            others, ends = np.empty_like(keys), np.empty(257, np.int64)
            for digit in range(e_bits, e_bits + col_bits + shift, 8):
                ends[:] = 0
                for i in range(keys.size):
                    ends[((keys[i] >> digit) & 255) + 1] += 1
                for d in range(256):
                    ends[d + 1] += ends[d]
                for i in range(keys.size):
                    d = (keys[i] >> digit) & 255
                    others[ends[d]] = keys[i]
                    ends[d] += 1
                keys, others = others, keys
        start, before = starts[bucket], np.int64(-1)
        k = start
        for i in range(keys.size):
            place = keys[i] >> e_bits
            order[start + i] = keys[i] & e_mask
            if place != before:
                cols[k], firsts[k] = place & col_mask, start + i
                lengths[(bucket << shift) + (place >> col_bits)] += 1
                before = place
                k += 1
        counts[bucket] = k - start


bucket_sizes = Loop(_bucket_sizes, CHUNK, "bucket_sizes")
_into_buckets_loop = Loop(_into_buckets, CHUNK, "into_buckets")
_sort_buckets_loop = Loop(_sort_buckets, PARALLEL_FROM, "sort_buckets")


@njit(cache=True)
def _close_gaps(starts, counts, cols, firsts):
    k = 0
    for bucket in range(counts.size):
        start = starts[bucket]
        for i in range(counts[bucket]):
            cols[k], firsts[k] = cols[start + i], firsts[start + i]
            k += 1


def grouped(
    rows: Any, cols: Any, height: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """(crows, cols, segments): the places of entries in any order, each once, by row and column.

    segments: (starts, order); the entries of place k are those that order names between starts[k] and
    starts[k + 1], in the order they came.
    """
    count = rows.size
    rows, cols = (np.ascontiguousarray(a, np.int64) for a in (rows, cols))
    col_bits, e_bits = (int(n).bit_length() for n in (cols.max(initial=0), count))
    shift = min((height * BUCKET // max(count, 1)).bit_length(), height.bit_length(), 63 - col_bits - e_bits)
    sizes = np.zeros((-(-count // CHUNK), (height >> shift) + 1), np.int64)
    bucket_sizes(rows, shift, CHUNK, sizes, size=count)
    ends = np.append(0, np.cumsum(sizes.T))  # bucket by bucket, in each of them chunk by chunk
    places = ends[:-1].reshape(sizes.shape[::-1]).T.copy()
    packed = np.empty(count, np.int64)
    _into_buckets_loop(rows, cols, shift, CHUNK, col_bits, e_bits, places, packed, size=count)
    starts, lengths = ends[:: max(len(sizes), 1)].copy(), np.zeros(height, np.int64)
    new_cols, firsts, order = (
        np.empty(count, np.int32),
        np.empty(count + 1, np.int32),
        np.empty(count, np.int32),
    )
    counts = np.zeros(sizes.shape[1], np.int64)
    _sort_buckets_loop(
        starts, packed, shift, col_bits, e_bits, lengths, new_cols, firsts, order, counts, size=count
    )
    crows = np.append(0, np.cumsum(lengths)).astype(np.int32)
    unique = int(crows[-1])
    if unique < count:
        _close_gaps(starts, counts, new_cols, firsts)
    firsts[unique] = count
    return crows, new_cols[:unique], (firsts[: unique + 1], order)


def _segment_sums(starts, order, values, out):
    for k in prange(out.shape[0]):
        row = out[k]
        row[:] = 0
        for i in range(starts[k], starts[k + 1]):
            value = values[order[i]]
            for j in range(row.size):
                row[j] += value[j]


def _segment_sums_flat(starts, order, values, out):
    last = order.size - 1
    for k in prange(out.size):
        prefetch(values, order[min(starts[k] + 32, last)])
        total = values[order[starts[k]]]
        for i in range(starts[k] + 1, starts[k + 1]):
            total += values[order[i]]
        out[k] = total


def _segment_spread(starts, order, g, out):
    for k in prange(g.shape[0]):
        row = g[k]
        for i in range(starts[k], starts[k + 1]):
            other = out[order[i]]
            for j in range(row.size):
                other[j] = row[j]


_segment_sums_loop = Loop(_segment_sums, PARALLEL_FROM, "segment_sums")
_segment_sums_flat_loop = Loop(_segment_sums_flat, PARALLEL_FROM, "segment_sums_flat")
_segment_spread_loop = Loop(_segment_spread, PARALLEL_FROM, "segment_spread")


def segment_sums(segments: Any, values: np.ndarray) -> np.ndarray:
    """For each place the sum of its entries' values. values: [entries, k]; returns [places, k]."""
    starts, order = segments
    out = np.empty((starts.size - 1, values.shape[1]), values.dtype)
    if values.shape[1] == 1:
        _segment_sums_flat_loop(starts, order, values.ravel(), out.ravel(), size=values.size)
    else:
        _segment_sums_loop(starts, order, values, out, size=values.size)
    return out


def segment_spread(segments: Any, g: np.ndarray) -> np.ndarray:
    """For each entry what its place has. g: [places, k]; returns [entries, k]."""
    starts, order = segments
    out = np.empty((order.size, g.shape[1]), g.dtype)
    _segment_spread_loop(starts, order, g, out, size=out.size)
    return out


def _union(cuts, a_crows, a_cols, b_crows, b_cols, crows, cols, from_a, from_b, ends):
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
                view = array.data  # it moves in place, where NumPy would copy twice
                view[count : count + length] = view[start : start + length]
            crows[parts[part] : parts[part + 1]] -= start - count
        count += length
    crows[-1] = count
    return crows, *(array[:count] for array in found)


def _united(a, b, sign, from_a, from_b, out):
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
