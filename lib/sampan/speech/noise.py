"""Noise of known kinds, to train and to measure with: white, pink, the hum of the mains, and many voices.

White noise has equal power at all frequencies, pink noise power that falls with 1 / frequency. All have mean
power 1 (`add_noise` sets the level).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument
from .waveform import positive, whole

Array = np.ndarray[Any, Any]
KINDS = ("white", "pink", "hum", "babble")


def make_noise(
    kind: str,
    samples: int,
    sample_rate: float = 16000,
    voices: Sequence[Array] = (),
    seed: int | np.random.Generator = 0,
) -> Array:
    """float32 [samples] of mean power 1.

    kind: "white"; "pink"; "hum", 50 or 60 Hz and its harmonics over weak white noise; "babble", the sum of
    six voices at a time, each a run of recordings of `voices` (arrays [samples] of the same rate) without
    pauses. seed: a number or a NumPy generator. Raises ValueError for another kind, and for babble without
    voices.
    """
    whole("samples", samples)
    positive("sample_rate", sample_rate)
    rng = np.random.default_rng(seed)
    if kind == "white":
        made = rng.standard_normal(samples)
    elif kind == "pink":
        spectrum = np.fft.rfft(rng.standard_normal(samples))
        made = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1.0)), samples)
    elif kind == "hum":
        made = _hum(samples, sample_rate, rng)
    elif kind == "babble":
        if not len(voices) or not all(len(voice) for voice in voices):
            raise InvalidArgument("voices: expected recordings with samples for babble, got none")
        made = sum((_run(voices, samples, rng) for _ in range(6)), np.zeros(samples))
    else:
        raise InvalidArgument(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    power = float((made * made).mean())
    if not power > 0:
        raise InvalidArgument("voices: expected a sample other than 0, got silence")
    noise: Array = (made / power**0.5).astype(np.float32)
    return noise


def _hum(samples: int, sample_rate: float, rng: np.random.Generator) -> Array:
    base = float(rng.choice([50.0, 60.0]))
    harmonics = np.arange(1, min(20, int(sample_rate / 2 / base)) + 1)
    sizes = rng.uniform(0.2, 1.0, len(harmonics)) / harmonics**0.7
    phases = rng.uniform(0, 2 * np.pi, len(harmonics))
    time = np.arange(samples) / sample_rate
    tones = (sizes[:, None] * np.sin(2 * np.pi * base * harmonics[:, None] * time + phases[:, None])).sum(0)
    made: Array = tones + 0.05 * rng.standard_normal(samples)
    return made


def _run(voices: Sequence[Array], samples: int, rng: np.random.Generator) -> Array:
    """One voice: recordings of equal power one after the other, from a random place in the first."""
    parts, size = [], 0
    first = voices[int(rng.integers(len(voices)))]
    skip = int(rng.integers(len(first)))
    while size < samples + skip:
        voice = np.asarray(voices[int(rng.integers(len(voices)))], np.float64)
        parts.append(voice / max(float((voice * voice).mean()) ** 0.5, 1e-9))
        size += len(voice)
    return np.concatenate(parts)[skip : skip + samples]
