"""The power spectrum of real frames, sixteen frames at a time: each step of the transform is a loop over
frames.

A matrix of a tile is [rows, LANES], flat: row i of all frames lies in one piece, so that every inner loop
runs over LANES neighbours and vectorises. A real transform of 2 n samples is a complex one of n (even samples
are the real parts, odd ones the imaginary parts) and one more pass. The complex one is in place, by radix 4
and decimation in frequency; its results lie in the order of `bin_rows`.

Source: J. W. Cooley and J. W. Tukey, 1965; W. T. Cochran et al., "What is the fast Fourier transform?", 1967.
"""

from typing import Any

import numpy as np
from numba import njit

LANES = 16  # frames
LARGEST = 2048  # complex numbers: frames of 4,096 samples
U = np.uint64  # an index that cannot be negative: Numba then needs no test, and the loop vectorises


def _radix4(quarter: int) -> Any:
    """The stage whose butterflies join rows `quarter` apart: a constant, so that LLVM sees no overlap."""

    def stage(re, im, cos, sin, n):
        one, two, three = U(quarter * LANES), U(2 * quarter * LANES), U(3 * quarter * LANES)
        jump = n // (4 * quarter)
        for block in range(0, n * LANES, 4 * quarter * LANES):
            for j in range(quarter):
                c1, s1 = cos[j * jump], sin[j * jump]
                c2, s2 = cos[2 * j * jump], sin[2 * j * jump]
                c3, s3 = cos[3 * j * jump], sin[3 * j * jump]
                first = U(block + j * LANES)
                for lane in range(LANES):
                    i = first + U(lane)
                    ar, br, cr, dr = re[i], re[i + one], re[i + two], re[i + three]
                    ai, bi, ci, di = im[i], im[i + one], im[i + two], im[i + three]
                    er, ei, fr, fi = ar + cr, ai + ci, ar - cr, ai - ci
                    gr, gi, hr, hi = br + dr, bi + di, bi - di, dr - br  # h: (b - d) / i
                    re[i], im[i] = er + gr, ei + gi
                    ur, ui, vr, vi, wr, wi = fr + hr, fi + hi, er - gr, ei - gi, fr - hr, fi - hi
                    re[i + one], im[i + one] = ur * c1 - ui * s1, ur * s1 + ui * c1
                    re[i + two], im[i + two] = vr * c2 - vi * s2, vr * s2 + vi * c2
                    re[i + three], im[i + three] = wr * c3 - wi * s3, wr * s3 + wi * c3

    stage.__name__ = stage.__qualname__ = f"radix4_{quarter}"
    return njit(cache=True, error_model="numpy", fastmath={"contract"})(stage)


_stage_512, _stage_256, _stage_128, _stage_64 = map(_radix4, (512, 256, 128, 64))
_stage_32, _stage_16, _stage_8, _stage_4, _stage_2, _stage_1 = map(_radix4, (32, 16, 8, 4, 2, 1))


@njit(cache=True, error_model="numpy")
def _radix2(re, im, n):
    """The last stage where n is not a power of 4: pairs of neighbouring rows."""
    for block in range(0, n * LANES, 2 * LANES):
        first, step = U(block), U(LANES)
        for lane in range(LANES):
            i = first + U(lane)
            ar, ai, br, bi = re[i], im[i], re[i + step], im[i + step]
            re[i], im[i], re[i + step], im[i + step] = ar + br, ai + bi, ar - br, ai - bi


@njit(cache=True, error_model="numpy")
def transform(re, im, cos, sin):
    """The complex transform of each frame, in place. re, im: [n * LANES], n a power of 2 up to LARGEST; cos,
    sin: [n] of -2 pi k / n. Row bin_rows(n)[k] holds frequency k afterwards."""
    n = re.size // LANES
    quarter = n // 4
    while quarter >= 1:
        if quarter == 512:
            _stage_512(re, im, cos, sin, n)
        elif quarter == 256:
            _stage_256(re, im, cos, sin, n)
        elif quarter == 128:
            _stage_128(re, im, cos, sin, n)
        elif quarter == 64:
            _stage_64(re, im, cos, sin, n)
        elif quarter == 32:
            _stage_32(re, im, cos, sin, n)
        elif quarter == 16:
            _stage_16(re, im, cos, sin, n)
        elif quarter == 8:
            _stage_8(re, im, cos, sin, n)
        elif quarter == 4:
            _stage_4(re, im, cos, sin, n)
        elif quarter == 2:
            _stage_2(re, im, cos, sin, n)
        else:
            _stage_1(re, im, cos, sin, n)
        if quarter == 2:
            _radix2(re, im, n)
        quarter //= 4


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def power(re, im, rows, cos, sin, out):
    """|X_k|^2 of real frames from the transform of their pairs of samples, k = 0 to n.

    rows: int64 [n], where frequency k of the transform lies; cos, sin: [n] of -pi k / n; out: [(n + 1) *
    LANES]."""
    n, half = rows.size, np.float32(0.5)
    highest = U(n * LANES)
    for lane in range(LANES):
        i = U(lane)
        total, difference = re[i] + im[i], re[i] - im[i]
        out[i], out[highest + i] = total * total, difference * difference
    for k in range(1, n):
        first, second, place = U(rows[k] * LANES), U(rows[n - k] * LANES), U(k * LANES)
        c, s = cos[k], sin[k]
        for lane in range(LANES):
            i, j = first + U(lane), second + U(lane)
            even_r, even_i = half * (re[i] + re[j]), half * (im[i] - im[j])
            odd_r, odd_i = half * (im[i] + im[j]), half * (re[j] - re[i])
            real, imaginary = even_r + c * odd_r - s * odd_i, even_i + c * odd_i + s * odd_r
            out[place + U(lane)] = real * real + imaginary * imaginary


def bin_rows(n: int) -> np.ndarray[Any, Any]:
    """int64 [n]: the row in which `transform` leaves each frequency."""
    rows = np.zeros(1, np.int64)
    size = n
    radices = []
    while size > 1:
        radices.append(4 if size >= 4 else 2)
        size //= radices[-1]
    for radix in reversed(radices):  # the inner blocks first
        rows = (np.arange(radix) * len(rows) + rows[:, None]).reshape(-1)
    return rows


def angles(n: int, turn: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """float32 [n] each: cosine and sine of -turn k / n."""
    found = -turn * np.arange(n) / n
    return np.cos(found).astype(np.float32), np.sin(found).astype(np.float32)
