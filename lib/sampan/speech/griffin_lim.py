"""A waveform from amplitudes: from mel bands back to frequencies, and the phase by going back and forth
between spectrum and sound.

Source: Perraudin, Balazs and Sondergaard, A fast Griffin-Lim algorithm, 2013; with momentum 0 the algorithm
of Griffin and Lim, 1984. Mel inversion: the updates of Lee and Seung, Algorithms for non-negative matrix
factorization, 2001.
"""

from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from .mel import compute_fbank_matrix
from .waveform import whole
from .windows import get_window

__all__ = ["griffin_lim", "mel_to_amplitude"]


def _amplitudes(given: Any, name: str, rows: str) -> torch.Tensor:
    """A floating buffer [..., rows, frames] without negative entries."""
    if not isinstance(given, Tensor | np.ndarray):
        raise InvalidType(f"{name}: expected a Tensor or a NumPy array, got {type(given).__name__}")
    x = given.data if isinstance(given, Tensor) else torch.from_numpy(np.ascontiguousarray(given))
    if x.dtype not in (torch.float32, torch.float64):
        raise InvalidType(f"{name}: expected float32 or float64, got {str(x.dtype).removeprefix('torch.')}")
    if x.ndim not in (2, 3) or not x.numel():
        raise InvalidArgument(f"{name}: expected [..., {rows}, frames], got shape {list(x.shape)}")
    if not bool(torch.isfinite(x).all()) or bool((x < 0).any()):
        raise InvalidArgument(f"{name}: expected finite amplitudes of at least 0")
    return x


def griffin_lim(
    amplitude: Any,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = "hann",
    iterations: int = 32,
    momentum: float = 0.99,
    seed: int | None = 0,
    length: int | None = None,
    phase: Any = None,
) -> Tensor:
    """Samples [..., n] whose |STFT| comes close to `amplitude` [..., n_fft // 2 + 1, frames], centred frames.

    hop_length: samples between frames, n_fft // 4 when None. win_length, window: as in `get_window`.
    momentum: alpha of the paper, from 0 up; above 1 it may not converge. seed: of the random phase at the
    beginning; None begins with the phase 0. phase: to begin with, in radians, of the shape of `amplitude`;
    then there is no seed. length: samples of the result, (frames - 1) hop_length when None. Raises
    ValueError for negative amplitudes, NaN, less than two frames, and numbers out of range.
    """
    size = _amplitudes(amplitude, "amplitude", "n_fft // 2 + 1")
    n_fft = 2 * (size.shape[-2] - 1)
    hop = whole("hop_length", n_fft // 4 if hop_length is None else hop_length)
    wide = whole("win_length", n_fft if win_length is None else win_length)
    whole("iterations", iterations)
    if n_fft < 2 or size.shape[-1] < 2:
        raise InvalidArgument(f"amplitude: expected 2 or more rows and frames, got {list(size.shape)}")
    if not 0 <= momentum < float("inf"):
        raise InvalidArgument(f"momentum: expected 0 or more, got {momentum}")
    kind = "float32" if size.dtype is torch.float32 else "float64"
    shape = get_window(window, wide, dtype=kind).data.to(size.device)
    settings: dict[str, Any] = {
        "n_fft": n_fft,
        "hop_length": hop,
        "win_length": wide,
        "window": shape,
        "center": True,
    }
    samples = (size.shape[-1] - 1) * hop if length is None else whole("length", length)
    if samples <= n_fft // 2:
        raise InvalidArgument(f"length: expected more than {n_fft // 2} samples, got {samples}")
    spectrum = torch.polar(size, _phase(size, seed) if phase is None else _given(phase, size))
    before: torch.Tensor | None = None
    for _ in range(iterations):
        sound = torch.istft(spectrum, length=samples, **settings)
        reached = torch.stft(sound, pad_mode="constant", return_complex=True, **settings)
        reached = _as_long(reached, size.shape[-1])
        ahead = reached if before is None else reached + momentum * (reached - before)
        before = reached
        spectrum = torch.polar(size, ahead.angle())
    return Tensor(torch.istft(spectrum, length=samples, **settings))


def _phase(size: torch.Tensor, seed: int | None) -> torch.Tensor:
    """The phase at the beginning, of the shape of `size`."""
    if seed is None:
        return torch.zeros_like(size)
    drawn = np.random.default_rng(seed).uniform(0, 2 * np.pi, tuple(size.shape))
    return torch.from_numpy(drawn).to(size.device, size.dtype)


def _given(phase: Any, size: torch.Tensor) -> torch.Tensor:
    """The caller's phase, of the shape of `size`."""
    found = phase.data if isinstance(phase, Tensor) else torch.as_tensor(phase)
    if found.shape != size.shape:
        raise InvalidArgument(f"phase: expected the shape {list(size.shape)}, got {list(found.shape)}")
    return found.to(size.device, size.dtype)


def _as_long(spectrum: torch.Tensor, frames: int) -> torch.Tensor:
    """Cut off, or filled up with zeros, to so many frames: those of another `length`."""
    missing = frames - spectrum.shape[-1]
    return torch.nn.functional.pad(spectrum, (0, missing)) if missing > 0 else spectrum[..., :frames]


def mel_to_amplitude(
    mel: Any,
    sample_rate: int,
    n_fft: int,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: Any = "slaney",
    iterations: int = 200,
) -> Tensor:
    """Amplitudes [..., n_fft // 2 + 1, frames], none negative, whose mel bands come close to `mel` [...,
    n_mels, frames] in the least squares.

    The filters are those of `MelSpectrogram` with power 1 at these settings (rates and frequencies in Hz).
    Raises ValueError for negative bands, NaN and numbers out of range.
    """
    bands = _amplitudes(mel, "mel", "n_mels")
    whole("iterations", iterations)
    kind = "float32" if bands.dtype is torch.float32 else "float64"
    bank = compute_fbank_matrix(sample_rate, n_fft, bands.shape[-2], f_min, f_max, htk, norm, kind)
    filters = bank.data.to(bands.device)
    wanted, square = filters.T @ bands, filters.T @ filters
    found = wanted.clone()
    for _ in range(iterations):
        found *= wanted / (square @ found).clamp(min=1e-12)
    return Tensor(found)
