"""Kaldi's pitch: normalized cross-correlation of frames, and the best path through their lags.

A frame's correlations do not depend on the frames beside it, and the path is found frame by frame: cutting a
signal in other pieces, or using more threads, changes no bit of the result.
Source: P. Ghahremani et al., "A pitch extraction algorithm tuned for automatic speech recognition", 2014.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from .loops import Loop, in_both_forms

PARALLEL_FROM = 16  # frames


@njit(cache=True, error_model="numpy")
def _correlations(part, window, first, inner, norm):
    """The inner products of the first `window` samples of a frame with those `first` samples later and on,
    and the products of their energies. Both lose the mean of the first `window` samples.

    The inner loops are over lags: they vectorise without another order of addition.
    """
    mean = 0.0
    for i in range(window):
        mean += part[i]
    mean /= window
    energy = 0.0
    centred, squares = np.empty(part.size), np.empty(part.size)
    for i in range(part.size):
        centred[i] = part[i] - mean
        squares[i] = centred[i] * centred[i]
    inner[:], norm[:] = 0.0, 0.0
    for i in range(window):
        here, energy = centred[i], energy + squares[i]
        begin, end = first + i, first + i + inner.size
        there, other = centred[begin:end], squares[begin:end]
        for k in range(inner.size):
            inner[k] += here * there[k]
            norm[k] += other[k]
    for k in range(norm.size):
        norm[k] *= energy


@njit(cache=True, error_model="numpy")
def _at_lags(coarse, starts, weights, out):
    """Correlations at every lag from those at whole samples. starts: int64 [lags]; weights: [lags, taps]."""
    for k in range(out.size):
        row, given = weights[k], coarse[starts[k] : starts[k] + weights.shape[1]]
        total = 0.0
        for i in range(row.size):
            total += row[i] * given[i]
        out[k] = total


def _nccf(signal, shift, window, first, count, ballast, starts, weights, smooth, plain):
    for t in prange(smooth.shape[0]):
        inner, norm = np.empty(count), np.empty(count)
        part = signal[t * shift : t * shift + window + first + count - 1]
        _correlations(part, window, first, inner, norm)
        coarse = np.empty(count)
        for ballasted in range(2):
            for k in range(count):
                below = norm[k] + (ballast[t] if ballasted else 0.0)
                coarse[k] = inner[k] / np.sqrt(below) if below > 0.0 else 0.0
            _at_lags(coarse, starts, weights, smooth[t] if ballasted else plain[t])


_nccf_loop = Loop(_nccf, PARALLEL_FROM, "nccf")


def nccf(
    signal: Any, shift: int, window: int, first: int, count: int, ballast: Any, starts: Any, weights: Any
) -> tuple[Any, Any]:
    """(with ballast, without): float32 [frames, lags] normalized cross-correlations.

    signal: float32, frame t begins at sample t shift and reaches to the last of its window + first + count -
    1 samples. first, count: lags in samples. ballast: float64 [frames]. starts, weights: of the interpolation
    between them, int64 [lags] and [lags, taps].
    """
    shape = (len(ballast), len(starts))
    smooth, plain = np.empty(shape, np.float32), np.empty(shape, np.float32)
    if len(ballast):
        _nccf_loop(
            signal, shift, window, first, count, ballast, starts, weights, smooth, plain, size=len(ballast)
        )
    return smooth, plain


@njit(cache=True, error_model="numpy")
def mean_squares(signal, done, ends, sums):
    """The variance of all samples up to each of `ends` (int64, not decreasing), of a signal whose first
    `done` samples are in sums: [number, sum, sum of squares], which is updated."""
    found = np.empty(ends.size)
    at = 0
    for t in range(ends.size):
        while at < ends[t] - done:
            x = np.float64(signal[at])
            sums[0] += 1.0
            sums[1] += x
            sums[2] += x * x
            at += 1
        mean = sums[1] / max(sums[0], 1.0)
        found[t] = max(sums[2] / max(sums[0], 1.0) - mean * mean, 0.0)
    return found


@njit(cache=True, error_model="numpy")
def _cheapest(cost, factor, place, edge, found, least):
    """least[j] = min over i of cost[i] + factor (i - j)^2, found[j] = that i: the lower envelope of parabolas
    (Felzenszwalb and Huttenlocher, 2012). An infinite cost is left out; one must be finite."""
    last = -1
    for q in range(cost.size):
        if cost[q] == np.inf:
            continue
        cut = -np.inf
        while last >= 0:
            p = place[last]
            cut = ((cost[q] - cost[p]) / factor + (q * q - p * p)) / (2.0 * (q - p))
            if cut > edge[last]:
                break
            last -= 1
            cut = -np.inf
        last += 1
        place[last], edge[last] = q, cut
    at = 0
    for j in range(cost.size):
        while at < last and edge[at + 1] < j:
            at += 1
        found[j] = place[at]
        least[j] = cost[place[at]] + factor * (place[at] - j) ** 2


@njit(cache=True, error_model="numpy")
def viterbi(smooth, lags, soft_min_f0, factor, cost, back):
    """Go through frames: cost [lags] becomes that of the best path to each lag, less the smallest.

    smooth: [frames, lags]; a frame costs 1 - nccf (1 - soft_min_f0 lag), a change by d lags factor d^2. back:
    int32 [frames, lags], the lag of the frame before.
    """
    size = lags.size
    place, edge, least = np.empty(size, np.int64), np.empty(size), np.empty(size)
    for t in range(smooth.shape[0]):
        _cheapest(cost, factor, place, edge, back[t], least)
        for j in range(size):
            cost[j] = least[j] + 1.0 - smooth[t, j] * (1.0 - soft_min_f0 * lags[j])
        lowest = cost.min()
        for j in range(size):
            cost[j] -= lowest


@njit(cache=True, error_model="numpy")
def path(back, cost):
    """int64 [frames]: the lags of the best path."""
    found = np.empty(back.shape[0], np.int64)
    at = np.argmin(cost)
    for t in range(back.shape[0] - 1, -1, -1):
        found[t] = at
        at = back[t, at]
    return found


@njit(cache=True, error_model="numpy")
def agreed(back, cost):
    """How many of the first frames have one lag on every path whose cost is finite."""
    here, before = cost < np.inf, np.zeros(cost.size, np.bool_)
    for t in range(back.shape[0] - 1, -1, -1):
        count = 0
        for j in range(cost.size):
            count += here[j]
        if count == 1:
            return t + 1
        before[:] = False
        for j in range(cost.size):
            if here[j]:
                before[back[t, j]] = True
        here, before = before, here
    return 0


@njit(cache=True, error_model="numpy")
def decide(back, cost, frame):
    """Make the cost of paths infinite that are not in the best path's lag at a frame."""
    kept = path(back, cost)[frame]
    for j in range(cost.size):
        at = np.int64(j)
        for t in range(back.shape[0] - 1, frame, -1):
            at = np.int64(back[t, at])
        if at != kept:
            cost[j] = np.inf


@njit(cache=True, error_model="numpy")
def weighted_means(values, weights, left, right):
    """The weighted mean of each value and its neighbours, `left` before and `right` behind it."""
    found = np.empty(values.size)
    for t in range(values.size):
        total, weight = 0.0, 0.0
        for k in range(max(0, t - left), min(values.size, t + right + 1)):
            total += weights[k] * values[k]
            weight += weights[k]
        found[t] = total / weight
    return found


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    starts, weights, lags = np.zeros(2, np.int64), np.ones((2, 3)), np.ones(2)
    for _ in in_both_forms():
        smooth, _ = nccf(np.ones(20, np.float32), 1, 4, 1, 3, np.ones(2), starts, weights)
    mean_squares(np.ones(4, np.float32), 0, np.array([2, 4]), np.zeros(3))
    cost, back = np.zeros(2), np.empty((2, 2), np.int32)
    viterbi(smooth, lags, 0.0, 1.0, cost, back)
    agreed(back, cost)
    decide(back, cost, 0)
    weighted_means(lags, lags, 1, 1)
