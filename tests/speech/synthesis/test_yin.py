"""Pitch of made tones, whose frequency is known, and beside librosa's YIN (recorded by
record_synthesis.py)."""

from pathlib import Path

import numpy as np
import pytest

from sampan.engine.errors import InvalidArgument
from sampan.speech.synthesis.yin import fill_unvoiced, yin

RATE, HOP = 16000, 200


def voice(frequency: np.ndarray) -> np.ndarray:
    """Ten harmonics of a frequency by sample."""
    phase = 2 * np.pi * np.cumsum(frequency) / RATE
    return sum(np.sin(k * phase) / k for k in range(1, 11)) * 0.1


@pytest.mark.parametrize("frequency", [85.0, 123.4, 250.0, 440.0])
def test_a_steady_tone(frequency) -> None:
    found, voiced = yin(voice(np.full(RATE // 2, frequency)), RATE, HOP)
    assert found.shape == voiced.shape == (41,)
    assert voiced[3:-3].all()
    assert np.abs(found[3:-3] / frequency - 1).max() < 0.003


def test_a_glide_is_followed_and_noise_and_silence_have_no_pitch() -> None:
    time = np.arange(RATE) / RATE
    wanted = 150 + 150 * time
    rng = np.random.default_rng(0)
    sound = np.concatenate([voice(wanted), 0.1 * rng.standard_normal(RATE // 2), np.zeros(RATE // 2)])
    found, voiced = yin(sound, RATE, HOP)
    assert voiced[2:78].all() and voiced[84:].mean() < 0.05
    assert np.abs(found[2:78] / (150 + 150 * np.arange(2, 78) * HOP / RATE) - 1).max() < 0.02
    assert (found[~voiced] == 0).all()


def test_librosas_yin_finds_the_same() -> None:
    sound = voice(200 + 50 * np.sin(np.arange(RATE) / 1500))
    sound = sound + 0.002 * np.random.default_rng(1).standard_normal(RATE)
    found, voiced = yin(sound, RATE, HOP)
    peer = np.load(Path(__file__).parents[1] / "recorded_synthesis.npz")["yin"][: len(found)]
    assert voiced[4:-4].all()
    assert np.median(np.abs(found[4:-4] / peer[4:-4] - 1)) < 0.01


def test_unvoiced_parts_are_filled_with_lines() -> None:
    filled = fill_unvoiced(np.array([0.0, 100, 0, 400, 0]), np.array([False, True, False, True, False]))
    assert np.allclose(np.exp(filled), [100, 100, 200, 400, 400])
    assert np.allclose(np.exp(fill_unvoiced(np.zeros(3), np.zeros(3, bool))), 200)


def test_bad_input_is_named() -> None:
    for sound, more, expected in (
        (np.zeros((2, 5)), {}, "waveform: expected .samples., got shape .2, 5."),
        (np.zeros(0), {}, "waveform: expected"),
        (np.zeros(500), {"low": 300, "high": 200}, "low, high: expected 0 < low < high"),
        (np.zeros(500), {"high": 8000}, "low, high: expected 0 < low < high < 4000"),
    ):
        with pytest.raises(InvalidArgument, match=expected):
            yin(sound, RATE, HOP, **more)
