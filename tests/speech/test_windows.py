"""Windows against SciPy's."""

import numpy as np
import pytest
from scipy.signal import windows as scipy_windows

import sampan as paddle
from sampan import speech

NAMED = {
    "hamming": scipy_windows.hamming,
    "hann": scipy_windows.hann,
    "blackman": scipy_windows.blackman,
    "nuttall": scipy_windows.nuttall,
    "bartlett": scipy_windows.bartlett,
    "triang": scipy_windows.triang,
    "bohman": scipy_windows.bohman,
    "cosine": scipy_windows.cosine,
    "tukey": scipy_windows.tukey,
    "taylor": scipy_windows.taylor,
}
WITH_PARAMETERS = [
    (("kaiser", 5.0), lambda n, sym: scipy_windows.kaiser(n, 5.0, sym)),
    (("gaussian", 7.0), lambda n, sym: scipy_windows.gaussian(n, 7.0, sym)),
    (("general_gaussian", 1.5, 3.0), lambda n, sym: scipy_windows.general_gaussian(n, 1.5, 3.0, sym)),
    (("exponential", None, 3.0), lambda n, sym: scipy_windows.exponential(n, None, 3.0, sym)),
    (("tukey", 0.0), lambda n, sym: scipy_windows.tukey(n, 0.0, sym)),
    (("tukey", 1.0), lambda n, sym: scipy_windows.tukey(n, 1.0, sym)),
    (("taylor", 5, 35.0, False), lambda n, sym: scipy_windows.taylor(n, 5, 35.0, False, sym)),
    (
        ("general_cosine", [0.4, 0.5, 0.1]),
        lambda n, sym: scipy_windows.general_cosine(n, [0.4, 0.5, 0.1], sym),
    ),
    (("general_hamming", 0.6), lambda n, sym: scipy_windows.general_hamming(n, 0.6, sym)),
]


@pytest.mark.parametrize("length", [2, 3, 16, 17])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize(
    "window, expected",
    [*NAMED.items(), *WITH_PARAMETERS],
    ids=lambda value: "scipy" if callable(value) else str(value),
)
def test_values_are_scipys(window, expected, periodic, length) -> None:
    found = speech.get_window(window, length, periodic)
    assert found.shape == [length] and found.dtype == paddle.float64
    np.testing.assert_allclose(found.numpy(), expected(length, sym=not periodic), atol=1e-14)


def test_lengths_zero_and_one_are_ones() -> None:
    assert speech.get_window("hann", 1, dtype="float32").tolist() == [1.0]
    assert speech.get_window("hann", 0).shape == [0]


@pytest.mark.parametrize(
    "window, settings, message",
    [
        ("square", {}, "window: expected one of hamming, .*, got 'square'"),
        (3, {}, "window: expected a name or a tuple, got int"),
        ("kaiser", {}, "'kaiser' needs parameters"),
        (("kaiser", 1, 2, 3), {}, r"wrong parameters \(1, 2, 3\) for 'kaiser'"),
        ("hann", {"win_length": -1}, "win_length: expected an integer of at least 0, got -1"),
        ("hann", {"win_length": 2.5}, "win_length: expected an integer"),
        (
            ("exponential", 2.0, 1.0),
            {"fftbins": False},
            "expected center None for a symmetric window, got 2.0",
        ),
    ],
)
def test_errors(window, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        speech.get_window(window, **{"win_length": 8, **settings})
