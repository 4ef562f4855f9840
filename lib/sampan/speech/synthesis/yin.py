"""The fundamental frequency of a voice, frame by frame.

The difference function of YIN (de Cheveigne and Kawahara, YIN, a fundamental frequency estimator for speech
and music, 2002, equations 6 to 8) gives candidates for the period of each frame; the path through them with
the smallest cost, as in pYIN and Kaldi's tracker, avoids jumps by an octave.
"""

from typing import Any

import numpy as np

from ...engine.errors import InvalidArgument

__all__ = ["energy_of", "fill_unvoiced", "yin"]

Array = np.ndarray[Any, Any]
CANDIDATES = 5
JUMP = 2.0  # the cost of a change of pitch by a factor of e from a frame to the next
UNVOICED_COST = 0.35  # the normalised difference above which a frame is rather called unvoiced
CHANGE = 0.15  # the cost of a change between voiced and unvoiced


def _frames(waveform: Array, hop: int, size: int, count: int) -> Array:
    """[count, size]: frame t is centred at sample t hop, zeros around the sound."""
    padded = np.pad(waveform.astype(np.float64), (size // 2, size + count * hop))
    return np.lib.stride_tricks.sliding_window_view(padded, size)[: count * hop : hop]


def _difference(frames: Array, longest: int) -> Array:
    """The cumulative mean normalised difference d'(lag) of each frame, lags 0 to `longest`."""
    window = frames.shape[1] - longest
    size = 1 << (frames.shape[1] + window).bit_length()
    spectrum = np.fft.rfft(frames, size)
    first = np.fft.rfft(frames[:, :window], size)
    cross = np.fft.irfft(spectrum * first.conj(), size)[:, : longest + 1]
    squares = np.cumsum(np.pad(frames**2, ((0, 0), (1, 0))), 1)
    energy = squares[:, window : window + longest + 1] - squares[:, : longest + 1]
    difference = np.maximum(energy[:, :1] + energy - 2 * cross, 0.0)
    means = np.cumsum(difference[:, 1:], 1) / np.arange(1, longest + 1)
    found = np.ones_like(difference)
    found[:, 1:] = difference[:, 1:] / np.maximum(means, 1e-9)
    return found


def yin(
    waveform: Any, sample_rate: int, hop: int, low: float = 70.0, high: float = 500.0
) -> tuple[Array, Array]:
    """(frequency in Hz float64 [frames], voiced bool [frames]) of samples [n], frames as in `MelSettings`.

    hop: samples between frames. low, high: the range of the voice in Hz. The frequency of unvoiced frames is
    0. Raises ValueError for another shape and for a range that the rate cannot hold.
    """
    x = np.asarray(waveform)
    if x.ndim != 1 or not len(x):
        raise InvalidArgument(f"waveform: expected [samples], got shape {list(x.shape)}")
    if not 0 < low < high < sample_rate / 4:
        raise InvalidArgument(f"low, high: expected 0 < low < high < {sample_rate / 4}, got {low} and {high}")
    shortest, longest = int(sample_rate / high), int(np.ceil(sample_rate / low)) + 1
    count = 1 + len(x) // hop
    frames = _frames(x, hop, 3 * longest, count)
    found = _difference(frames, longest)
    inner = found[:, shortest:longest]
    dips = (inner <= found[:, shortest - 1 : longest - 1]) & (inner <= found[:, shortest + 1 : longest + 1])
    costs = np.where(dips, inner, 9.0)
    order = np.argsort(costs, 1)[:, :CANDIDATES]
    lags = order + shortest
    cost = np.take_along_axis(costs, order, 1)
    quiet = (frames**2).mean(1) < 1e-4 * max(float((frames**2).mean(1).max()), 1e-12)
    cost[quiet] = 9.0
    path = _best_path(cost, np.log(lags))
    voiced = path < CANDIDATES
    lag = lags[np.arange(count), np.minimum(path, CANDIDATES - 1)]
    return np.where(voiced, sample_rate / _refined(found, lag), 0.0), voiced


def _refined(found: Array, lag: Array) -> Array:
    """Lags between samples: the vertex of the parabola through a dip and its neighbours."""
    rows = np.arange(len(lag))
    before, here, after = (found[rows, lag + k] for k in (-1, 0, 1))
    bend = before - 2 * here + after
    shift = np.where(bend > 1e-9, 0.5 * (before - after) / np.maximum(bend, 1e-9), 0.0)
    return np.asarray(lag + np.clip(shift, -1, 1))


def _best_path(cost: Array, logs: Array) -> Array:
    """The candidate of each frame, CANDIDATES for unvoiced: the smallest sum of costs and changes."""
    count = len(cost)
    total = np.append(cost[0], UNVOICED_COST)
    back = np.zeros((count, CANDIDATES + 1), np.int64)
    for t in range(1, count):
        step = np.full((CANDIDATES + 1, CANDIDATES + 1), CHANGE)  # from row to column
        step[:-1, :-1] = JUMP * abs(logs[t - 1][:, None] - logs[t][None, :])
        step[-1, -1] = 0.0
        reached = total[:, None] + step
        back[t] = reached.argmin(0)
        total = reached.min(0) + np.append(cost[t], UNVOICED_COST)
    path = np.empty(count, np.int64)
    path[-1] = total.argmin()
    for t in range(count - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def fill_unvoiced(frequency: Array, voiced: Array, default: float = 200.0) -> Array:
    """ln of the frequencies [frames], with straight lines through unvoiced parts."""
    known = np.flatnonzero(voiced)
    if not len(known):
        return np.full(len(frequency), np.log(default))
    return np.interp(np.arange(len(frequency)), known, np.log(frequency[known]))


def energy_of(log_mel: Array) -> Array:
    """The mean of log mel frames [frames, n_mels] over the bands, [frames]."""
    return np.asarray(log_mel.mean(1))
