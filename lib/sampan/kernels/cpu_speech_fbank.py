"""Features of speech, from samples to log mel energies or cepstra, sixteen frames at a time.

Everything between the samples and the result stays in the first cache. A frame's numbers do not depend on the
frames beside it: cutting a signal in other pieces, or using more threads, changes no bit of the result.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from . import cpu_speech_fft as fft
from .cpu_speech_fft import LANES, U
from .loops import Loop, in_both_forms

PARALLEL_FROM = 64  # frames


class Plan(NamedTuple):
    """The tables of one kind of feature: float32 unless they say otherwise. A transform has 2 n samples."""

    window: Any  # [length]
    cos: Any  # [n]
    sin: Any  # [n]
    half_cos: Any  # [n]
    half_sin: Any  # [n]
    rows: Any  # int64 [n]
    mel_first: Any  # int64 [mels]: the first frequency of each filter
    mel_starts: Any  # int64 [mels + 1]: where its weights begin
    mel_weights: Any  # [weights]
    cepstra: Any  # [ceps, mels], or no row for mel energies
    shift: int
    scale: Any
    preemphasis: Any
    floor: Any  # of the raw energy, before the logarithm
    centred: bool  # whether a frame's mean is taken off
    raw: bool  # whether its energy is that before pre-emphasis and window
    squared: bool  # power; else magnitude
    logarithm: bool
    least: Any = np.float32(1.1920929e-7)  # mel energy, before the logarithm: a normal number
    factor: Any = np.float32(1)  # of the logarithm
    offset: Any = np.float32(0)  # added to it
    by_column: bool = False  # results [columns, frames]; else [frames, columns]


@njit(inline="always")
def log(x):
    """The natural logarithm of a normal float32 above 0 within 2 ulp (Cephes), without branches: it
    vectorises."""
    bits = np.float32(x).view(np.int32)
    exponent = np.float32((bits >> np.int32(23)) - np.int32(126))
    m = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)).view(np.float32)  # 0.5 to 1
    low = m < np.float32(0.70710678)
    exponent -= np.float32(1.0) if low else np.float32(0.0)
    m = m + (m if low else np.float32(0.0)) - np.float32(1.0)
    p = np.float32(7.0376836292e-2)
    p = p * m - np.float32(1.1514610310e-1)
    p = p * m + np.float32(1.1676998740e-1)
    p = p * m - np.float32(1.2420140846e-1)
    p = p * m + np.float32(1.4249322787e-1)
    p = p * m - np.float32(1.6668057665e-1)
    p = p * m + np.float32(2.0000714765e-1)
    p = p * m - np.float32(2.4999993993e-1)
    p = p * m + np.float32(3.3333331174e-1)
    square = m * m
    y = p * m * square - np.float32(2.12194440e-4) * exponent - np.float32(0.5) * square
    return m + y + np.float32(0.693359375) * exponent


@njit(cache=True, error_model="numpy")
def _load(wave, frame, last, shift, scale, tile):
    """tile [length * LANES]: the samples of frames `frame` on; those behind `last` repeat it."""
    for lane in range(LANES):
        begin = U(min(frame + lane, last) * shift)
        place = U(lane)
        for i in range(tile.size // LANES):
            tile[U(i * LANES) + place] = wave[begin + U(i)] * scale


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _means(tile, means):
    """The mean of each frame, four rows at a time: fewer additions wait for one another."""
    means[:] = 0
    count = tile.size // LANES
    one, two, three = U(LANES), U(2 * LANES), U(3 * LANES)
    for i in range(0, count // 4 * 4 * LANES, 4 * LANES):
        for lane in range(LANES):
            k = U(i) + U(lane)
            means[U(lane)] += (tile[k] + tile[k + one]) + (tile[k + two] + tile[k + three])
    for i in range(count // 4 * 4 * LANES, tile.size, LANES):
        for lane in range(LANES):
            means[U(lane)] += tile[U(i) + U(lane)]
    for lane in range(LANES):
        means[U(lane)] /= np.float32(count)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _energies(tile, means, energy):
    """The sum of the squares of each frame's samples after its mean is subtracted."""
    energy[:] = 0
    for i in range(0, tile.size, LANES):
        for lane in range(LANES):
            x = tile[U(i) + U(lane)] - means[U(lane)]
            energy[U(lane)] += x * x


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _windowed(tile, means, window, factor, re, im):
    """y_i - factor y_(i - 1), y = x - mean, y_(-1) = y_0, times the window: even samples to re, odd ones to
    im, zeros behind. Two rows at a time: LLVM unrolls a shorter inner loop instead of vectorising it."""
    length = window.size
    re[(length + 1) // 2 * LANES :] = 0
    im[length // 2 * LANES :] = 0
    for i in range(0, length - 1, 2):
        w, v = window[i], window[i + 1]
        before, here, place = U(max(i - 1, 0) * LANES), U(i * LANES), U(i // 2 * LANES)
        for lane in range(LANES):
            k = U(lane)
            mean = means[k]
            y = tile[here + k] - mean
            re[place + k] = w * (y - factor * (tile[before + k] - mean))
            im[place + k] = v * (tile[here + U(LANES) + k] - mean - factor * y)
    if length % 2:
        w, here, place = window[length - 1], U((length - 1) * LANES), U(length // 2 * LANES)
        for lane in range(LANES):
            k = U(lane)
            re[place + k] = w * (tile[here + k] - means[k] - factor * (tile[here - U(LANES) + k] - means[k]))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _windowed_energies(re, im, energy):
    energy[:] = 0
    for i in range(0, re.size, LANES):
        for lane in range(LANES):
            k = U(i) + U(lane)
            energy[U(lane)] += re[k] * re[k] + im[k] * im[k]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _filter(power, first, starts, weights, out):
    """Each filter's weighted sum of neighbouring frequencies. power: [(n + 1) * LANES]; out: [mels *
    LANES]."""
    out[:] = 0
    for m in range(first.size):
        place = U(m * LANES)
        row = U(first[m] * LANES)
        for k in range(starts[m], starts[m + 1]):
            w = weights[k]
            for lane in range(LANES):
                out[place + U(lane)] += w * power[row + U(lane)]
            row += U(LANES)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _project(matrix, given, out):
    """matrix [rows, columns] times each lane of given [columns * LANES]."""
    out[:] = 0
    for r in range(matrix.shape[0]):
        place = U(r * LANES)
        for c in range(matrix.shape[1]):
            w, row = matrix[r, c], U(c * LANES)
            for lane in range(LANES):
                out[place + U(lane)] += w * given[row + U(lane)]


@njit(cache=True, error_model="numpy")
def _to_logarithms(values, least, factor, offset):
    """factor log(max(x, least)) + offset; NaN and infinity stay."""
    for i in range(values.size):
        x = values[i]
        y = factor * log(max(x, least)) + offset
        values[i] = y if x < np.float32(np.inf) else x


@njit(cache=True, error_model="numpy")
def _store(tile, out, frame, by_column):
    """The lanes of a tile [columns * LANES] to frames of out, as many as there are."""
    if by_column:
        lanes = min(LANES, out.shape[1] - frame)
        for m in range(out.shape[0]):
            row = out[m, frame : frame + lanes]
            for lane in range(lanes):
                row[lane] = tile[m * LANES + lane]
        return
    for lane in range(min(LANES, out.shape[0] - frame)):
        row = out[frame + lane]
        for m in range(row.size):
            row[m] = tile[m * LANES + lane]


def _features(wave, plan, energies, out):
    n, length = plan.rows.size, plan.window.size
    frames = out.shape[1] if plan.by_column else out.shape[0]
    mels = plan.mel_first.size
    for t in prange((frames + LANES - 1) // LANES):
        tile = np.empty(length * LANES, np.float32)
        means, energy = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
        re, im = np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32)
        _load(wave, t * LANES, frames - 1, plan.shift, plan.scale, tile)
        if plan.centred:
            _means(tile, means)
        else:
            means[:] = 0
        if plan.raw and energies.size:
            _energies(tile, means, energy)
        _windowed(tile, means, plan.window, plan.preemphasis, re, im)
        if not plan.raw and energies.size:
            _windowed_energies(re, im, energy)
        fft.transform(re, im, plan.cos, plan.sin)
        spectrum, filtered = np.empty((n + 1) * LANES, np.float32), np.empty(mels * LANES, np.float32)
        fft.power(re, im, plan.rows, plan.half_cos, plan.half_sin, spectrum)
        if not plan.squared:
            spectrum[:] = np.sqrt(spectrum)
        _filter(spectrum, plan.mel_first, plan.mel_starts, plan.mel_weights, filtered)
        if plan.logarithm:
            _to_logarithms(filtered, plan.least, plan.factor, plan.offset)
        if energies.size:
            _to_logarithms(energy, max(plan.least, plan.floor), np.float32(1), np.float32(0))
            for lane in range(min(LANES, frames - t * LANES)):
                energies[t * LANES + lane] = energy[lane]
        if plan.cepstra.size:
            coefficients = np.empty(plan.cepstra.shape[0] * LANES, np.float32)
            _project(plan.cepstra, filtered, coefficients)
            _store(coefficients, out, t * LANES, plan.by_column)
        else:
            _store(filtered, out, t * LANES, plan.by_column)


_features_loop = Loop(_features, PARALLEL_FROM, "speech features")


def features(wave: Any, plan: Plan, energies: Any, out: Any) -> None:
    """Mel energies, their logarithms or cepstra of each frame of `wave` float32 [samples], into out float32
    [frames, columns], or [columns, frames] by column.

    Frame f begins at sample f plan.shift; wave reaches to the end of the last one. energies: float32 [frames]
    for the logarithm of each frame's energy, or of no entry.
    """
    if out.size:
        _features_loop(wave, plan, energies, out, size=out.shape[1 if plan.by_column else 0])


def warm_up() -> None:
    """Compile (or load from the cache) both forms of the loop."""
    n = 8
    ones, rows = np.ones(n, np.float32), np.arange(n)
    plan = Plan(
        np.ones(10, np.float32), ones, ones, ones, ones, rows, np.zeros(2, np.int64), np.arange(3), ones[:2],
        np.empty((0, 2), np.float32), 4, np.float32(1), np.float32(0.9), np.float32(0), True, True, True,
        True,
    )  # fmt: skip
    for _ in in_both_forms():
        features(np.ones(30, np.float32), plan, np.empty(0, np.float32), np.empty((3, 2), np.float32))
