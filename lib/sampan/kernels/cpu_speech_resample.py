"""A polyphase filter: each result is a short sum of products, its filter the one of its phase."""

from typing import Any

import numpy as np
from numba import njit, prange

from .loops import Loop, in_both_forms

PARALLEL_FROM = 1 << 14  # results
PIECE = 4096  # results of one part of the work


@njit(inline="always")
def _dot(x, begin, filter):
    """Four sums side by side, in an order that does not depend on where the loop is compiled."""
    zero = x.dtype.type(0)
    a, b, c, d = zero, zero, zero, zero
    for k in range(0, filter.size, 4):
        a += filter[k] * x[begin + k]
        b += filter[k + 1] * x[begin + k + 1]
        c += filter[k + 2] * x[begin + k + 2]
        d += filter[k + 3] * x[begin + k + 3]
    return (a + b) + (c + d)


def _polyphase(x, filters, first, step, phase, out):
    phases = filters.shape[0]
    for piece in prange((out.size + PIECE - 1) // PIECE):
        for m in range(piece * PIECE, min(out.size, (piece + 1) * PIECE)):
            j = (phase + m) % phases
            out[m] = _dot(x, (phase + m) // phases * step + first[j], filters[j])


_polyphase_loop = Loop(_polyphase, PARALLEL_FROM, "polyphase")


def polyphase(x: Any, filters: Any, first: Any, step: int, phase: int, out: Any) -> None:
    """out[m] = the sum over k of filters[j, k] x[i step + first[j] + k], (i, j) = divmod(phase + m, phases).

    x: [samples], out: [results], filters: [phases, taps] of one dtype, float32 or float64, taps a multiple of
    4; first: int64 [phases], at least 0. x must reach to the last product.
    """
    if out.size:
        _polyphase_loop(x, filters, first, step, phase, out, size=out.size)


@njit(cache=True, error_model="numpy")
def polyphase_back(g, filters, first, step, out):
    """The transpose of `polyphase` with phase 0: out[samples] from g[results]. out is overwritten."""
    out[:] = 0
    phases = filters.shape[0]
    for m in range(g.size):
        j = m % phases
        begin, row = m // phases * step + first[j], filters[j]
        for k in range(row.size):
            out[begin + k] += g[m] * row[k]


def warm_up() -> None:
    for kind in (np.float32, np.float64):
        x, filters, first = np.ones(9, kind), np.ones((2, 4), kind), np.zeros(2, np.int64)
        for _ in in_both_forms():
            polyphase(x, filters, first, 1, 0, np.empty(3, kind))
        polyphase_back(np.ones(3, kind), filters, first, 1, x)
