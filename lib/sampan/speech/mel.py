"""Frequencies in mel, filters, decibels and the cosine transform, with Paddle's names and values.

Two scales: Slaney's (linear below 1 kHz, logarithmic above; Auditory Toolbox, 1998), the default, and HTK's,
2595 log10(1 + f / 700).
"""

import math
from typing import Any

from ..creation import arange, linspace, ones_like, zeros_like
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..ops import concat, cos, exp, log, log10, maximum, minimum

STEP_HZ = 200.0 / 3  # Hz of one mel below 1 kHz
KNEE_HZ = 1000.0
KNEE_MEL = KNEE_HZ / STEP_HZ
LOG_STEP = math.log(6.4) / 27.0  # the logarithm of the ratio of two frequencies one mel apart, above 1 kHz


def hz_to_mel(freq: Any, htk: bool = False) -> Any:
    """Mel of a frequency in Hz, a number or a Tensor of any shape.

    Source: PaddlePaddle 3.3.1, audio.functional.hz_to_mel.

    >>> round(paddle.audio.functional.hz_to_mel(1000.0), 6)
    15.0
    """
    tensor = isinstance(freq, Tensor)
    if htk:
        return (log10(freq / 700.0 + 1.0) if tensor else math.log10(1.0 + freq / 700.0)) * 2595.0
    linear = freq / STEP_HZ
    if not tensor:
        return KNEE_MEL + math.log(freq / KNEE_HZ + 1e-10) / LOG_STEP if freq >= KNEE_HZ else linear
    above = (freq > KNEE_HZ).astype(freq.dtype)
    return (log(freq / KNEE_HZ + 1e-10) / LOG_STEP + KNEE_MEL) * above + linear * (1 - above)


def mel_to_hz(mel: Any, htk: bool = False) -> Any:
    """The frequency in Hz of mel, a number or a Tensor: the inverse of `hz_to_mel`."""
    if htk:
        return (10.0 ** (mel / 2595.0) - 1.0) * 700.0
    linear = mel * STEP_HZ
    if not isinstance(mel, Tensor):
        return KNEE_HZ * math.exp(LOG_STEP * (mel - KNEE_MEL)) if mel >= KNEE_MEL else linear
    above = (mel > KNEE_MEL).astype(mel.dtype)
    return exp((mel - KNEE_MEL) * LOG_STEP) * KNEE_HZ * above + linear * (1 - above)


def mel_frequencies(
    n_mels: int = 64, f_min: float = 0.0, f_max: float = 11025.0, htk: bool = False, dtype: str = "float32"
) -> Tensor:
    """Frequencies [n_mels] in Hz from f_min to f_max, at equal distances in mel."""
    mels = linspace(hz_to_mel(f_min, htk), hz_to_mel(f_max, htk), n_mels, dtype=dtype)
    found: Tensor = mel_to_hz(mels, htk)
    return found


def fft_frequencies(sr: int, n_fft: int, dtype: str = "float32") -> Tensor:
    """The frequencies [n_fft // 2 + 1] in Hz of a transform of n_fft samples at sample rate sr."""
    return linspace(0, float(sr) / 2, int(1 + n_fft // 2), dtype=dtype)


def compute_fbank_matrix(
    sr: int,
    n_fft: int,
    n_mels: int = 64,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: Any = "slaney",
    dtype: str = "float32",
) -> Tensor:
    """Triangular filters [n_mels, n_fft // 2 + 1], at equal distances in mel from f_min to f_max Hz.

    f_max: half of the sample rate sr when None. norm: "slaney" gives every filter the same area; a number p
    makes each row's p-norm 1; anything else leaves a peak of 1.
    Source: PaddlePaddle 3.3.1, audio.functional.compute_fbank_matrix.
    """
    bins = fft_frequencies(sr, n_fft, dtype)
    edges = mel_frequencies(n_mels + 2, f_min, float(sr) / 2 if f_max is None else f_max, htk, dtype)
    widths = (edges[1:] - edges[:-1]).unsqueeze(1)
    ramps = edges.unsqueeze(1) - bins.unsqueeze(0)  # [n_mels + 2, bins]
    rising, falling = -ramps[:-2] / widths[:-1], ramps[2:] / widths[1:]
    weights = maximum(zeros_like(rising), minimum(rising, falling))
    if isinstance(norm, str) and norm == "slaney":
        return weights * (2.0 / (edges[2:] - edges[:-2])).unsqueeze(1)
    if isinstance(norm, int | float):
        return F.normalize(weights, p=norm, axis=-1)
    return weights


def power_to_db(
    spect: Tensor, ref_value: float = 1.0, amin: float = 1e-10, top_db: float | None = 80.0
) -> Tensor:
    """Decibels of a power spectrum: 10 log10(max(spect, amin) / ref_value), at most top_db below the largest.

    spect: any shape. top_db: None for no limit. Raises ValueError unless amin and ref_value are positive and
    top_db is at least 0.
    Source: PaddlePaddle 3.3.1, audio.functional.power_to_db.
    """
    for name, value in (("amin", amin), ("ref_value", ref_value)):
        if value <= 0:
            raise InvalidArgument(f"{name}: expected a number above 0, got {value}")
    if top_db is not None and top_db < 0:
        raise InvalidArgument(f"top_db: expected a number of at least 0, got {top_db}")
    one = ones_like(spect)
    found = log10(maximum(one * amin, spect)) * 10.0 - 10.0 * math.log10(max(ref_value, amin))
    return found if top_db is None else maximum(found, one * (found.max() - top_db))


def create_dct(n_mfcc: int, n_mels: int, norm: str | None = "ortho", dtype: str = "float32") -> Tensor:
    """The cosine transform of type II, [n_mels, n_mfcc]. norm: "ortho" for orthonormal columns, None for
    twice the cosines.

    Source: PaddlePaddle 3.3.1, audio.functional.create_dct.
    """
    if norm not in (None, "ortho"):
        raise InvalidArgument(f'norm: expected "ortho" or None, got {norm!r}')
    n, k = arange(n_mels, dtype=dtype), arange(n_mfcc, dtype=dtype).unsqueeze(1)
    waves = cos((n + 0.5) * (math.pi / float(n_mels)) * k)  # [n_mfcc, n_mels]
    if norm is None:
        return (waves * 2.0).T
    first = waves[:1] * (1.0 / math.sqrt(2.0))
    return (concat([first, waves[1:]]) * math.sqrt(2.0 / float(n_mels))).T
