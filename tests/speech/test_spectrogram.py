"""Spectrogram layers: librosa's numbers, torch's transform, finite differences, errors."""

from pathlib import Path

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import speech

LIBROSA = np.load(Path(__file__).with_name("recorded_librosa.npz"))
FRAMES = {"n_fft": 512, "hop_length": 160, "win_length": 400}
BANDS = {"sr": 16000, "n_mels": 40, "f_min": 50.0, "f_max": 7600.0}


def wave(count=6000, seed=0) -> np.ndarray:
    time = np.arange(count)
    tones = 0.3 * np.sin(0.05 * time + 3 * np.sin(0.002 * time)) + 0.1 * np.sin(0.7 * time)
    return (tones + 0.02 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def test_layers_are_librosas() -> None:
    """librosa 0.11.0: tests/speech/record_librosa.py."""
    x = paddle.to_tensor(wave()[None])
    found = {
        "spectrogram": speech.Spectrogram(**FRAMES, power=1.0)(x),
        "mel": speech.MelSpectrogram(**FRAMES, **BANDS)(x),
        "decibels": speech.LogMelSpectrogram(**FRAMES, **BANDS, top_db=80.0)(x),
        "mfcc": speech.MFCC(n_mfcc=13, **FRAMES, **BANDS, top_db=80.0)(x),
    }
    for name, tensor in found.items():
        expected = LIBROSA[name]
        np.testing.assert_allclose(tensor.numpy()[0], expected, rtol=1e-4, atol=1e-4 * abs(expected).max())


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
def test_spectrogram_is_torchs(power) -> None:
    x = torch.from_numpy(wave(2000).astype(np.float64))[None]
    made = (
        torch.stft(x, 256, 100, 200, torch.hann_window(200, dtype=torch.float64), return_complex=True).abs()
        ** power
    )
    layer = speech.Spectrogram(256, 100, 200, power=power, dtype="float64")
    np.testing.assert_allclose(
        layer(paddle.to_tensor(x.numpy())).numpy(), made.numpy(), rtol=1e-9, atol=1e-12
    )


def test_gradients_are_central_differences() -> None:
    x = wave(900).astype(np.float64)[None] + 0.01
    layers = [
        speech.Spectrogram(128, 40, power=1.0, dtype="float64"),
        speech.MFCC(8000, 8, 128, 40, n_mels=12, f_min=0.0, dtype="float64"),
    ]
    rng = np.random.default_rng(0)
    for layer in layers:
        given = paddle.to_tensor(x, stop_gradient=False)
        out = layer(given)
        weights = rng.standard_normal(out.shape)
        (out * paddle.to_tensor(weights)).sum().backward()
        direction, step = rng.standard_normal(x.shape), 1e-6
        up, down = (
            (layer(paddle.to_tensor(x + s * step * direction)).numpy() * weights).sum() for s in (1, -1)
        )
        np.testing.assert_allclose(
            (given.grad.numpy() * direction).sum(), (up - down) / (2 * step), rtol=1e-5
        )


def test_signal_comes_back_from_its_transform() -> None:
    x = paddle.to_tensor(wave(3000).astype(np.float64)[None])
    window = speech.get_window("hann", 256)
    spectrum = paddle.signal.stft(x, 256, 64, window=window)
    found = paddle.signal.istft(spectrum, 256, 64, window=window, length=3000)
    np.testing.assert_allclose(found.numpy(), x.numpy(), atol=1e-12)


def test_state_and_errors() -> None:
    assert list(speech.MFCC(n_mfcc=4, n_mels=8).state_dict()) == [
        "dct_matrix",
        "_log_melspectrogram._melspectrogram.fbank_matrix",
        "_log_melspectrogram._melspectrogram._spectrogram.fft_window",
    ]
    with pytest.raises(ValueError, match="Spectrogram: power: expected a number above 0, got 0"):
        speech.Spectrogram(power=0)
    with pytest.raises(ValueError, match="MFCC: n_mfcc: expected at most n_mels=64, got 65"):
        speech.MFCC(n_mfcc=65)
    with pytest.raises(ValueError, match="time >= n_fft=512"):
        speech.Spectrogram()(paddle.zeros([1, 100]))
    with pytest.raises(ValueError, match="time"):
        speech.Spectrogram()(paddle.zeros([1, 0]))
