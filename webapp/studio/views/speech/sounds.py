"""Recordings to choose from: held-out words and syllables of audio_cmn, digits of fsdd, and made sounds. Independent
of widgets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .chunks import RATE, Samples

WORDS, SYLLABLES, IN_A_ROW = 12, 8, 5
PAUSE_S = 0.9  # between words in a row: the recogniser ends a line there
MADE = ("vowels", "sweep")


@dataclass(frozen=True)
class Sound:
    """`name`: what it is listed as, or the end of a key "speech.sound.*" for made sounds and words in a row. said: its text,
    "" if unknown or not in Chinese. load: float32 [samples] at 16 kHz."""

    name: str
    said: str
    load: Callable[[], Samples]


@dataclass(frozen=True)
class SoundSet:
    """kind: "words", "syllables", "digits" or "made". card: of the data set; None for made sounds."""

    kind: str
    card: Any
    sounds: list[Sound]


def sound_sets() -> list[SoundSet]:
    """The sets that are on this machine; made sounds always."""
    from sampan import datasets

    present, found = datasets.available(), []
    if "audio_cmn" in present and importlib.util.find_spec("soundfile"):  # MP3
        mandarin = datasets.load_recordings("audio_cmn")
        spread = [r for r in mandarin.test if len(r.label) >= 2]
        words = spread[:: max(1, len(spread) // WORDS)][:WORDS]
        row = Sound("row", " ".join(r.label for r in words[:IN_A_ROW]), partial(_in_a_row, words[:IN_A_ROW]))
        found.append(SoundSet("words", mandarin.card, [row, *map(_recorded, words)]))
        other = mandarin.other[:: max(1, len(mandarin.other) // SYLLABLES)][:SYLLABLES]
        found.append(SoundSet("syllables", mandarin.card, [_recorded(r, said="") for r in other]))
    if "fsdd" in present:
        digits = datasets.load_recordings("fsdd")
        one_each = {r.label: r for r in digits.test[:: max(1, len(digits.test) // 60)]}
        sounds = [_recorded(r, said="") for _, r in sorted(one_each.items())]
        found.append(SoundSet("digits", digits.card, sounds))
    made = [Sound("vowels", "", vowels), Sound("sweep", "", sweep)]
    return [*found, SoundSet("made", None, made)]


def with_noise(samples: Samples, snr: float | None) -> Samples:
    """The samples and noise, their power `snr` dB above its power; None: without noise."""
    from sampan import speech

    if snr is None or not samples.any():
        return samples
    return np.clip(speech.add_noise(samples, noise(len(samples)), snr).numpy(), -1, 1)


def noise(samples: int, seed: int = 17) -> Samples:
    """Pink noise, float32 [samples]: its power falls with 1 / frequency, as in rooms. The same for a seed."""
    white = np.fft.rfft(np.random.default_rng(seed).standard_normal(samples))
    return np.fft.irfft(white / np.sqrt(np.maximum(np.arange(white.size), 1)), samples).astype(np.float32)


def vowels() -> Samples:
    """Three made vowels, a i u: pulses of 120 Hz through two resonators each (formants after Peterson and Barney,
    1952)."""
    pulses = np.zeros(int(0.5 * RATE))
    pulses[:: RATE // 120] = 1
    made = []
    for formants in ((730, 1090), (270, 2290), (300, 870)):
        spectrum = np.fft.rfft(pulses)
        hertz = np.fft.rfftfreq(pulses.size, 1 / RATE)
        gain = sum(1 / (1 + ((hertz - centre) / 80) ** 2) for centre in formants)
        tone = np.fft.irfft(spectrum * gain, pulses.size) * np.hanning(pulses.size)
        made += [tone / np.abs(tone).max() * 0.4, np.zeros(int(0.2 * RATE))]
    return np.concatenate(made).astype(np.float32)


def sweep() -> Samples:
    """A tone that rises from 100 Hz to 7 kHz in three seconds."""
    time = np.arange(3 * RATE) / RATE
    ratio = np.log(7000 / 100) / 3
    phase = 2 * np.pi * 100 * (np.exp(ratio * time) - 1) / ratio
    fade = np.clip(np.minimum(time, 3 - time) / 0.05, 0, 1)
    return (0.3 * np.sin(phase) * fade).astype(np.float32)


def _recorded(recording: Any, said: str | None = None) -> Sound:
    label = recording.label
    return Sound(label, label if said is None else said, partial(_samples, recording))


def _samples(recording: Any) -> Samples:
    from sampan import speech

    waveform, rate = recording.load()
    mono = waveform.numpy().mean(0)
    made = mono if rate == RATE else speech.resample(mono, rate, RATE).numpy()
    return np.clip(made, -1, 1).astype(np.float32)


def _in_a_row(recordings: list[Any]) -> Samples:
    pause = noise(int(PAUSE_S * RATE))
    pause *= 3e-4 / pause.std()  # as quiet as a room at night: recordings have no silence of zeros
    return np.concatenate([part for one in recordings for part in (_samples(one), pause)])
