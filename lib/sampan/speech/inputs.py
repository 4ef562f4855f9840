"""What a model reads of a recording: its samples, normalized, or filter-bank energies.

`preprocessor_config.json` holds the settings; `feature_extractor_type` is "Wav2Vec2FeatureExtractor", as in
published models, or "fbank".
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument
from .files import info, load
from .kaldi import fbank
from .resample import resample
from .streaming_features import StreamingFbank

__all__ = ["FbankInput", "FbankStream", "WaveformInput", "input_of", "read_sound"]

Array = np.ndarray[Any, Any]


def read_sound(
    path: str | os.PathLike[str], sampling_rate: int, start: float = 0.0, end: float | None = None
) -> Array:
    """float32 [samples] of a file at a rate in Hz, channels averaged. start, end: seconds; None: all.

    Raises what `load` and `resample` raise.
    """
    rate = info(path).sample_rate
    first = round(start * rate)
    waveform, _ = load(path, first, -1 if end is None else max(round(end * rate) - first, 0))
    mono = waveform.mean(0)
    samples: Array = (mono if rate == sampling_rate else resample(mono, rate, sampling_rate)).numpy()
    return samples


def _padded(arrays: Sequence[Array], value: float) -> tuple[Array, Array]:
    """Arrays [time, ...] of different lengths as one [batch, longest, ...], and int64 [batch, longest]:
    0 in padding, else 1."""
    longest = max(len(a) for a in arrays)
    made = np.full((len(arrays), longest, *arrays[0].shape[1:]), value, np.float32)
    mask = np.zeros((len(arrays), longest), np.int64)
    for row, array in enumerate(arrays):
        made[row, : len(array)], mask[row, : len(array)] = array, 1
    return made, mask


class WaveformInput:
    """The samples themselves: `input_values`, float32 [batch, time].

    normalize: subtract the mean of a recording and divide by sqrt(variance + 1e-7). mask: also
    `attention_mask`, which networks with a layer norm in their convolutions need; those with a group norm
    were trained without. Source: Baevski et al. 2020, section 2, and the published feature extractor.
    """

    kind = "Wav2Vec2FeatureExtractor"

    def __init__(self, sampling_rate: int = 16000, normalize: bool = True, mask: bool = True) -> None:
        self.sampling_rate, self.normalize, self.mask = sampling_rate, normalize, mask

    def __call__(self, recordings: Sequence[Array]) -> dict[str, Array]:
        if self.normalize:
            recordings = [(x - x.mean()) / np.sqrt(x.var() + 1e-7) for x in recordings]
        values, mask = _padded(recordings, 0.0)
        return {"input_values": values} | ({"attention_mask": mask} if self.mask else {})

    def settings(self) -> dict[str, Any]:
        """The entries of `preprocessor_config.json`."""
        return {
            "feature_extractor_type": self.kind,
            "sampling_rate": self.sampling_rate,
            "do_normalize": self.normalize,
            "return_attention_mask": self.mask,
            "feature_size": 1,
            "padding_side": "right",
            "padding_value": 0.0,
        }


class FbankInput:
    """Log filter-bank energies by Kaldi's definition: `input_features`, float32 [batch, frames, bins].

    mean, std: of each bin over the training data, subtracted and divided by; empty: 0 and 1. Also
    `attention_mask`, int64 [batch, frames].
    """

    kind = "fbank"

    def __init__(
        self,
        sampling_rate: int = 16000,
        num_mel_bins: int = 80,
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
    ) -> None:
        for name, given in (("mean", mean), ("std", std)):
            if len(given) not in (0, num_mel_bins):
                raise InvalidArgument(f"{name}: expected {num_mel_bins} numbers or none, got {len(given)}")
        if any(not s > 0 for s in std):
            raise InvalidArgument(f"std: expected positive numbers, got {min(std)}")
        self.sampling_rate, self.num_mel_bins = sampling_rate, num_mel_bins
        self.mean = np.array(mean if len(mean) else [0.0] * num_mel_bins, np.float32)
        self.std = np.array(std if len(std) else [1.0] * num_mel_bins, np.float32)

    def features(self, samples: Array) -> Array:
        """float32 [frames, num_mel_bins] of one recording, float32 [samples]."""
        found = fbank(samples, self.sampling_rate, self.num_mel_bins).numpy()
        made: Array = (found - self.mean) / self.std
        return made

    def __call__(self, recordings: Sequence[Array]) -> dict[str, Array]:
        values, mask = _padded([self.features(x) for x in recordings], 0.0)
        return {"input_features": values, "attention_mask": mask}

    def stream(self) -> "FbankStream":
        """The same numbers of samples that arrive in pieces."""
        return FbankStream(self)

    def settings(self) -> dict[str, Any]:
        """The entries of `preprocessor_config.json`."""
        return {
            "feature_extractor_type": self.kind,
            "sampling_rate": self.sampling_rate,
            "num_mel_bins": self.num_mel_bins,
            "mean": [float(x) for x in self.mean],
            "std": [float(x) for x in self.std],
        }


class FbankStream:
    """The features of FbankInput in pieces: `feed(samples)`, `finish()` give float32 [new frames, bins]."""

    def __init__(self, given: FbankInput) -> None:
        self.given = given
        self._stream = StreamingFbank(given.sampling_rate, given.num_mel_bins)

    def feed(self, samples: Array) -> Array:
        made: Array = (self._stream.feed(samples) - self.given.mean) / self.given.std
        return made

    def finish(self) -> Array:
        made: Array = (self._stream.finish() - self.given.mean) / self.given.std
        return made


def input_of(settings: Mapping[str, Any]) -> WaveformInput | FbankInput:
    """From the entries of `preprocessor_config.json`. Raises InvalidArgument for an unknown type."""
    kind = settings.get("feature_extractor_type", WaveformInput.kind)
    rate = int(settings.get("sampling_rate", 16000))
    if kind == WaveformInput.kind:
        normalize, mask = settings.get("do_normalize", True), settings.get("return_attention_mask", False)
        return WaveformInput(rate, bool(normalize), bool(mask))
    if kind == FbankInput.kind:
        bins = int(settings.get("num_mel_bins", 80))
        return FbankInput(rate, bins, settings.get("mean", ()), settings.get("std", ()))
    raise InvalidArgument(
        f"feature_extractor_type: expected {WaveformInput.kind!r} or {FbankInput.kind!r}, got {kind!r}"
    )
