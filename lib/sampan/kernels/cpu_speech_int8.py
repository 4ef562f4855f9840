"""Numbers to int8 and back, around a matrix product of int8 whose sums are int32.

A row of x is scaled by its own greatest magnitude, so its result does not depend on the rows beside it.
Source: Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference, 2018 (symmetric form).
"""

import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

PARALLEL_FROM = 200_000  # numbers
LARGEST = 127


def _to_int8(x, scales, q):
    bits = x.view(np.int32)
    for n in prange(x.shape[0]):
        row, out, magnitudes = x[n], q[n], bits[n]
        # The bits of a float without its sign are ordered as its magnitude, and a maximum of integers
        # is vectorised: 10 times faster than one of floats, which must regard NaN.
        most = np.int32(0)
        for j in range(row.size):
            most = max(most, magnitudes[j] & np.int32(0x7FFFFFFF))
        scales[n : n + 1].view(np.int32)[0] = most
        scale = scales[n] / np.float32(LARGEST)
        scales[n] = scale
        inverse = np.float32(1) / scale if scale > 0 else np.float32(0)
        for j in range(row.size):
            out[j] = np.int8(np.rint(row[j] * inverse))


def _from_sums(sums, scales, columns, bias, y):
    for n in prange(sums.shape[0]):
        scale, row, out = scales[n], sums[n], y[n]
        for j in range(row.size):
            out[j] = np.float32(row[j]) * (scale * columns[j]) + bias[j]


_to_loop = Loop(_to_int8, PARALLEL_FROM, "to_int8")
_from_loop = Loop(_from_sums, PARALLEL_FROM, "from_sums")


def to_int8(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int8 [rows, n], float32 scales [rows]) of float32 x, contiguous: x is about int8 * scale. The scale of
    a row with a value that is not finite is not finite either."""
    q, scales = np.empty(x.shape, np.int8), np.empty(len(x), np.float32)
    _to_loop(x, scales, q, size=q.size)
    return q, scales


def from_sums(sums: np.ndarray, scales: np.ndarray, columns: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """sums[n, j] scales[n] columns[j] + bias[j], float32. sums: int32 [rows, n], contiguous."""
    y = np.empty(sums.shape, np.float32)
    _from_loop(sums, scales, columns, bias, y, size=y.size)
    return y


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        _, scales = to_int8(np.zeros((2, 3), np.float32))
        from_sums(np.zeros((2, 3), np.int32), scales, np.ones(3, np.float32), np.zeros(3, np.float32))
