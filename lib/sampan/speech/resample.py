"""Another sample rate: a windowed sinc, evaluated at the times of the new samples.

y[m] = sum_n x[n] h(n / old - m / new), h the low-pass filter sinc(f t) cos^2(pi f t / (2 zeros)) for |f t| <
zeros, f = rolloff min(old, new). For each of the new / gcd(old, new) phases of m the filter is a fixed row of
taps.
Source: J. O. Smith, Digital Audio Resampling, 1984 to 2002; the window is that of torchaudio's resample.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels import speech as kernels
from .waveform import check_finite, positive, waveform_tensor, whole

Array = np.ndarray[Any, Any]
MOST_PHASES = 1 << 14


class Filters(NamedTuple):
    """The filters from a rate to another: rows of taps [new, taps] and the first sample of each."""

    rows: Array
    first: Array  # int64, at least 0 after `before` samples are put in front
    old: int  # samples from one result of a phase to the next
    new: int  # phases
    before: int

    def results(self, samples: int) -> int:
        """How many new samples so many old ones give."""
        return -(-samples * self.new // self.old)

    def reach(self, results: int) -> int:
        """How many samples, with those in front, so many results read."""
        if results == 0:
            return 0
        i, j = divmod(results - 1, self.new)
        best = [self.first[j] + i * self.old]
        if i or j < self.new - 1:  # an earlier phase may begin later
            best.append(self.first[: j + 1].max() + i * self.old)
        if i:
            best.append(self.first.max() + (i - 1) * self.old)
        return int(max(best)) + self.rows.shape[1]


@cache
def filters(old_rate: int, new_rate: int, zeros: int, rolloff: float, kind: str) -> Filters:
    """The filters; `kind`: "float32" or "float64"."""
    divisor = math.gcd(old_rate, new_rate)
    old, new = old_rate // divisor, new_rate // divisor
    if new > MOST_PHASES:
        raise InvalidArgument(
            f"new_rate: {new_rate} from {old_rate} Hz needs {new} filters, at most {MOST_PHASES} are made"
        )
    cutoff = min(old, new) * rolloff
    reach = zeros * old / cutoff  # samples on each side
    centres = np.arange(new) * old / new
    first = np.ceil(centres - reach).astype(np.int64)
    taps = -(-(int(2 * reach) + 1) // 4) * 4
    time = (first[:, None] + np.arange(taps) - centres[:, None]) * (cutoff / old)
    rows = np.where(abs(time) < zeros, np.sinc(time) * np.cos(np.pi * time / (2 * zeros)) ** 2, 0) * (
        cutoff / old
    )
    before = int(-first.min())
    return Filters(rows.astype(kind), first + before, old, new, before)


def _padded(x: Array, made: Filters, count: int) -> Array:
    """x with zeros around it, for `count` results."""
    after = max(0, made.reach(count) - made.before - len(x))
    return np.concatenate([np.zeros(made.before, x.dtype), x, np.zeros(after, x.dtype)])


@operator(lambda g, x, made: _resampled_back(g, made, x.shape[-1]))
def _resampled(x, made):
    """x: [..., samples]; returns [..., results]."""
    count = made.results(x.shape[-1])
    out = np.empty((*x.shape[:-1], count), x.numpy().dtype)
    for row, into in zip(x.reshape(-1, x.shape[-1]), out.reshape(-1, count), strict=True):
        kernels.polyphase(_padded(row.numpy(), made, count), made.rows, made.first, made.old, 0, into)
    return torch.from_numpy(out)


@operator(lambda h, made: _resampled(h, made))
def _resampled_back(g, made, samples):
    """The transpose of `_resampled`. g: [..., results]; returns [..., samples]."""
    count = g.shape[-1]
    out = np.empty((*g.shape[:-1], samples), g.numpy().dtype)
    for row, into in zip(g.reshape(-1, count).contiguous(), out.reshape(-1, samples), strict=True):
        wide = np.empty(max(made.reach(count), made.before + samples), into.dtype)
        kernels.polyphase_back(row.numpy(), made.rows, made.first, made.old, wide)
        into[:] = wide[made.before : made.before + samples]
    return torch.from_numpy(out)


def _checked(old_rate: Any, new_rate: Any, zeros: Any, rolloff: Any) -> tuple[int, int, int, float]:
    for name, rate in (("old_rate", old_rate), ("new_rate", new_rate)):
        if positive(name, rate) != int(rate):
            raise InvalidArgument(f"{name}: expected whole Hz, got {rate}")
    if not 0 < rolloff <= 1:
        raise InvalidArgument(f"rolloff: expected above 0 to 1, got {rolloff}")
    return int(old_rate), int(new_rate), whole("zeros", zeros), float(rolloff)


def resample(waveform: Any, old_rate: int, new_rate: int, zeros: int = 6, rolloff: float = 0.99) -> Tensor:
    """A waveform at another sample rate: ceil(samples new_rate / old_rate) samples.

    waveform: [samples] or [channels, samples], float32, float64 or int16. old_rate, new_rate: Hz. zeros:
    zeros of the sinc on each side: more are sharper and slower. rolloff: where the filter cuts off, as a part
    of half the lower rate. Differentiable with respect to the waveform; it runs on the CPU. Raises ValueError
    for NaN samples and for rates that are no positive whole numbers.
    Source: J. O. Smith, Digital Audio Resampling; equal to torchaudio.functional.resample.

    >>> list(paddle.speech.resample(paddle.ones([441]), 44100, 16000).shape)
    [160]
    """
    rates = _checked(old_rate, new_rate, zeros, rolloff)
    x = waveform_tensor(waveform)
    if rates[0] == rates[1]:
        return x.clone()
    if x.shape[-1] == 0:
        return x
    place, kind = x.place, str(x.data.dtype).removeprefix("torch.")
    on_host = x if x.data.device.type == "cpu" else x.cpu()
    made: Tensor = _resampled(on_host, filters(*rates, kind))
    return made if on_host is x else made.to(place)


class StreamingResample:
    """`resample` of a signal that arrives in pieces: the same float32 numbers, to the last bit, however it is
    cut.

    `feed(samples)` returns the new samples whose filters lie within what has arrived, `finish()` the rest.
    """

    def __init__(self, old_rate: int, new_rate: int, zeros: int = 6, rolloff: float = 0.99) -> None:
        rates = _checked(old_rate, new_rate, zeros, rolloff)
        self._filters = filters(*rates, "float32")
        self.reset()

    def reset(self) -> None:
        """Forget the signal."""
        self._held = np.zeros(self._filters.before, np.float32)
        self._samples = self._results = 0
        self._finished = False

    def feed(self, samples: Any) -> Array:
        """float32 [new samples] after the next samples [any number] of the signal. Errors as in
        `resample`."""
        if self._finished:
            raise InvalidArgument("samples: the signal is finished; call reset() before another one")
        if isinstance(samples, np.ndarray) and samples.dtype == np.float32 and samples.ndim == 1:
            new = samples
            check_finite(torch.from_numpy(new.copy()), "samples", self._samples)
        else:
            new = waveform_tensor(samples, "samples", (1,)).numpy().astype(np.float32)
        self._samples += len(new)
        self._held = np.concatenate([self._held, new])
        made, dropped = self._filters, self._results // self._filters.new * self._filters.old
        most = made.results(self._samples)
        while most > self._results and made.reach(most) - dropped > len(self._held):
            short = made.reach(most) - dropped - len(self._held)
            most = max(self._results, most - max(1, short * made.new // (made.old * 2)))
        return self._take(most)

    def finish(self) -> Array:
        """The samples that are left when the signal ends, float32 [new samples]."""
        if self._finished:
            raise InvalidArgument("finish: the signal is finished already; call reset() before another one")
        self._finished = True
        made, count = self._filters, self._filters.results(self._samples)
        dropped = self._results // made.new * made.old
        missing = max(0, made.reach(count) - dropped - len(self._held))
        self._held = np.concatenate([self._held, np.zeros(missing, np.float32)])
        return self._take(count)

    def _take(self, count: int) -> Array:
        """The results up to number `count`; the samples before those of the next result are dropped."""
        made, before = self._filters, self._results // self._filters.new
        out = np.empty(count - self._results, np.float32)
        kernels.polyphase(self._held, made.rows, made.first, made.old, self._results % made.new, out)
        self._results = count
        used = (count // made.new - before) * made.old
        self._held = self._held[used:].copy()
        return out
