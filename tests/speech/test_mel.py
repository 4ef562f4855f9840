"""Mel scales, filters and decibels: published values, librosa's, and the other direction."""

from pathlib import Path

import numpy as np
import pytest
from scipy.fft import dct

import sampan as paddle
from sampan.speech import mel

LIBROSA = np.load(Path(__file__).with_name("recorded_librosa.npz"))


@pytest.mark.parametrize("htk", [False, True])
def test_hz_and_mel_are_inverse_for_numbers_and_tensors(htk) -> None:
    hz = [0.0, 30.0, 999.0, 1001.0, 8000.0]
    mels = [mel.hz_to_mel(f, htk) for f in hz]
    np.testing.assert_allclose([mel.mel_to_hz(m, htk) for m in mels], hz, atol=1e-6)
    tensor = mel.hz_to_mel(paddle.to_tensor(hz, dtype="float64"), htk)
    np.testing.assert_allclose(tensor.numpy(), mels, rtol=1e-9)
    np.testing.assert_allclose(mel.mel_to_hz(tensor, htk).numpy(), hz, atol=1e-6)


def test_published_values() -> None:
    np.testing.assert_allclose(
        mel.hz_to_mel(1000.0), 15.0
    )  # Auditory Toolbox: 1 kHz is where the logarithm begins
    np.testing.assert_allclose(mel.hz_to_mel(6400.0), 42.0)  # 27 steps span a ratio of 6.4
    np.testing.assert_allclose(mel.hz_to_mel(1000.0, htk=True), 999.9855, atol=1e-3)  # HTK Book, 5.6


@pytest.mark.parametrize("htk", [False, True])
def test_filters_are_librosas(htk) -> None:
    """librosa 0.11.0: tests/speech/record_librosa.py."""
    found = mel.compute_fbank_matrix(16000, 512, 40, 50.0, 7600.0, htk, dtype="float64").numpy()
    np.testing.assert_allclose(found, LIBROSA[f"mel_{'htk' if htk else 'slaney'}"], atol=1e-7)


def test_filters_with_a_p_norm_and_without() -> None:
    for p in (1.0, 2.0):
        rows = mel.compute_fbank_matrix(16000, 512, 20, norm=p, dtype="float64").numpy()
        np.testing.assert_allclose((rows**p).sum(1), 1.0)
    plain = mel.compute_fbank_matrix(16000, 512, 20, norm=None, dtype="float64").numpy()
    assert 0.8 < plain.max() <= 1.0


def test_decibels_and_their_gradient() -> None:
    power = np.random.default_rng(0).uniform(1e-6, 5, (3, 4))
    found = mel.power_to_db(paddle.to_tensor(power), ref_value=2.0, top_db=20.0).numpy()
    expected = 10 * np.log10(power / 2)
    np.testing.assert_allclose(found, np.maximum(expected, expected.max() - 20), atol=1e-9)
    x = paddle.to_tensor(power, stop_gradient=False)
    mel.power_to_db(x, top_db=None).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 / np.log(10) / power)
    for settings, name in (
        ({"amin": 0}, "amin"),
        ({"ref_value": -1.0}, "ref_value"),
        ({"top_db": -1}, "top_db"),
    ):
        with pytest.raises(ValueError, match=f"power_to_db: {name}: expected a number"):
            mel.power_to_db(x, **settings)


def test_cosine_transform_is_scipys() -> None:
    x = np.random.default_rng(1).standard_normal(20)
    for norm in ("ortho", None):
        found = x @ mel.create_dct(13, 20, norm, "float64").numpy()
        np.testing.assert_allclose(found, dct(x, norm=norm)[:13], atol=1e-12)
    with pytest.raises(ValueError, match='norm: expected "ortho" or None, got 1'):
        mel.create_dct(2, 3, 1)
