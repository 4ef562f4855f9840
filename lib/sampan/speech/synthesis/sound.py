"""What the acoustic model writes and the vocoder reads: logarithms of mel amplitudes."""

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...engine.backward import no_grad
from ...engine.tensor import Tensor
from ...ops import log, maximum
from ..spectrogram import MelSpectrogram

__all__ = ["MelSettings"]

Array = np.ndarray[Any, Any]
LEAST = 1e-5  # the amplitude below which a mel band counts as silent


@dataclass(frozen=True)
class MelSettings:
    """How sound becomes frames: sample_rate and the ends of the filters in Hz, n_fft and hop in samples.

    Frame t is centred at sample t hop; a sound of n samples has 1 + n // hop frames.
    """

    sample_rate: int = 16000
    n_fft: int = 800
    hop: int = 200
    n_mels: int = 80
    f_min: float = 20.0
    f_max: float = 8000.0

    def log_mel(self, waveform: Any) -> Tensor:
        """ln max(mel amplitude, 1e-5) of float32 [samples] or [batch, samples], longer than n_fft / 2:
        [..., frames, n_mels]."""
        x = waveform if isinstance(waveform, Tensor) else Tensor(np.asarray(waveform, np.float32))
        batch = x if x.ndim == 2 else x.unsqueeze(0)
        mel = _layer(self)(batch).transpose([0, 2, 1])
        found = log(maximum(mel, mel * 0.0 + LEAST))
        return found if x.ndim == 2 else found[0]

    def settings(self) -> dict[str, Any]:
        """The entries of a configuration: `MelSettings(**settings)` is this again."""
        return asdict(self)


@lru_cache(maxsize=8)
def _layer(mel: MelSettings) -> MelSpectrogram:
    return MelSpectrogram(
        mel.sample_rate, mel.n_fft, mel.hop, power=1.0, n_mels=mel.n_mels, f_min=mel.f_min, f_max=mel.f_max
    )


def trim(waveform: Array, sample_rate: int, below: float = 40.0, margin: float = 0.03) -> Array:
    """Samples [n] without the silence at both ends: what is `below` decibels under the loudest 20 ms.

    margin: seconds of silence that stay at each end, as far as there are any.
    """
    size = max(int(0.02 * sample_rate), 1)
    count = len(waveform) // size
    if count == 0:
        return waveform
    energy = (waveform[: count * size].reshape(count, size).astype(np.float64) ** 2).mean(1)
    loud = np.flatnonzero(energy > energy.max() * 10.0 ** (-below / 10.0))
    if not len(loud):
        return waveform
    extra = int(margin * sample_rate)
    return waveform[max(int(loud[0]) * size - extra, 0) : (int(loud[-1]) + 1) * size + extra]


def level(waveform: Array, rms: float = 0.08) -> Array:
    """float32 samples, scaled to a root mean square of `rms`, or less so that none is above 1."""
    now = math.sqrt(float((waveform.astype(np.float64) ** 2).mean())) if len(waveform) else 0.0
    top = float(abs(waveform).max()) if len(waveform) else 0.0
    return np.asarray(waveform, np.float32) * np.float32(min(rms / now, 0.99 / top) if now else 1.0)


def log_mel_array(mel: MelSettings, waveform: Array) -> Array:
    """float32 [frames, n_mels] of samples [n], outside the tape."""
    with no_grad():
        found: Array = mel.log_mel(waveform).numpy()
    return found
