"""The kernel of the spectrogram layers against their operators."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import speech

SOUND = np.random.default_rng(0).standard_normal((2, 3000)).astype(np.float32)


def by_operators(kind: str, x: np.ndarray, **settings: Any) -> np.ndarray:
    """With a gradient the kernel does not run."""
    found = getattr(speech, kind)(**settings)(paddle.to_tensor(x, stop_gradient=False))
    assert not found.stop_gradient
    return found.detach().numpy()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_fft": 1024, "hop_length": None, "win_length": 700, "window": "hamming"},
        {"n_fft": 256, "hop_length": 300, "power": 1.0, "pad_mode": "constant"},
        {"n_fft": 64, "hop_length": 17, "center": False, "n_mels": 6},
        {"n_fft": 8, "hop_length": 5, "n_mels": 3, "norm": None},
        {"n_fft": 4096, "win_length": 2001, "hop_length": 400, "f_max": 9000.0, "x": 5000},
        {"n_mels": 300, "norm": 2.0},  # some filters hold no frequency
    ],
)
def test_values_are_those_of_the_operators(settings: dict[str, Any]) -> None:
    settings = {"sr": 16000, "n_fft": 512, "hop_length": 160, "n_mels": 40, "f_min": 0.0} | settings
    x = np.tile(SOUND, 2)[:, : settings.pop("x", 3000)]
    for kind, more in (
        ("MelSpectrogram", {}),
        ("LogMelSpectrogram", {"ref_value": 2.0, "amin": 1e-6}),
        ("LogMelSpectrogram", {"top_db": 20.0}),
        ("MFCC", {"n_mfcc": 3}),
        ("MFCC", {"n_mfcc": 3, "top_db": 20.0}),
    ):
        layer = getattr(speech, kind)(**settings, **more)
        found = layer(paddle.to_tensor(x)).numpy()
        expected = by_operators(kind, x, **settings, **more)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=2e-5 * max(1.0, abs(expected).max()), err_msg=kind)


def test_a_gradient_takes_the_operators() -> None:
    layer = speech.LogMelSpectrogram(16000, hop_length=160, n_mels=20)
    x = paddle.to_tensor(SOUND, stop_gradient=False)
    recorded = layer(x)
    recorded.sum().backward()
    assert not recorded.stop_gradient and abs(x.grad.numpy()).max() > 0
    with paddle.no_grad():
        alone = layer(x)
    assert alone.stop_gradient
    np.testing.assert_allclose(alone.numpy(), recorded.numpy(), atol=2e-4)


def test_silence_nan_and_infinity() -> None:
    layer = speech.LogMelSpectrogram(16000, hop_length=512, n_mels=8, center=False)
    x = np.zeros((1, 4096), np.float32)
    np.testing.assert_allclose(layer(paddle.to_tensor(x)).numpy(), -100.0, atol=1e-4)
    x[0, 700] = np.nan
    found = layer(paddle.to_tensor(x)).numpy()[0]
    assert np.isnan(found).all(0).tolist() == [False, True] + 6 * [False]
    np.testing.assert_allclose(np.delete(found, 1, 1), -100.0, atol=1e-4)
    x[0, 700] = 3e19  # its square is no float32 number
    assert np.isinf(layer(paddle.to_tensor(x)).numpy()[0, :, 1]).any()


def test_results_do_not_depend_on_the_batch() -> None:
    layer = speech.MFCC(16000, 13, hop_length=160, n_mels=40)
    both = layer(paddle.to_tensor(SOUND)).numpy()
    for n in range(2):
        assert (layer(paddle.to_tensor(SOUND[n : n + 1])).numpy()[0] == both[n]).all()


def test_replaced_tables_count() -> None:
    layer = speech.MelSpectrogram(16000, 512, 160, n_mels=20)
    before = layer(paddle.to_tensor(SOUND)).numpy()
    layer.set_state_dict({name: 2.0 * value for name, value in layer.state_dict().items()})
    np.testing.assert_allclose(layer(paddle.to_tensor(SOUND)).numpy(), 8.0 * before, rtol=1e-5)
