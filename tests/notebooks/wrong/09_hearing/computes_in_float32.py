"""The cosines and sines are rounded to float32, whatever the signal is."""

import numpy as np

import sampan as paddle
from sampan import learn


def cut(x, length, hop):
    "Frames [..., count, length] of a signal [..., samples]."
    count = 1 + (x.shape[-1] - length) // hop
    places = hop * np.arange(count)[:, None] + np.arange(length)
    return x[..., paddle.to_tensor(places)]


def fourier(frames):
    "(real, imaginary) parts, each [..., count, length // 2 + 1]."
    length = frames.shape[-1]
    angle = 2 * np.pi / length * np.outer(np.arange(length), np.arange(length // 2 + 1))
    cosines, sines = (
        paddle.to_tensor(f(angle), dtype="float32").astype(frames.dtype) for f in (np.cos, np.sin)
    )
    return frames @ cosines, -(frames @ sines)


@learn.exercise("speech.spectrogram.stft", forbid=("fft", "rfft", "stft", ".frame", ".unfold", "as_strided"))
def stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect"):
    x, window = prepared(x, n_fft, win_length, window, center, pad_mode)  # noqa: F821  the notebook's set-up cell has it
    real, imaginary = fourier(cut(x, n_fft, hop_length or n_fft // 4) * window)
    return paddle.swapaxes(paddle.complex(real, imaginary), -1, -2)
