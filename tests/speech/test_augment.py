"""Augmentation: power ratios, convolution by NumPy, masks, gradients."""

import numpy as np
import pytest

import sampan as paddle
from sampan import speech


def wave(count=2000, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count) * 0.1


def test_speed_shifts_a_tone() -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    fast = speech.change_speed(tone, 1.1).numpy()
    assert len(fast) == 14546  # 16000 / 1.1, rounded up
    peak = abs(np.fft.rfft(fast * np.hanning(len(fast)))).argmax() * 16000 / len(fast)
    assert abs(peak - 484) < 2
    np.testing.assert_array_equal(speech.change_speed(tone, 1.0).numpy(), tone)
    with pytest.raises(ValueError, match=r"factor: expected 0\.1 to 10, got 20"):
        speech.change_speed(tone, 20)


def test_volume() -> None:
    np.testing.assert_allclose(speech.change_volume(wave(), -6.0206).numpy(), wave() / 2, rtol=1e-6)


@pytest.mark.parametrize("snr", [-5.0, 0.0, 20.0])
def test_noise_has_the_asked_ratio(snr) -> None:
    x, noise = wave(), wave(700, 1)
    found = speech.add_noise(x, noise, snr, offset=100).numpy()
    added = found - x
    assert abs(10 * np.log10((x**2).mean() / (added**2).mean()) - snr) < 1e-9
    np.testing.assert_allclose(added[:600] / added[0], noise[100:] / noise[100], rtol=1e-6)
    np.testing.assert_allclose(added[700:1400], added[:700], atol=1e-12)
    stereo = speech.add_noise(np.stack([x, x]).astype(np.float32), noise, snr)
    assert stereo.shape == [2, 2000] and stereo.dtype == paddle.float32
    for wrong, message in ((np.zeros(5), "got silence"), (np.zeros(0), "at least 1 sample, got 0")):
        with pytest.raises(ValueError, match=message):
            speech.add_noise(x, wrong, snr)


def test_reverberation_is_a_convolution_of_equal_power() -> None:
    x = wave()
    room = np.exp(-np.arange(500) / 80) * wave(500, 2)
    room[20] = 1.0
    found = speech.reverberate(x, room).numpy()
    expected = np.convolve(x, room)[20:2020]
    np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-6, atol=1e-6)
    assert abs((found**2).mean() / (x**2).mean() - 1) < 1e-9
    np.testing.assert_allclose(speech.reverberate(x, np.array([0.0, 0.0, 0.5])).numpy(), x, atol=1e-12)
    with pytest.raises(ValueError, match="impulse: expected a sample other than 0"):
        speech.reverberate(x, np.zeros(3))


def test_gradients_of_speed_and_noise_and_masks() -> None:
    x = paddle.to_tensor(wave(), stop_gradient=False)
    speech.change_volume(speech.change_speed(x, 0.9), 6.0).sum().backward()
    assert x.grad.shape == [2000] and 1.5 < float(x.grad.abs().max()) < 4
    features = paddle.to_tensor(np.random.default_rng(0).standard_normal((30, 8)), stop_gradient=False)
    masked = speech.spec_augment(features, freq_width=3, time_width=5)
    masked.sum().backward()
    np.testing.assert_array_equal(features.grad.numpy() == 1, masked.numpy() == features.numpy())


def test_masks() -> None:
    x = np.ones((4, 200, 40), np.float32)
    paddle.seed(3)
    found = speech.spec_augment(
        x, freq_masks=1, freq_width=10, time_masks=1, time_width=50, fill=-7.0
    ).numpy()
    assert set(np.unique(found)) <= {1.0, -7.0}
    for each in found:
        columns, frames = (each == -7).all(0), (each == -7).all(1)
        assert columns.sum() <= 10 and frames.sum() <= 50
        np.testing.assert_array_equal(each == -7, frames[:, None] | columns[None])
        for flags in (columns, frames):  # one stretch
            assert (np.diff(flags.astype(int)) == 1).sum() + flags[0] <= 1
    assert len({each.tobytes() for each in found}) > 1
    paddle.seed(3)
    again = speech.spec_augment(
        x, freq_masks=1, freq_width=10, time_masks=1, time_width=50, fill=-7.0
    ).numpy()
    np.testing.assert_array_equal(again, found)
    few = [(speech.spec_augment(x[0], 0, 0, 1, 100, 0.1).numpy() == 0).all(1).sum() for _ in range(40)]
    assert 0 < max(few) <= 20
    for settings, message in (
        ({"time_masks": -1}, "time_masks"),
        ({"time_ratio": 2}, "time_ratio: expected 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            speech.spec_augment(x, **settings)
    assert speech.spec_augment(x[:, :0]).shape == [4, 0, 40]
