"""What a generated loop does with a row [n] of float32 as a whole, before it passes over it once more."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .elementary import exp


def _reordered(function: Any) -> Any:
    """Compiled. Its sums are taken in another order, always the same one, so that they become vector code."""
    return numba.njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})(function)


@_reordered
def moments(row: Any, epsilon: Any) -> Any:
    """The mean, and 1 / sqrt(variance + epsilon)."""
    total = np.float32(0.0)
    for i in range(row.size):
        total += row[i]
    mean = np.float32(total / np.float32(row.size))
    squares = np.float32(0.0)
    for i in range(row.size):
        squares += (row[i] - mean) * (row[i] - mean)
    return mean, np.float32(1.0) / np.sqrt(squares / np.float32(row.size) + epsilon)


@_reordered
def exponentials(row: Any, out: Any) -> Any:
    """Write e^(x - the largest x) to out, which may be the row, and return 1 / their sum."""
    largest = row[0]
    for i in range(row.size):
        largest = row[i] if row[i] > largest else largest
    total = np.float32(0.0)
    for i in range(row.size):
        value = exp(row[i] - largest)
        out[i] = value
        total += value
    return np.float32(1.0) / total
