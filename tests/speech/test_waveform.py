"""The checks that all functions of waveforms share."""

import numpy as np
import pytest

import sampan as paddle
from sampan.speech import waveform


def test_kinds_of_samples() -> None:
    assert waveform.waveform_tensor(np.zeros(3, np.float32)).dtype == paddle.float32
    assert waveform.waveform_tensor(paddle.zeros([2, 3], "float64")).dtype == paddle.float64
    np.testing.assert_array_equal(waveform.waveform_tensor(np.int16([-32768, 16384])).numpy(), [-1.0, 0.5])
    x = np.zeros(3)
    waveform.waveform_tensor(x)[0] = 1.0  # the caller's array is not written to
    assert x[0] == 0


def test_large_finite_samples_are_finite() -> None:
    """Their sum overflows in float32."""
    waveform.waveform_tensor(np.full(100, 3e38, np.float32))


@pytest.mark.parametrize(
    "given, message",
    [
        (np.zeros(3, np.uint8), "got uint8"),
        (np.array(["a"]), "got <U1"),
        (paddle.zeros([3], "int32"), "int32; cast it and divide by its largest value"),
        ([0.0, 1.0], "expected a Tensor or a NumPy array, got list"),
        (np.zeros((1, 1, 3)), r"expected \[samples\] or \[channels, samples\], got shape \[1, 1, 3\]"),
        (np.array([0, np.inf, np.nan]), "got inf at sample 1"),
    ],
)
def test_errors(given, message) -> None:
    with pytest.raises(ValueError, match=message):
        waveform.waveform_tensor(given)
