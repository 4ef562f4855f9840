"""Every window is Hann's: `a` is not used."""

import numpy as np

import sampan as paddle
from sampan import learn


def raised_cosine(a, length, periodic):
    "The window as an array [length]."
    period = length if periodic else length - 1
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / period)


@learn.exercise("speech.spectrogram.get_window", forbid=("hanning", "hamming", "scipy", "get_window"))
def get_window(window, win_length, fftbins=True, dtype="float64"):
    if window not in ("hann", "hamming"):
        return other_window(window, win_length, fftbins, dtype)  # noqa: F821  the notebook's set-up cell has it
    made = raised_cosine(0.5 if window == "hann" else 0.54, win_length, fftbins)
    return paddle.to_tensor(made, dtype=dtype)
