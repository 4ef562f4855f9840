"""Convolution of each channel over time with its own weights; frames are rows of channels.

Arrays: x [batch, time + kernel - 1, channels], weight [channels, kernel], y [batch, time, channels], all
contiguous. A result adds its terms in the same order wherever its frame lies, so chunks give what the whole
gives.
"""

import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

PARALLEL_FROM = 200_000  # numbers in y


def _depthwise(x, weight, bias, y):
    time, turned = y.shape[1], np.ascontiguousarray(weight.T)
    for row in prange(y.shape[0] * time):
        b = np.int64(row) // time  # a parallel loop counts without a sign
        t = np.int64(row) - b * time
        out = y[b, t]
        out[:] = bias
        for k in range(len(turned)):
            seen, scale = x[b, t + k], turned[k]
            for c in range(out.size):
                out[c] += seen[c] * scale[c]


def _depthwise_weight(x, g, found):
    for k in prange(found.shape[0]):
        out = found[k]
        out[:] = 0
        for b in range(g.shape[0]):
            for t in range(g.shape[1]):
                seen, slope = x[b, t + k], g[b, t]
                for c in range(out.size):
                    out[c] += seen[c] * slope[c]


_forward_loop = Loop(_depthwise, PARALLEL_FROM, "depthwise")
_weight_loop = Loop(_depthwise_weight, PARALLEL_FROM, "depthwise_weight")


def depthwise(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """y[b, t, c] = bias[c] + sum over k of x[b, t + k, c] weight[c, k]."""
    y = np.empty((x.shape[0], x.shape[1] - weight.shape[1] + 1, x.shape[2]), x.dtype)
    _forward_loop(x, weight, bias, y, size=y.size)
    return y


def depthwise_weight(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """[kernel, channels]: sum over b and t of x[b, t + k, c] g[b, t, c]."""
    found = np.empty((x.shape[1] - g.shape[1] + 1, x.shape[2]), x.dtype)
    _weight_loop(x, g, found, size=g.size)
    return found


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    for _ in in_both_forms():
        for kind in (np.float32, np.float64):
            x = np.zeros((1, 3, 2), kind)
            depthwise_weight(x, depthwise(x, x[0, :2].copy(), x[0, 0].copy()))
