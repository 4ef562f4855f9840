"""Noises: power 1, the slopes of their spectra, the lines of the hum, babble from voices alone."""

import numpy as np
import pytest

from sampan.speech import make_noise
from sampan.speech.noise import KINDS

VOICES = [np.sin(np.arange(3000) * 0.3).astype(np.float32), np.sin(np.arange(500) * 0.7).astype(np.float32)]


@pytest.mark.parametrize("kind", KINDS)
def test_power_length_and_seeds(kind) -> None:
    x = make_noise(kind, 5001, 8000, VOICES, 3)
    assert x.shape == (5001,) and x.dtype == np.float32
    assert (x.astype(np.float64) ** 2).mean() == pytest.approx(1, rel=1e-5)
    np.testing.assert_array_equal(x, make_noise(kind, 5001, 8000, VOICES, 3))
    assert (x != make_noise(kind, 5001, 8000, VOICES, 4)).any()


@pytest.mark.parametrize("kind, slope", [("white", 0), ("pink", -1)])
def test_slopes(kind, slope) -> None:
    """The power of octaves of frequency, fitted: pink noise loses 3 dB for each doubling."""
    power = np.abs(np.fft.rfft(make_noise(kind, 1 << 16))) ** 2
    octaves = np.array([power[1 << k : 2 << k].mean() for k in range(5, 14)])
    assert np.polyfit(np.arange(9), np.log2(octaves), 1)[0] == pytest.approx(slope, abs=0.15)


def test_hum_is_in_multiples_of_the_mains() -> None:
    power = np.abs(np.fft.rfft(make_noise("hum", 8000, 8000, seed=1))) ** 2  # a bin for each hertz
    base = 50 if power[50] > power[60] else 60
    assert power[base : 20 * base + 1 : base].sum() > 0.9 * power.sum()


def test_babble_has_the_frequencies_of_its_voices() -> None:
    power = np.abs(np.fft.rfft(make_noise("babble", 1 << 14, 8000, VOICES))) ** 2
    at = np.arange(len(power)) * 2 * np.pi / (1 << 14)
    near = (np.abs(at - 0.3) < 0.05) | (np.abs(at - 0.7) < 0.05)
    assert power[near].sum() > 0.9 * power.sum()


def test_errors() -> None:
    for arguments, message in [
        (("red", 5), "kind: expected one of white, pink, hum, babble, got 'red'"),
        (("babble", 5), "voices: expected recordings with samples for babble, got none"),
        (("babble", 5, 8000, [np.zeros(9)]), "voices: expected a sample other than 0, got silence"),
        (("white", 0), "samples: expected an integer of at least 1, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_noise(*arguments)
