"""Numbers to unsigned integers of 8 bits, as oneDNN takes them: round(x / step) + 128.

Source: Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference, 2018.
"""

import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

PARALLEL_FROM = 200_000  # numbers
ZERO = 128


def _to_unsigned(x, steps, q):
    inverse = np.float32(1) / steps[0]
    low, high = np.float32(-128), np.float32(127)
    for i in prange(x.size):
        scaled = min(max(x[i] * inverse, low), high)
        q[i] = np.uint8(np.int32(np.rint(scaled)) + np.int32(128))


_loop = Loop(_to_unsigned, PARALLEL_FROM, "to_unsigned")


def to_unsigned(x: np.ndarray, step: float) -> np.ndarray:
    """uint8 of the shape of x: round(x / step) + 128, halves to even, from 0 to 255. x: float32, contiguous.

    A NaN becomes some number.
    """
    q = np.empty(x.shape, np.uint8)
    _loop(x.reshape(-1), np.array([step], np.float32), q.reshape(-1), size=q.size)
    return q


def warm_up() -> None:
    """Compile (or load from the cache) the loop, in both forms."""
    for _ in in_both_forms():
        to_unsigned(np.zeros(3, np.float32), 1.0)
