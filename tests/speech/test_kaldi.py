"""Kaldi's features: against kaldi-native-fbank, a float64 computation written out here, and finite differences."""

from pathlib import Path

import numpy as np
import pytest

import sampan as paddle
from sampan import speech
from sampan.speech import kaldi

RECORDED = np.load(Path(__file__).with_name("recorded_kaldi.npz"))


def wave(count=4000, seed=0) -> np.ndarray:
    time = np.arange(count)
    tones = 0.3 * np.sin(0.05 * time + 3 * np.sin(0.002 * time)) + 0.1 * np.sin(0.7 * time)
    return (tones + 0.02 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def slow_fbank(x, rate=16000, bins=80, length=400, shift=160, size=512) -> np.ndarray:
    """Frame by frame in float64, by the definition."""
    rows = []
    to_mel = lambda f: 1127 * np.log(1 + f / 700)
    edges = np.linspace(to_mel(20.0), to_mel(rate / 2), bins + 2)
    for start in range(0, len(x) - length + 1, shift):
        frame = x[start : start + length].astype(np.float64) * 32768
        frame = frame - frame.mean()
        frame = np.array([frame[i] - 0.97 * frame[max(i - 1, 0)] for i in range(length)])
        frame *= (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / (length - 1))) ** 0.85
        angles = np.outer(np.arange(size // 2), np.arange(length)) * (2 * np.pi / size)
        power = (np.cos(angles) @ frame) ** 2 + (np.sin(angles) @ frame) ** 2
        row = []
        for left, centre, right in zip(edges, edges[1:], edges[2:], strict=False):
            total = 0.0
            for k, p in enumerate(power):
                m = to_mel(k * rate / size)
                if left < m < right:
                    total += p * (
                        (m - left) / (centre - left) if m <= centre else (right - m) / (right - centre)
                    )
            row.append(np.log(max(total, np.finfo(np.float32).eps)))
        rows.append(row)
    return np.array(rows)


def test_fbank_is_the_definition_written_out() -> None:
    x = wave(1200)
    expected = slow_fbank(x)
    np.testing.assert_allclose(speech.fbank(x).numpy(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(speech.fbank(x.astype(np.float64)).numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("name", [str(n) for n in RECORDED["names"]])
def test_equals_kaldi_native_fbank(name) -> None:
    """Answers of kaldi-native-fbank 1.23.0: tests/speech/record_kaldi.py."""
    kind, settings = name.split("|")
    given = eval(f"dict({settings})")  # of our own file
    x = wave(6000)
    expected = RECORDED[name]
    found = getattr(speech, kind)(x, **given).numpy()
    assert found.dtype == np.float32 and found.shape == expected.shape
    rounding = (
        1e-4 if kind == "fbank" else 3e-4
    )  # a cepstrum is a sum of logarithms times a lifter of up to 12
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=rounding)
    exact = getattr(speech, kind)(x.astype(np.float64), **given).numpy()
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=rounding)


SETTINGS = [
    {},
    {"use_energy": True, "raw_energy": False, "energy_floor": 2.0},
    {"use_power": False, "use_log": False, "window": "rectangular", "remove_dc_offset": False},
    {"sample_rate": 8000, "num_mel_bins": 23, "snip_edges": False, "frame_length": 25.1},
    {"sample_rate": 44100, "high_freq": -400.0},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", ["fbank", "mfcc"])
def test_the_kernel_equals_the_operators(kind, settings) -> None:
    x = wave(3000)
    found = getattr(speech, kind)(x, **settings).numpy()
    given = paddle.to_tensor(x, stop_gradient=False)
    expected = getattr(speech, kind)(given, **settings)
    assert not expected.stop_gradient
    np.testing.assert_allclose(found, expected.numpy(), rtol=2e-4, atol=2e-4)
    exact = getattr(speech, kind)(x.astype(np.float64), **settings).numpy()
    scale = abs(exact).max()
    np.testing.assert_allclose(found / scale, exact / scale, atol=2e-5)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", ["fbank", "mfcc"])
def test_gradients_are_central_differences(kind, settings) -> None:
    rng = np.random.default_rng(4)
    x = wave(1500).astype(np.float64)
    given = paddle.to_tensor(x, stop_gradient=False)
    out = getattr(speech, kind)(given, **settings)
    weights = rng.standard_normal(out.shape)
    (out * paddle.to_tensor(weights)).sum().backward()
    for _ in range(3):
        direction = rng.standard_normal(len(x))
        step = 1e-6
        up, down = (
            (getattr(speech, kind)(x + s * step * direction, **settings).numpy() * weights).sum()
            for s in (1, -1)
        )
        np.testing.assert_allclose(
            given.grad.numpy() @ direction, (up - down) / (2 * step), rtol=2e-5, atol=1e-5
        )


def test_channels_strides_and_integers() -> None:
    x = wave(2000)
    alone = speech.fbank(x).numpy()
    stereo = speech.fbank(np.stack([x, x[::-1]])).numpy()
    assert stereo.shape == (2, 11, 80)
    np.testing.assert_array_equal(stereo[0], alone)
    np.testing.assert_array_equal(stereo[1], speech.fbank(x[::-1]).numpy())
    apart = np.empty(4000, np.float32)
    apart[::2] = x
    np.testing.assert_array_equal(speech.fbank(apart[::2]).numpy(), alone)
    np.testing.assert_array_equal(speech.fbank(paddle.to_tensor(apart)[::2]).numpy(), alone)
    whole = (x * 32767).astype(np.int16)
    np.testing.assert_array_equal(
        speech.fbank(whole).numpy(), speech.fbank(whole / np.float32(32768)).numpy()
    )


def test_results_do_not_depend_on_threads() -> None:
    import numba

    x, before = wave(20000), numba.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            found.append(speech.fbank(x).numpy())
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(*found)
    # 11 frames run in the serial loop
    np.testing.assert_array_equal(speech.fbank(x[:2000]).numpy(), found[0][:11])


@pytest.mark.parametrize("count, frames", [(0, 0), (1, 0), (399, 0), (400, 1), (559, 1), (560, 2)])
def test_short_signals(count, frames) -> None:
    x = wave(600)[:count]
    assert speech.fbank(x).shape == [frames, 80]
    assert speech.fbank(paddle.to_tensor(x, stop_gradient=False)).shape == [frames, 80]
    assert speech.mfcc(np.stack([x, x])).shape == [2, frames, 13]
    centred = speech.fbank(x, snip_edges=False)
    assert centred.shape == [(count + 80) // 160, 80]
    assert np.isfinite(centred.numpy()).all()


def test_silence_has_the_logarithm_of_the_smallest_energy() -> None:
    found = speech.fbank(np.zeros(800, np.float32)).numpy()
    np.testing.assert_allclose(found, np.log(1.1920929e-07), rtol=1e-6)


def test_errors_name_what_is_wrong() -> None:
    x = wave(1000)
    x[123] = np.nan
    with pytest.raises(ValueError, match="fbank: waveform: expected finite samples, got nan at sample 123"):
        speech.fbank(x)
    stereo = np.zeros((2, 500), np.float64)
    stereo[1, 7] = np.inf
    with pytest.raises(ValueError, match=r"mfcc: waveform: .* got inf at sample 7 of channel 1"):
        speech.mfcc(stereo)
    with pytest.raises(
        ValueError, match=r"expected \[samples\] or \[channels, samples\], got shape \[1, 2, 3\]"
    ):
        speech.fbank(np.zeros((1, 2, 3), np.float32))
    with pytest.raises(TypeError, match=r"expected float32, float64 or int16, got .*int64"):
        speech.fbank(np.zeros(1000, np.int64))
    with pytest.raises(TypeError, match=r"expected float32, float64 or int16, got .*float16"):
        speech.fbank(paddle.zeros([1000], "float16"))
    with pytest.raises(TypeError, match="expected a Tensor or a NumPy array, got str"):
        speech.fbank("a.wav")
    ok = wave(1000)
    for settings, message in [
        ({"sample_rate": 0}, "sample_rate: expected a positive number, got 0"),
        ({"sample_rate": 8000, "high_freq": 7600.0}, "expected 0 <= low < high <= 4000 Hz, got 20 and 7600"),
        ({"num_mel_bins": 2}, "num_mel_bins: expected an integer of at least 3"),
        ({"num_mel_bins": 400}, "filter .* of 400 holds no frequency"),
        ({"preemphasis": 1.5}, "preemphasis: expected 0 to 1, got 1.5"),
        ({"window": "hann"}, "window: expected one of povey, .*, got 'hann'"),
        ({"frame_shift": 0.01}, "expected at least 2 samples and 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            speech.fbank(ok, **settings)
    with pytest.raises(ValueError, match="num_ceps: expected at most num_mel_bins=23, got 40"):
        speech.mfcc(ok, num_ceps=40)
    with pytest.raises(TypeError, match="dither: unknown; expected one of sample_rate"):
        speech.fbank(ok, dither=1.0)


def test_frames_longer_than_the_kernel_takes() -> None:
    x = wave(12000)
    found = speech.fbank(x, 48000, 40, frame_length=100.0).numpy()  # 4,800 samples
    np.testing.assert_allclose(
        found, speech.fbank(x.astype(np.float64), 48000, 40, frame_length=100.0).numpy(), rtol=2e-4, atol=2e-4
    )


def test_the_cosine_transform_is_scipys() -> None:
    from scipy.fft import dct

    options = kaldi.FeatureOptions(num_ceps=13, num_mel_bins=23, cepstral_lifter=0.0)
    values = np.random.default_rng(5).standard_normal(23)
    np.testing.assert_allclose(
        kaldi.cepstral_matrix(options) @ values, dct(values, norm="ortho")[:13], atol=1e-12
    )
