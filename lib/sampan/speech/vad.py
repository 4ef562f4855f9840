"""Voice activity detection by the energy of frames: Kaldi's rule for a recording, and a causal one for a
stream. `activity.py` decides by a trained network.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .activity import NeuralVad
from .waveform import PCM16, positive, waveform_tensor, whole

Array = np.ndarray[Any, Any]


def energy_vad(
    log_energies: Any,
    threshold: float = 5.0,
    mean_scale: float = 0.5,
    context: int = 0,
    proportion: float = 0.6,
) -> Array:
    """bool [frames]: whether a frame is speech, by Kaldi's rule.

    log_energies: [frames], coefficient 0 of `mfcc`. A frame is loud above threshold + mean_scale times the
    mean; it is speech if at least the part `proportion` of the frames up to `context` away is loud.
    Source: Kaldi, ivector/voice-activity-detection.cc.
    """
    x = np.asarray(log_energies.numpy() if isinstance(log_energies, Tensor) else log_energies, np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InvalidArgument(f"log_energies: expected finite numbers [frames], got shape {list(x.shape)}")
    whole("context", context, 0)
    if not 0 < proportion <= 1:
        raise InvalidArgument(f"proportion: expected above 0 to 1, got {proportion}")
    if not len(x):
        return np.zeros(0, bool)
    loud = np.concatenate([[0], np.cumsum(x > threshold + mean_scale * x.mean())])
    t = np.arange(len(x))
    start, stop = np.maximum(t - context, 0), np.minimum(t + context + 1, len(x))
    found: Array = loud[stop] - loud[start] >= proportion * (stop - start)
    return found


class Segment(NamedTuple):
    """Seconds."""

    start: float
    end: float


def segments(
    speech: Any, frame_shift: float = 0.01, min_silence: float = 0.2, min_speech: float = 0.1
) -> list[Segment]:
    """The stretches of speech in bool [frames], a frame every frame_shift seconds.

    Gaps shorter than min_silence seconds are closed first, stretches shorter than min_speech then left out.
    """
    flags = np.asarray(speech, bool)
    if flags.ndim != 1:
        raise InvalidArgument(f"speech: expected [frames], got shape {list(flags.shape)}")
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    found: list[list[int]] = []
    for start, end in edges.reshape(-1, 2).tolist():
        if found and (start - found[-1][1]) * frame_shift < min_silence:
            found[-1][1] = end
        else:
            found.append([start, end])
    long = [(a, b) for a, b in found if (b - a) * frame_shift >= min_speech]
    return [Segment(a * frame_shift, b * frame_shift) for a, b in long]


class StreamingVad:
    """Whether each frame is speech, known as soon as the frame is: bool, one for every `frame_shift` ms.

    A frame is loud if its energy is `margin` decibels above the noise floor and above `least`, decibels below
    full scale. The floor follows quieter frames at once and rises by `rise` decibels a second, so that it
    learns a louder background. Speech lasts `hangover` ms beyond its last loud frame. The decisions do not
    depend on the pieces.
    Source: the minimum-tracking floor of R. Martin, 2001, with one minimum and no smoothing.
    """

    def __init__(
        self,
        sample_rate: float = 16000,
        frame_shift: float = 10.0,
        margin: float = 12.0,
        least: float = -60.0,
        rise: float = 3.0,
        hangover: float = 200.0,
    ) -> None:
        for name, value in (("sample_rate", sample_rate), ("frame_shift", frame_shift), ("margin", margin)):
            positive(name, value)
        self.size = whole("frame_shift", int(sample_rate * frame_shift / 1000))
        self.margin, self.least = margin, least
        self.rise = rise * frame_shift / 1000
        self.hangover = round(hangover / frame_shift)
        self.reset()

    def reset(self) -> None:
        """Forget the signal."""
        self._held = np.empty(0, np.float32)
        self._floor = math.inf
        self._left = 0  # frames of speech to come after a loud one

    def feed(self, samples: Any) -> Array:
        """bool [new frames] after the next samples [any number] of the signal. Errors as in `fbank`."""
        new = waveform_tensor(samples, "samples", (1,)).numpy().astype(np.float32)
        held = np.concatenate([self._held, new])
        count = len(held) // self.size
        frames = held[: count * self.size].reshape(count, self.size).astype(np.float64)
        self._held = held[count * self.size :].copy()
        levels = 10 * np.log10(np.maximum((frames * frames).mean(1), PCM16**-2 / 12))
        found = np.empty(count, bool)
        for i, level in enumerate(levels.tolist()):
            self._floor = min(level, self._floor + self.rise)
            loud = level > max(self._floor + self.margin, self.least)
            self._left = self.hangover + 1 if loud else max(self._left - 1, 0)
            found[i] = self._left > 0
        return found


def detect_speech(
    waveform: Any, sample_rate: float = 16000, model: Any = None, **settings: Any
) -> list[Segment]:
    """The stretches of speech in a recording [samples], by energy or by a trained network.

    model: None for `StreamingVad`, or the name or folder of a model for `NeuralVad`, such as
    "activity_small". settings: those of the class.
    """
    if model is None:
        vad = StreamingVad(sample_rate, **settings)
        return segments(vad.feed(waveform), vad.size / sample_rate)
    return segments(NeuralVad(int(sample_rate), model, **settings).feed(waveform))
