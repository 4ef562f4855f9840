"""The shipped network of voice activity: speech in noise that hides it from energy, pieces, rates, errors."""

import json

import numpy as np
import pytest

from sampan import speech
from sampan.speech.activity import load_activity


def voiced(seconds: float, rate: int) -> np.ndarray:
    """A made vowel: pulses of 120 Hz through resonances at 700, 1,200 and 2,600 Hz."""
    time = np.arange(int(seconds * rate)) / rate
    sound = np.zeros(len(time))
    for harmonic in range(1, int(rate / 2 / 120)):
        f = 120 * harmonic
        gain = sum(1 / (1 + ((f - centre) / 120) ** 2) for centre in (700, 1200, 2600))
        sound += gain * np.sin(2 * np.pi * f * time)
    return (0.3 * sound / np.abs(sound).max()).astype(np.float32)


def session(rate: int, seed: int = 0) -> np.ndarray:
    """Three seconds of white noise with a vowel from 1.2 to 1.8 s."""
    rng = np.random.default_rng(seed)
    x = 0.01 * rng.standard_normal(3 * rate).astype(np.float32)
    x[int(1.2 * rate) : int(1.8 * rate)] += voiced(0.6, rate)[: int(1.8 * rate) - int(1.2 * rate)]
    return x


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_vowel_in_noise(rate) -> None:
    found = speech.detect_speech(session(rate), rate, "activity_small")
    assert len(found) == 1
    np.testing.assert_allclose(found[0], (1.2, 1.8), atol=0.1)
    assert speech.detect_speech(np.zeros(rate, np.float32), rate, "activity_small") == []


@pytest.mark.parametrize("rate, hangover", [(8000, 0.0), (16000, 50.0)])
def test_decisions_do_not_depend_on_the_pieces(rate, hangover) -> None:
    x, rng = session(rate), np.random.default_rng(1)
    whole = speech.NeuralVad(rate, hangover=hangover).feed(x)
    stream = speech.NeuralVad(rate, hangover=hangover)
    made = [stream.feed(piece) for piece in np.split(x, sorted(rng.integers(0, len(x), 12)))]
    np.testing.assert_array_equal(np.concatenate(made), whole)
    assert 290 <= len(whole) <= 300 and whole.dtype == bool
    stream.reset()
    np.testing.assert_array_equal(stream.feed(x), whole)
    longer = speech.NeuralVad(rate, hangover=200.0).feed(x)
    assert longer.sum() > whole.sum() and not (whole & ~longer).any()


def test_it_beats_energy_on_real_digits_in_noise(real_sounds) -> None:
    from sampan.models.speech_activity import compare, make_sessions

    digits = []
    for content in real_sounds("fsdd", 20):
        digits.append(np.frombuffer(content[44:], "<i2").astype(np.float32) / 32768)
    network, inputs = load_activity("activity_small")
    for snr in (0.0, 5.0):
        found = compare(
            network, inputs, make_sessions(digits, digits, 6, 3, (snr, snr), ("white", "pink", "hum"))
        )
        assert found.error < found.energy_error and found.area > found.energy_area + 0.05


def test_errors(tmp_path) -> None:
    with pytest.raises(ValueError, match="threshold: expected between 0 and 1, got 1"):
        speech.NeuralVad(threshold=1)
    with pytest.raises(ValueError, match="expected a folder or the name of a model, got 'none'"):
        speech.NeuralVad(model="none")
    with pytest.raises(ValueError, match="samples: expected finite samples, got nan at sample 2"):
        speech.NeuralVad(8000).feed(np.array([0, 0, np.nan], np.float32))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "recurrent"}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"feature_extractor_type": "fbank"}))
    with pytest.raises(ValueError, match=r"model: expected a model of voice activity, .* is 'recurrent'"):
        speech.NeuralVad(model=tmp_path)
