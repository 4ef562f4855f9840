"""Connectionist temporal classification on the CPU: the loss and its gradient (Graves et al., 2006).

A sequence of frames spells a label of n tokens along any path through 2 n + 1 states: blank, token, blank,
..., token, blank. The probability of all paths is the sum that `_lattice` makes, frame by frame. Run from
both ends it also gives the probability of being in a state at a frame, which is the gradient's second term:
d loss / d logit[t, k] = softmax[t, k] - occupancy[t, k].

A path of hundreds of frames has a probability far below the smallest float64. Each sum is therefore kept as a
mantissa in [1, 2) and a whole exponent of its own, which has the range of log space, the precision of
float64, and no logarithm in the loop. Logits are read twice, once for the loss and once for the gradient,
and the gradient is written once.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import prange

from .cpu_speech_rows import largest_entry
from .exponential import exp
from .loops import Loop, in_both_forms

NEVER = -(1 << 40)  # the exponent of a zero: below every exponent that occurs
BARRED = (
    4 * NEVER
)  # added to the exponent of a step that is not allowed: below NEVER, whatever it is added to
PARALLEL_FROM = 20_000  # logits; states of the lattice
LN2 = math.log(2.0)


class Paths(NamedTuple):
    """What the gradient needs beside the logits.

    largest, total: [time * batch], the greatest logit of a frame and the sum of e^(logit - largest).
    occupancy: [time * batch, n + 1], the probability of the blank and of each token at a frame. labels:
    [batch, n]. lengths, counts: [batch]. state: [batch], 1 for a finite loss, 0 where there is no path, -1
    for NaN.
    """

    largest: np.ndarray
    total: np.ndarray
    occupancy: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray
    state: np.ndarray


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def _exponentials(row, shift):
    """The sum of e^(entry - shift)."""
    total = row.dtype.type(0)
    for j in range(row.size):
        total += exp(row[j] - shift)
    return total


def _read_logits(x, labels, lengths, counts, blank, by_time, by_batch, largest, total, scores):
    """Softmax statistics of each frame, and the log probabilities of the blank and of the label's tokens."""
    for n in prange(x.shape[0]):
        t, b = n // lengths.size, n % lengths.size
        if t < lengths[b]:
            logits = x[t * by_time + b * by_batch]
            shift = largest_entry(logits)
            total[n] = _exponentials(logits, shift)
            largest[n] = shift
            log_total = math.log(np.float64(total[n]))
            score = scores[n]
            score[0] = np.float64(logits[blank]) - np.float64(shift) - log_total
            for u in range(counts[b]):
                score[u + 1] = np.float64(logits[labels[b, u]]) - np.float64(shift) - log_total


@numba.njit(cache=True, error_model="numpy")
def _split(score):
    """(mantissa in [1, 2), exponent) of e^score; (0, NEVER) of e^-inf."""
    if score == -np.inf:
        return 0.0, np.int64(NEVER)
    exponent = np.int64(np.floor(score / LN2))
    return math.exp(score - exponent * LN2), exponent


@numba.njit(cache=True, error_model="numpy")
def _power(exponent):
    """2^exponent for exponents up to 1,023, and 0 from -1,023 down."""
    return np.int64(max(exponent + np.int64(1023), np.int64(0)) << np.int64(52)).view(np.float64)


@numba.njit(cache=True, error_model="numpy")
def _advance(mantissas, exponents, emit, emit_exponents, skips, new, new_exponents):
    """One frame: a state's sum is its own before, that of the state before it, and over a blank between two
    different tokens that of the second before it, times the probability of its token.

    Arrays of sums have two zeros in front. skips: 0 where the second before may be left for the state, else
    BARRED.
    """
    for s in range(emit.size):
        e0, e1, e2 = exponents[s] + skips[s], exponents[s + 1], exponents[s + 2]
        top = max(e0, max(e1, e2))
        total = mantissas[s] * _power(e0 - top) + mantissas[s + 1] * _power(e1 - top)
        total = (total + mantissas[s + 2] * _power(e2 - top)) * emit[s]
        bits = np.float64(total).view(np.int64)
        exponent = (bits >> np.int64(52)) - np.int64(1023)
        unit = np.int64((bits & np.int64((1 << 52) - 1)) | np.int64(1023 << 52)).view(np.float64)
        new[s + 2] = unit if total > 0.0 else 0.0
        new_exponents[s + 2] = exponent + top + emit_exponents[s] if total > 0.0 else np.int64(NEVER)


@numba.njit(cache=True, error_model="numpy")
def _lattice(mantissas, exponents, emit, emit_exponents, skips, first, by):
    """Sums over all paths from the first state (or the second) at frame `first` on, `by` frames further each
    time.

    mantissas, exponents: [frames, states + 2], filled; emit, emit_exponents: [frames, states].
    """
    frames, states = emit.shape
    mantissas[:, :2], exponents[:, :2] = 0.0, NEVER
    row, row_exponents = np.zeros(states + 2), np.full(states + 2, np.int64(NEVER))
    row[1], row_exponents[1] = 1.0, 0  # as if the path came from a state before the first
    for n in range(frames):
        t = first + by * n
        _advance(row, row_exponents, emit[t], emit_exponents[t], skips, mantissas[t], exponents[t])
        row, row_exponents = mantissas[t], exponents[t]


@numba.njit(cache=True, error_model="numpy")
def _reversed_columns(values):
    return np.ascontiguousarray(values[:, ::-1])


def _sum_paths(scores, labels, lengths, counts, loss, state, occupancy):
    """The loss of each sequence, and its occupancy."""
    for b in prange(lengths.size):
        frames, count = lengths[b], counts[b]
        states = 2 * count + 1
        emit, emit_exponents = np.empty((frames, states)), np.empty((frames, states), np.int64)
        broken = False
        for t in range(frames):
            score = scores[t * lengths.size + b]
            for u in range(count + 1):
                if score[u] != score[u]:
                    broken = True
                unit, exponent = _split(score[u] if score[u] == score[u] else 0.0)
                if u == 0:
                    emit[t, ::2], emit_exponents[t, ::2] = unit, exponent
                else:
                    emit[t, 2 * u - 1], emit_exponents[t, 2 * u - 1] = unit, exponent
        if broken or frames == 0:
            loss[b] = np.nan if broken else (0.0 if count == 0 else np.inf)
            state[b] = -1 if broken else 0
            continue
        skips = np.full(states, np.int64(BARRED))
        for u in range(count):
            skips[2 * u + 1] = 0 if u == 0 or labels[b, u] != labels[b, u - 1] else BARRED
        ahead, ahead_exponents = np.empty((frames, states + 2)), np.empty((frames, states + 2), np.int64)
        _lattice(ahead, ahead_exponents, emit, emit_exponents, skips, 0, 1)
        e0 = ahead_exponents[frames - 1, states + 1]
        e1 = ahead_exponents[frames - 1, states] if count else np.int64(NEVER)
        top = max(e0, e1)
        total = ahead[frames - 1, states + 1] * _power(e0 - top)
        total += ahead[frames - 1, states] * _power(e1 - top)
        if total == 0.0:
            loss[b], state[b] = np.inf, 0
            continue
        loss[b], state[b] = -(math.log(total) + top * LN2), 1
        back, back_exponents = np.empty((frames, states + 2)), np.empty((frames, states + 2), np.int64)
        turned, turned_exponents = _reversed_columns(emit), _reversed_columns(emit_exponents)
        for u in range(1, count):  # the same pairs of tokens, from the end
            skips[2 * u + 1] = 0 if labels[b, count - u] != labels[b, count - 1 - u] else BARRED
        _lattice(back, back_exponents, turned, turned_exponents, skips, frames - 1, -1)
        for t in range(frames):
            share = occupancy[t * lengths.size + b]
            share[0] = 0.0
            for s in range(states):
                r = states - 1 - s
                exponent = ahead_exponents[t, s + 2] + back_exponents[t, r + 2] - emit_exponents[t, s] - top
                both = ahead[t, s + 2] * back[t, r + 2]
                value = both / (emit[t, s] * total) * _power(exponent) if both > 0.0 else 0.0
                if s % 2:
                    share[s // 2 + 1] = value
                else:
                    share[0] += value


def _write_slopes(x, g, divide, paths, blank, by_time, by_batch, out):
    """g times softmax minus occupancy, for frames within a sequence; 0 behind its end and where it has no
    path."""
    largest, total, occupancy, labels, lengths, counts, state = paths
    for n in prange(x.shape[0]):
        t, b = n // lengths.size, n % lengths.size
        row = t * by_time + b * by_batch
        slope, logits = out[row], x[row]
        if t >= lengths[b] or state[b] == 0:
            slope[:] = 0
        elif state[b] < 0:
            slope[:] = np.nan
        else:
            weight = np.float64(g[b]) / (lengths[b] if divide else 1)
            factor, shift = x.dtype.type(weight / total[n]), largest[n]
            for j in range(slope.size):
                slope[j] = factor * exp(logits[j] - shift)
            share = occupancy[n]
            slope[blank] -= x.dtype.type(weight * share[0])
            for u in range(counts[b]):
                slope[labels[b, u]] -= x.dtype.type(weight * share[u + 1])


_read_loop = Loop(_read_logits, PARALLEL_FROM, "ctc_read_logits")
_sum_loop = Loop(_sum_paths, PARALLEL_FROM, "ctc_sum_paths")
_slope_loop = Loop(_write_slopes, PARALLEL_FROM, "ctc_write_slopes")


def _rows(x: np.ndarray) -> tuple[np.ndarray, int, int]:
    """(x [time, batch, classes] as rows of classes, steps from row to row by time and by sequence).

    Rows of a batch-first array that was transposed are taken as they are; other strides are copied.
    """
    times, batch, classes = x.shape
    if not x.flags.c_contiguous and x.transpose(1, 0, 2).flags.c_contiguous:
        return x.transpose(1, 0, 2).reshape(-1, classes), 1, times
    return np.ascontiguousarray(x).reshape(-1, classes), batch, 1


def ctc_paths(
    x: np.ndarray, labels: np.ndarray, lengths: np.ndarray, counts: np.ndarray, blank: int
) -> tuple[np.ndarray, Paths]:
    """(-log of the probability of each label [batch], of x's dtype; what the gradient needs).

    x: [time, batch, classes] logits, float32 or float64. labels: int64 [batch, n]. lengths, counts: int64
    [batch], the frames and tokens of each sequence. All have been checked: labels[b, :counts[b]] and blank
    are classes, and lengths and counts lie in the arrays. They are kept and must not be overwritten.
    """
    rows, by_time, by_batch = _rows(x)
    most, size = len(rows), labels.shape[1] + 1
    largest, total = np.empty(most, x.dtype), np.empty(most, x.dtype)
    scores, occupancy = np.empty((most, size)), np.empty((most, size))
    loss, state = np.empty(lengths.size), np.empty(lengths.size, np.int64)
    _read_loop(
        rows, labels, lengths, counts, blank, by_time, by_batch, largest, total, scores, size=rows.size
    )
    _sum_loop(scores, labels, lengths, counts, loss, state, occupancy, size=2 * scores.size)
    return loss.astype(x.dtype), Paths(largest, total, occupancy, labels, lengths, counts, state)


def ctc_slopes(g: np.ndarray, x: np.ndarray, divide: bool, blank: int, paths: Paths) -> np.ndarray:
    """The gradient of x from that of the losses, g [batch]; divide: by the number of frames of a sequence."""
    rows, by_time, by_batch = _rows(x)
    out = np.empty_like(rows)
    _slope_loop(
        rows, np.ascontiguousarray(g), divide, tuple(paths), blank, by_time, by_batch, out, size=rows.size
    )
    times, batch, classes = x.shape
    if by_batch == 1:
        return out.reshape(times, batch, classes)
    return out.reshape(batch, times, classes).transpose(1, 0, 2)


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    ones = np.ones(1, np.int64)
    for _ in in_both_forms():
        for kind in (np.float32, np.float64):
            x = np.zeros((2, 1, 3), kind)
            _, paths = ctc_paths(x, ones.reshape(1, 1), ones, ones, 0)
            ctc_slopes(np.ones(1, kind), x, False, 0, paths)
