"""The transform of sixteen frames at a time against NumPy's in float64."""

import numpy as np
import pytest

from sampan.kernels import cpu_speech_fft as fft


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048])
def test_complex_transform_and_power(n) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((fft.LANES, 2 * n)).astype(np.float32)
    re, im = np.ascontiguousarray(x[:, 0::2].T).reshape(-1), np.ascontiguousarray(x[:, 1::2].T).reshape(-1)
    fft.transform(re, im, *fft.angles(n, 2 * np.pi))
    rows = fft.bin_rows(n)
    assert sorted(rows.tolist()) == list(range(n))
    found = (re + 1j * im).reshape(n, fft.LANES)[rows].T
    expected = np.fft.fft(x[:, 0::2] + 1j * x[:, 1::2].astype(np.float64))
    np.testing.assert_allclose(found, expected, atol=3e-6 * abs(expected).max())
    power = np.empty((n + 1) * fft.LANES, np.float32)
    fft.power(re, im, rows, *fft.angles(n, np.pi), power)
    spectrum = abs(np.fft.rfft(x.astype(np.float64))) ** 2
    np.testing.assert_allclose(power.reshape(n + 1, -1).T, spectrum, atol=3e-6 * spectrum.max())
