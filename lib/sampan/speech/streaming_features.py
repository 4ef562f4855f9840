"""Features of a signal that arrives in pieces: the numbers of `fbank` and `mfcc`, to the last bit, however it
is cut."""

from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..kernels import speech as kernels
from .kaldi import FeatureOptions, features_of, mirrored, options_from, plan_of
from .waveform import check_finite, waveform_tensor, whole

Array = np.ndarray[Any, Any]


class StreamingFeatures:
    """Frames of a signal as soon as their last sample is known, by `options`.

    Memory: at most two frames of samples, whatever the length of the signal.
    """

    def __init__(self, options: FeatureOptions) -> None:
        if options.padded > 2 * kernels.LARGEST:
            most = 2 * kernels.LARGEST
            raise InvalidArgument(f"frame_length: expected at most {most} samples, got {options.length}")
        plan_of(options)  # the tables, and their errors
        self.options = options
        self.reset()

    def reset(self) -> None:
        """Forget the signal: the next samples begin another."""
        self._held = np.empty(0, np.float32)  # from the first sample of the next frame on
        self._last = np.empty(0, np.float32)  # the last samples of the signal
        self._samples = self._frames = 0
        self._skipped = 0  # samples to come that lie between two frames
        self._finished = False

    @property
    def num_frames(self) -> int:
        """Frames returned so far."""
        return self._frames

    def feed(self, samples: Any) -> Array:
        """float32 [new frames, columns], none or several, after the next samples of the signal.

        samples: [samples], any number of them, float32, float64 or int16, as in `fbank`. Raises ValueError
        for NaN or infinity (the signal is then as before the call), for another shape, and after `finish`.
        """
        if self._finished:
            raise InvalidArgument("samples: the signal is finished; call reset() before another one")
        new = _one_channel(samples, self._samples)
        self._samples += len(new)
        self._hold(new)
        options = self.options
        if not options.snip_edges:
            keep = max(options.length, 1)
            self._last = np.concatenate([self._last, new])[-keep:]
            if not self._frames:
                return self._begin()
        return self._take()

    def finish(self) -> Array:
        """The frames that are left when the signal ends, float32 [new frames, columns]: none with
        snip_edges."""
        if self._finished:
            raise InvalidArgument("finish: the signal is finished already; call reset() before another one")
        self._finished = True
        options, total = self.options, self.options.num_frames(self._samples)
        if options.snip_edges or total == self._frames:
            return np.empty((0, options.columns), np.float32)
        if not self._frames:  # the whole signal is held
            self._held = self._held[mirrored(self._samples, options)]
        else:
            places = mirrored(self._samples, options)[options.before + self._samples :]
            self._hold(self._last[places - self._samples + len(self._last)])
        return self._take()

    def _begin(self) -> Array:
        """The first frames: as soon as they need no sample but those before the signal mirrored."""
        options, before = self.options, self.options.before
        if self._samples < max(options.length - before, before, 1) or options.num_frames(self._samples) == 0:
            return np.empty((0, options.columns), np.float32)
        self._held = (
            np.concatenate([self._held[:before][::-1], self._held]) if before > 0 else self._held[-before:]
        )
        return self._take()

    def _take(self) -> Array:
        made = features_of(self._held, self.options)
        self._frames += len(made)
        used = len(made) * self.options.shift
        self._skipped += max(0, used - len(self._held))
        self._held = self._held[used:].copy()
        return made

    def _hold(self, new: Array) -> None:
        skipped = min(self._skipped, len(new))
        self._skipped -= skipped
        self._held = np.concatenate([self._held, new[skipped:]])


def _one_channel(samples: Any, offset: int) -> Array:
    if isinstance(samples, list | tuple):
        samples = np.asarray(samples, np.float32)
    if isinstance(samples, np.ndarray) and samples.dtype == np.float32 and samples.ndim == 1:
        given = np.ascontiguousarray(samples)
        check_finite(torch.from_numpy(given.copy()), "samples", offset)
        return given
    found = waveform_tensor(samples, "samples", axes=(1,)).data
    return np.ascontiguousarray(found.detach().cpu().numpy(), np.float32)


class StreamingFbank(StreamingFeatures):
    """`fbank` of a signal that arrives in pieces: `feed(samples)` returns the new frames, [frames,
    num_mel_bins].

    The numbers are those of `fbank` of the whole signal, to the last bit, for any pieces. options: as in
    `fbank`.

    >>> stream = paddle.speech.StreamingFbank(num_mel_bins=40)
    >>> stream.feed(paddle.zeros([1600])).shape, stream.feed(paddle.zeros([1600])).shape
    ((8, 40), (10, 40))
    """

    def __init__(self, sample_rate: float = 16000, num_mel_bins: int = 80, **options: Any) -> None:
        super().__init__(options_from(options, sample_rate=sample_rate, num_mel_bins=num_mel_bins))


class StreamingMfcc(StreamingFeatures):
    """`mfcc` of a signal that arrives in pieces: `feed(samples)` returns the new frames, [frames,
    num_ceps]."""

    def __init__(
        self, sample_rate: float = 16000, num_ceps: int = 13, num_mel_bins: int = 23, **options: Any
    ) -> None:
        whole("num_ceps", num_ceps)
        given = {"sample_rate": sample_rate, "num_ceps": num_ceps, "num_mel_bins": num_mel_bins}
        super().__init__(options_from(options, use_energy=True, **given))
