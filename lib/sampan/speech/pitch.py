"""Kaldi's pitch: `pitch` finds the fundamental frequency of each frame, offline and as a stream.

The signal is low-passed and taken at 4 kHz. Each frame has normalized cross-correlations (NCCF) with itself
some 2.5 to 20 ms later; the best path through the lags of all frames costs little where the NCCF is large and
where the lag changes slowly. `pitch_features.py` makes features of the result.
Source: P. Ghahremani et al., "A pitch extraction algorithm tuned for automatic speech recognition", ICASSP
2014; Kaldi, feat/pitch-functions.cc.
"""

import math
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..kernels import speech as kernels
from .resample import StreamingResample
from .waveform import positive, waveform_tensor, whole

Array = np.ndarray[Any, Any]
BLOCK = 512  # frames whose correlations are kept at once
SETTLED_EVERY = 32  # frames


@dataclass(frozen=True)
class PitchOptions:
    """Settings of `pitch` and `StreamingPitch`, with Kaldi's defaults.

    sample_rate: whole Hz. frame_length, frame_shift: ms. min_f0, max_f0: Hz, the range of the search.
    soft_min_f0: lower pitch costs more, as if it had to be above so many Hz. penalty_factor: of changes of
    pitch. lowpass_cutoff, resample_freq: Hz. delta_pitch: the ratio of neighbouring lags, less 1.
    nccf_ballast: makes the NCCF of quiet frames small. nccf_ballast_online: quiet as compared with the signal
    up to the frame's end; else with all of it. lowpass_filter_width, upsample_filter_width: zeros of the
    filters on each side. history: a frame that is so many frames old is decided, if paths still differ there
    by then. Kaldi decides at the end; the results differ only where nothing is heard for so long. snip_edges:
    only whole frames; else frames are centred at multiples of the shift, with zeros beyond the signal, and
    there are length / shift of them. Kaldi's pre-emphasis is left out.
    """

    sample_rate: int = 16000
    frame_length: float = 25.0
    frame_shift: float = 10.0
    min_f0: float = 50.0
    max_f0: float = 400.0
    soft_min_f0: float = 10.0
    penalty_factor: float = 0.1
    lowpass_cutoff: float = 1000.0
    resample_freq: int = 4000
    delta_pitch: float = 0.005
    nccf_ballast: float = 7000.0
    nccf_ballast_online: bool = False
    lowpass_filter_width: int = 1
    upsample_filter_width: int = 5
    history: int = 1000
    snip_edges: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name not in ("nccf_ballast", "nccf_ballast_online", "soft_min_f0", "snip_edges"):
                positive(field.name, getattr(self, field.name))
        for name in ("lowpass_filter_width", "upsample_filter_width", "history"):
            whole(name, getattr(self, name))
        if not self.min_f0 < self.max_f0 <= self.resample_freq / 2:
            raise InvalidArgument(
                f"max_f0: expected above min_f0={self.min_f0} to half of resample_freq="
                f"{self.resample_freq}, got {self.max_f0}"
            )
        if not 0 <= self.soft_min_f0 <= self.min_f0:
            raise InvalidArgument(f"soft_min_f0: expected 0 to min_f0={self.min_f0}, got {self.soft_min_f0}")
        if not self.nccf_ballast >= 0:
            raise InvalidArgument(f"nccf_ballast: expected at least 0, got {self.nccf_ballast}")
        if self.lowpass_cutoff * 2 >= min(self.resample_freq, self.sample_rate):
            raise InvalidArgument(
                f"lowpass_cutoff: expected below half of resample_freq={self.resample_freq} and of "
                f"sample_rate={self.sample_rate}, got {self.lowpass_cutoff}"
            )
        if not 1 <= self.shift <= self.window:
            raise InvalidArgument(
                f"frame_shift: expected a sample at {self.resample_freq} Hz to frame_length="
                f"{self.frame_length} ms, got {self.frame_shift} ms"
            )

    @property
    def window(self) -> int:
        """Samples of a frame at resample_freq."""
        return int(self.resample_freq * self.frame_length / 1000.0)

    @property
    def shift(self) -> int:
        """Samples between frames at resample_freq."""
        return int(self.resample_freq * self.frame_shift / 1000.0)


class Lags(NamedTuple):
    """The lags of the search and how the NCCF at them follows from those at whole samples."""

    seconds: Array  # float64 [lags]
    first: int  # the smallest lag in samples
    span: int  # how many lags there are in samples
    starts: Array  # int64 [lags]
    weights: Array  # float64 [lags, taps]


@cache
def lags_of(options: PitchOptions) -> Lags:
    """Lags from 1 / max_f0 on, each 1 + delta_pitch times the one before. Arrays are read-only."""
    rate, zeros = options.resample_freq, options.upsample_filter_width
    steps = math.floor(math.log(options.max_f0 / options.min_f0) / math.log1p(options.delta_pitch) + 1e-9)
    seconds = (1.0 + options.delta_pitch) ** np.arange(steps + 1) / options.max_f0
    around = zeros / (2.0 * rate)
    first = max(0, math.ceil(rate * (1.0 / options.max_f0 - around)))
    count = math.floor(rate * (1.0 / options.min_f0 + around)) - first + 1
    centres = seconds * rate - first  # in samples, from the first lag on
    taps = min(2 * zeros + 1, count)
    starts = np.clip(np.ceil(centres - zeros).astype(np.int64), 0, count - taps)
    time = starts[:, None] + np.arange(taps) - centres[:, None]
    weights = np.where(abs(time) < zeros, np.sinc(time) * (0.5 + 0.5 * np.cos(np.pi * time / zeros)), 0.0)
    for array in (seconds, starts, weights):
        array.flags.writeable = False
    return Lags(seconds, first, count, starts, weights)


class _Path:
    """The best path through the lags, frame by frame; memory for the frames that are not decided."""

    def __init__(self, options: PitchOptions) -> None:
        self.options, self.lags = options, lags_of(options)
        size = len(self.lags.seconds)
        self.factor = math.log1p(options.delta_pitch) ** 2 * options.penalty_factor
        self.cost = np.zeros(size)
        self.back, self.plain = np.empty((0, size), np.int32), np.empty((0, size), np.float32)
        self.frames = 0

    def feed(self, smooth: Array, plain: Array) -> Array:
        """float32 [decided frames, 2] after more frames of NCCF, with and without ballast."""
        decided = [self.take(0)]
        done = 0
        while done < len(smooth):
            # Counted from the first frame: pieces make no difference.
            end = min(len(smooth), done + SETTLED_EVERY - self.frames % SETTLED_EVERY)
            back = np.empty((end - done, self.cost.size), np.int32)
            kernels.pitch_viterbi(
                smooth[done:end], self.lags.seconds, self.options.soft_min_f0, self.factor, self.cost, back
            )
            self.back = np.concatenate([self.back, back])
            self.plain = np.concatenate([self.plain, plain[done:end]])
            self.frames += end - done
            done = end
            if self.frames % SETTLED_EVERY == 0:
                old = len(self.back) - self.options.history
                if old > 0:
                    kernels.pitch_decide(self.back, self.cost, old - 1)
                decided.append(self.take(kernels.pitch_agreed(self.back, self.cost)))
        return np.concatenate(decided)

    def best(self) -> Array:
        """float32 [frames, 2]: NCCF and Hz of the frames that are not decided, on the best path so far."""
        states = kernels.pitch_path(self.back, self.cost)
        nccf = self.plain[np.arange(len(states)), states]
        return np.stack([nccf, 1.0 / self.lags.seconds[states]], 1).astype(np.float32)

    def take(self, count: int) -> Array:
        """The first frames that are not decided, which leave."""
        found = self.best()[:count]
        self.back, self.plain = self.back[count:].copy(), self.plain[count:].copy()
        return found


class _Tracker:
    """Pitch of a signal at resample_freq, in pieces. variance: of the whole signal, or None for that up to
    each frame's end."""

    def __init__(self, options: PitchOptions, variance: float | None = None) -> None:
        self.options, self.lags, self.variance = options, lags_of(options), variance
        self.path = _Path(options)
        # Samples from a frame's first to the last that its greatest lag needs, and zeros before the signal.
        self.reach = options.window + self.lags.first + self.lags.span - 1
        self.lead = 0 if options.snip_edges else self.reach // 2 - options.shift // 2
        self.held = np.zeros(self.lead, np.float32)  # from the first sample of the next frame on
        self.length = 0
        self.sums = np.zeros(3)

    def feed(self, new: Array, silence: int = 0) -> Array:
        """float32 [decided frames, 2] after new samples, and zeros behind them that are not the signal's."""
        o, lags, reach = self.options, self.lags, self.reach
        known = len(self.held) + len(new)
        self.length += len(new)
        self.held = np.concatenate([self.held, new, np.zeros(silence, np.float32)])
        decided = [np.empty((0, 2), np.float32)]
        while len(self.held) >= reach:
            count = min(BLOCK, (len(self.held) - reach) // o.shift + 1)
            if self.variance is None:
                begin, done = self.path.frames * o.shift - self.lead, int(self.sums[0])
                ends = np.minimum(np.arange(count) * o.shift + reach, known) + begin
                variance = kernels.mean_squares(self.held[done - begin :], done, ends, self.sums)
            else:
                variance = np.full(count, self.variance)
            ballast = (variance * o.window) ** 2 * o.nccf_ballast
            found = kernels.nccf(
                self.held, o.shift, o.window, lags.first, lags.span, ballast, lags.starts, lags.weights
            )
            decided.append(self.path.feed(*found))
            self.held, known = self.held[count * o.shift :].copy(), known - count * o.shift
        return np.concatenate(decided)

    def finish(self, new: Array) -> Array:
        """The frames that are left after the last samples; silence is assumed behind them."""
        silence = self.reach - self.options.window
        if not self.options.snip_edges:
            length, shift = self.length + len(new), self.options.shift
            frames = (2 * length + shift) // (2 * shift)  # length / shift, rounded
            silence = max(0, (frames - 1) * shift + self.reach - self.lead - length) if frames else 0
        decided = self.feed(new, silence)
        return np.concatenate([decided, self.path.take(len(self.path.back))])


def _lowpass(options: PitchOptions) -> StreamingResample:
    """From the sample rate to resample_freq."""
    old, new = options.sample_rate, options.resample_freq
    return StreamingResample(
        old, new, options.lowpass_filter_width, 2.0 * options.lowpass_cutoff / min(old, new)
    )


class StreamingPitch:
    """`pitch` with nccf_ballast_online of a signal that arrives in pieces: the same numbers, to the last bit,
    however it is cut.

    `feed(samples)` returns the frames that are decided: no later sample changes them. They come when all
    paths agree on them, at the latest after `history` frames. `partial()` gives the frames behind them on the
    best path so far: these may change until `feed` or `finish` returns them. The memory does not grow with
    the signal. options: see `PitchOptions`.

    >>> stream = paddle.speech.StreamingPitch()
    >>> tone = paddle.sin(paddle.arange(16000, dtype="float32") * (2 * 3.14159265 * 200 / 16000))
    >>> decided, rest = stream.feed(tone), stream.finish()
    >>> len(decided) + len(rest)
    98
    """

    def __init__(self, sample_rate: int = 16000, **options: Any) -> None:
        if not options.setdefault("nccf_ballast_online", True):
            raise InvalidArgument("nccf_ballast_online: expected True, the whole signal is not known yet")
        self.options = pitch_options(sample_rate, options)
        self.reset()

    def reset(self) -> None:
        """Forget the signal: the next samples begin another."""
        self._resample, self._tracker = _lowpass(self.options), _Tracker(self.options)

    def feed(self, samples: Any) -> Array:
        """float32 [decided frames, 2] after the next samples [any number]: NCCF and pitch in Hz.

        Raises ValueError for NaN or infinity (the signal is then as before), and after `finish`.
        """
        return self._tracker.feed(self._resample.feed(samples))

    def partial(self) -> Array:
        """float32 [frames, 2]: the frames behind the decided ones, which may still change."""
        return self._tracker.path.best()

    def finish(self) -> Array:
        """The frames that are left when the signal ends, float32 [frames, 2]."""
        return self._tracker.finish(self._resample.finish())


def pitch_options(sample_rate: int, settings: dict[str, Any]) -> PitchOptions:
    """PitchOptions of keyword arguments; TypeError for an unknown one."""
    known = [field.name for field in fields(PitchOptions)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InvalidType(f"{unknown[0]}: unknown; expected one of {', '.join(known)}")
    return PitchOptions(sample_rate=sample_rate, **settings)


def pitch(waveform: Any, sample_rate: int = 16000, **options: Any) -> Tensor:
    """Pitch by Kaldi's definition: float32 [frames, 2], the normalized cross-correlation (NCCF) of a frame at
    its lag, near 1 where it is voiced, and the pitch in Hz, which unvoiced frames also have.

    waveform: [samples], float32, float64 or int16; [channels, samples] gives [channels, frames, 2]. A signal
    shorter than a frame has no frames. options: see `PitchOptions`. No gradient. Raises ValueError for NaN or
    infinite samples and settings out of range, TypeError for another dtype.
    Source: Kaldi's compute-kaldi-pitch-feats.

    >>> tone = paddle.sin(paddle.arange(16000, dtype="float32") * (2 * 3.14159265 * 200 / 16000))
    >>> nccf, hertz = paddle.speech.pitch(tone)[50].tolist()
    >>> round(nccf, 2), round(hertz)
    (1.0, 200)
    """
    given = pitch_options(sample_rate, options)
    x = waveform_tensor(waveform).data.detach().cpu().float().numpy()
    made = [_channel(each, given) for each in (x[None] if x.ndim == 1 else x)]
    found = torch.from_numpy(np.stack(made)) if made else torch.empty(0, 0, 2)
    return Tensor(found[0] if x.ndim == 1 else found)


def _channel(samples: Array, options: PitchOptions) -> Array:
    lowpass = _lowpass(options)
    low = np.concatenate([lowpass.feed(np.ascontiguousarray(samples)), lowpass.finish()])
    whole_signal = not options.nccf_ballast_online and len(low) > 0
    return _Tracker(options, float(np.var(low, dtype=np.float64)) if whole_signal else None).finish(low)
