"""Layers from a waveform to a spectrogram, mel energies and cepstra, with Paddle's names, settings and
values."""

from typing import Any

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn import Layer
from ..ops import matmul
from ..ops.spectral import stft
from .fused_mel import fused_mel
from .mel import compute_fbank_matrix, create_dct, power_to_db
from .windows import get_window


class Spectrogram(Layer):
    """|STFT|^power of waveforms [batch, samples]: [batch, n_fft // 2 + 1, frames].

    n_fft: samples of a transform. hop_length: samples between frames, n_fft // 4 when None. win_length:
    samples of the window, n_fft when None. window: see `get_window`. center: frame t is centred at sample t
    hop_length, the signal is padded by `pad_mode`. Differentiable. Raises ValueError unless power is
    positive, and for a waveform shorter than n_fft.
    Source: PaddlePaddle 3.3.1, audio.features.Spectrogram.
    """

    fft_window: Tensor

    def __init__(
        self,
        n_fft: int = 512,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 1.0,
        center: bool = True,
        pad_mode: str = "reflect",
        dtype: str = "float32",
    ) -> None:
        super().__init__()
        if power <= 0:
            raise InvalidArgument(f"power: expected a number above 0, got {power}")
        self.power = power
        win_length = n_fft if win_length is None else win_length
        self._settings = {
            "n_fft": n_fft,
            "hop_length": hop_length,
            "win_length": win_length,
            "center": center,
            "pad_mode": pad_mode,
        }
        self.register_buffer("fft_window", get_window(window, win_length, fftbins=True, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = stft(x, window=self.fft_window, **self._settings)
        if self.power == 2.0:  # without a square root
            real, imaginary = spectrum.real(), spectrum.imag()
            return real * real + imaginary * imaginary
        return spectrum.abs() ** self.power


class MelSpectrogram(Layer):
    """`Spectrogram` summed by mel filters: [batch, n_mels, frames].

    sr: sample rate, Hz. f_min, f_max: the ends of the filters, Hz; half of sr when f_max is None. htk, norm:
    see `compute_fbank_matrix`.
    Source: PaddlePaddle 3.3.1, audio.features.MelSpectrogram.
    """

    fbank_matrix: Tensor

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        dtype: str = "float32",
    ) -> None:
        super().__init__()
        self._spectrogram = Spectrogram(n_fft, hop_length, win_length, window, power, center, pad_mode, dtype)
        self.n_mels, self.f_min, self.f_max, self.htk, self.norm = n_mels, f_min, f_max, htk, norm
        top = sr // 2 if f_max is None else f_max
        bank = compute_fbank_matrix(sr, n_fft, n_mels, f_min, top, htk, norm, dtype)
        self.register_buffer("fbank_matrix", bank)

    def fused(
        self, x: Tensor, decibels: tuple[float, float] | None = None, cosines: Tensor | None = None
    ) -> Tensor | None:
        """The result, in decibels and as cepstra if these are given, by one kernel; None where it cannot
        run."""
        below = self._spectrogram
        return fused_mel(
            x, below.fft_window, self.fbank_matrix, below._settings, below.power, decibels, cosines
        )

    def forward(self, x: Tensor) -> Tensor:
        found = self.fused(x)
        return matmul(self.fbank_matrix, self._spectrogram(x)) if found is None else found


class LogMelSpectrogram(Layer):
    """`MelSpectrogram` in decibels: [batch, n_mels, frames]. ref_value, amin, top_db: see `power_to_db`.

    Source: PaddlePaddle 3.3.1, audio.features.LogMelSpectrogram.
    """

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__()
        self._melspectrogram = MelSpectrogram(
            sr,
            n_fft,
            hop_length,
            win_length,
            window,
            power,
            center,
            pad_mode,
            n_mels,
            f_min,
            f_max,
            htk,
            norm,
            dtype,
        )
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def forward(self, x: Tensor) -> Tensor:
        found = None
        if self.top_db is None:  # else the largest of all must be known first
            found = self._melspectrogram.fused(x, (self.ref_value, self.amin))
        if found is None:
            return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)
        return found


class MFCC(Layer):
    """The cosine transform of `LogMelSpectrogram` over the filters: [batch, n_mfcc, frames].

    Settings as in `LogMelSpectrogram`. Raises ValueError if n_mfcc is larger than n_mels.
    Source: PaddlePaddle 3.3.1, audio.features.MFCC. Kaldi's cepstra are `speech.mfcc`.
    """

    dct_matrix: Tensor

    def __init__(
        self,
        sr: int = 22050,
        n_mfcc: int = 40,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__()
        if n_mfcc > n_mels:
            raise InvalidArgument(f"n_mfcc: expected at most n_mels={n_mels}, got {n_mfcc}")
        mel = (n_mels, f_min, f_max, htk, norm, ref_value, amin, top_db, dtype)
        self._log_melspectrogram = LogMelSpectrogram(
            sr, n_fft, hop_length, win_length, window, power, center, pad_mode, *mel
        )
        self.register_buffer("dct_matrix", create_dct(n_mfcc, n_mels, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        below = self._log_melspectrogram
        if below.top_db is None:
            decibels = (below.ref_value, below.amin)
            fused = below._melspectrogram.fused(x, decibels, self.dct_matrix)
            if fused is not None:
                return fused
        found = matmul(self._log_melspectrogram(x).transpose([0, 2, 1]), self.dct_matrix)
        return found.transpose([0, 2, 1])
