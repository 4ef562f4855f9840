"""Rows of a table as processes send them: rounded into a message, and the messages of all added up.

A bfloat16 is the upper half of a float32; messages hold it as uint16. Each row is read and written once, and
rows that lie in no order are prefetched.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numba import njit, prange, types
from numba.extending import overload

from .arena import lent
from .cpu_embedding import AHEAD, PARALLEL_FROM, PARTS, distinct, row_ahead
from .loops import Loop


@njit(inline="always")
def _upper_half(bits):
    """The bits of the bfloat16 that is next to a float32, the even one of two: as torch rounds."""
    if (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):  # NaN
        return np.uint32(0x7FC0)
    return np.uint32((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@njit(inline="always")
def _widened(half):
    """The float32 of a bfloat16's bits."""
    return np.uint32(np.uint32(half) << np.uint32(16)).view(np.float32)


def _as_float(value):
    """A number of a message: where it is a bfloat16's bits, the float32 of them."""
    return _widened(value) if isinstance(value, np.uint16) else value


@overload(_as_float, inline="always")
def _overload_as_float(value):
    if isinstance(value, types.Integer):
        return lambda value: _widened(value)
    return lambda value: value


def _rounded(ids, rows, wrong, lost, sent):
    for part in prange(PARTS):
        end = ids.size * (part + 1) // PARTS
        for i in range(ids.size * part // PARTS, end):
            ahead = ids[min(i + AHEAD, end - 1)]
            r = ids[i]  # read once: what is used is what was checked
            row_ahead(lost, min(max(ahead, 0), lost.shape[0] - 1))
            if r < 0 or r >= lost.shape[0]:
                wrong[part] = True
                continue
            row, left, out = rows[i], lost[r], sent[i]
            for j in range(row.size):
                whole = np.float32(row[j] + left[j])
                half = _upper_half(whole.view(np.uint32))
                rest = whole - _widened(half)
                left[j] = rest if rest - rest == 0 else np.float32(0)  # not what is not finite
                out[j] = half


_rounded_loop = Loop(_rounded, PARALLEL_FROM, "rows_rounded")


def write_rounded(ids: np.ndarray, rows: np.ndarray, lost: np.ndarray, sent: np.ndarray) -> None:
    """sent[i] = bfloat16(rows[i] + lost[ids[i]]), and lost[ids[i]] becomes what rounding took away: 0 where
    it overflows, or is NaN.

    ids: int64 [n], none twice; rows: float32 [n, d]; lost: float32 [count, d]; sent: uint16 [n, d].
    IndexError for an id outside.
    """
    wrong = np.zeros(PARTS, np.bool_)
    _rounded_loop(ids, rows, wrong, lost, sent, size=rows.size)
    if wrong.any():
        raise IndexError(f"ids: expected 0 to {len(lost) - 1}, got {ids.min()} to {ids.max()}")


def _add_rows(place, rows, factor, before, out):
    for part in prange(PARTS):
        end = place.size * (part + 1) // PARTS
        for i in range(place.size * part // PARTS, end):
            row_ahead(out, max(place[min(i + AHEAD, end - 1)], 0))
            k = place[i]
            if k < 0:
                continue
            total, row = out[k], rows[i]
            if k < before:
                for j in range(row.size):
                    total[j] += factor * _as_float(row[j])
            else:
                for j in range(row.size):
                    total[j] = factor * _as_float(row[j])


_add_rows_loop = Loop(_add_rows, PARALLEL_FROM, "message_rows_added")


def sum_of_messages(
    ids: Sequence[np.ndarray], rows: Sequence[np.ndarray], count: int, factor: float, kind: torch.dtype
) -> tuple[np.ndarray, torch.Tensor]:
    """(distinct ids [n] int64, [n, d]: the sums of factor * row over all messages, in their order).

    ids[m]: int32 or int64, none twice in one message; rows[m]: [n_m, d] of dtype `kind`, float32 or float64,
    or uint16, the bits of bfloat16. count: the rows of the table. ValueError for an id outside.
    """
    found, place = distinct(np.concatenate(ids, dtype=np.int64), count)
    out = lent((len(found), rows[0].shape[1]), kind)
    begin, before = 0, 0
    for part in rows:
        own = place[begin : begin + len(part)]
        scale = np.float64(factor) if part.dtype == np.float64 else np.float32(factor)
        _add_rows_loop(own, part, scale, before, out.numpy(), size=part.size)
        before = max(before, int(own.max(initial=-1)) + 1)
        begin += len(part)
    return found, out
