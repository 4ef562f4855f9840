"""Inputs of models: normalization and padding by their formulas, and features in pieces."""

import numpy as np
import pytest

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.files import save
from sampan.speech.inputs import FbankInput, WaveformInput, input_of, read_sound
from sampan.speech.kaldi import fbank

RNG = np.random.default_rng(0)
SOUNDS = [RNG.normal(0.2, 0.3, n).astype("float32") for n in (4000, 2500)]


def test_samples_are_normalized_and_padded():
    found = WaveformInput()(SOUNDS)
    assert found["input_values"].dtype == np.float32
    assert found["input_values"].shape == found["attention_mask"].shape == (2, 4000)
    assert found["attention_mask"].sum(1).tolist() == [4000, 2500]
    for row, sound in zip(found["input_values"], SOUNDS, strict=True):
        expected = (sound - sound.mean()) / np.sqrt(sound.var() + 1e-7)
        np.testing.assert_allclose(row[: len(sound)], expected, atol=1e-6)
        assert not row[len(sound) :].any()
    plain = WaveformInput(normalize=False, mask=False)(SOUNDS)
    assert list(plain) == ["input_values"]
    assert np.array_equal(plain["input_values"][1, :2500], SOUNDS[1])


def test_filter_bank_energies():
    mean, std = RNG.normal(size=20).tolist(), RNG.uniform(0.5, 2, 20).tolist()
    made = FbankInput(16000, 20, mean, std)
    found = made(SOUNDS)
    assert found["input_features"].shape == (2, 23, 20)
    assert found["attention_mask"].sum(1).tolist() == [23, 14]
    expected = (fbank(SOUNDS[1], 16000, 20).numpy() - mean) / std
    np.testing.assert_allclose(found["input_features"][1, :14], expected, rtol=1e-4, atol=1e-4)
    stream = made.stream()
    pieces = [stream.feed(SOUNDS[1][at : at + 333]) for at in range(0, 2500, 333)]
    np.testing.assert_allclose(
        np.concatenate([*pieces, stream.finish()]), found["input_features"][1, :14], atol=1e-5
    )


@pytest.mark.parametrize(
    "made", [WaveformInput(8000, False, True), FbankInput(8000, 4, [1, 2, 3, 4], [1, 2, 1, 2])]
)
def test_settings(made):
    again = input_of(made.settings())
    assert again.settings() == made.settings()


def test_parts_of_files(tmp_path):
    sound = np.random.default_rng(0).uniform(-1, 1, (2, 16000)).astype("float32")
    save(str(tmp_path / "x.wav"), paddle.to_tensor(sound), 16000)
    whole = read_sound(tmp_path / "x.wav", 16000)
    np.testing.assert_allclose(whole, sound.mean(0), atol=1e-4)
    assert np.array_equal(read_sound(tmp_path / "x.wav", 16000, 0.25, 0.5), whole[4000:8000])
    assert np.array_equal(read_sound(tmp_path / "x.wav", 16000, 0.75), whole[12000:])
    assert len(read_sound(tmp_path / "x.wav", 8000)) == 8000


def test_bad_settings():
    with pytest.raises(InvalidArgument, match=r"feature_extractor_type: expected .* got 'mfcc'"):
        input_of({"feature_extractor_type": "mfcc"})
    with pytest.raises(InvalidArgument, match=r"FbankInput: mean: expected 80 numbers or none, got 2"):
        FbankInput(mean=[1, 2])
    with pytest.raises(InvalidArgument, match=r"std: expected positive numbers, got 0"):
        FbankInput(num_mel_bins=3, std=[1, 0, 1])
