"""Speaker models: pairs by hand, the shipped model on real voices, errors."""

import json

import numpy as np
import pytest

from sampan.speech import SpeakerModel, trials


def test_trials_by_hand() -> None:
    x = np.array([[1, 0], [0.6, 0.8], [0, 1]])
    cosines, same = trials(x, ["a", "a", "b"])
    np.testing.assert_allclose(cosines, [0.6, 0, 0.8])
    assert same.tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"expected \[n, width\] and n names, got \[3, 2\] and 2"):
        trials(x, ["a", "b"])


def test_the_shipped_model_on_real_voices(real_sounds) -> None:
    """Recordings of one speaker are nearer than those of others on average, also at another rate."""
    model = SpeakerModel("speakers_small")
    names, made = [], []
    contents = real_sounds("fsdd", 60)  # sorted by digit, then by speaker: ten of each of the six speakers
    for n, content in enumerate(contents):
        samples = np.frombuffer(content[44:], "<i2").astype(np.float32) / 32768
        made.append(model.embed(samples, 8000))
        names.append(n % 6)
    cosines, same = trials(np.array(made), names)
    assert cosines[same].mean() > cosines[~same].mean() + 0.2
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-4)
    accepted, cosine = model.same(samples, samples, 8000)
    assert accepted and cosine == pytest.approx(1, abs=1e-4)
    twice = np.repeat(samples, 2)  # a crude 16 kHz: the embedding must stay near
    assert model.embed(twice, 16000) @ model.embed(samples, 8000) > 0.7


def test_errors(tmp_path) -> None:
    model = SpeakerModel("speakers_small")
    with pytest.raises(ValueError, match="waveform: expected at least 25 ms, got 100 samples"):
        model.embed(np.zeros(100, np.float32), 8000)
    with pytest.raises(ValueError, match=r"waveform: expected \[samples\], got shape \[2, 800\]"):
        model.embed(np.zeros((2, 800), np.float32), 8000)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "activity"}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"feature_extractor_type": "fbank"}))
    with pytest.raises(ValueError, match=r"name: expected a model of speakers, .* is 'activity'"):
        SpeakerModel(tmp_path)
