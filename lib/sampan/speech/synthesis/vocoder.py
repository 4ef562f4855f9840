"""From log mel frames to samples: a small convolutional network that writes the spectrum of each frame.

For each frame the network gives the phase of every frequency, and by what its amplitude differs from that of
the inverted mel filters; the inverse Fourier transform of overlapping frames is the waveform. No layer works
at the rate of the samples, which makes it fast on a CPU.
Source: Siuzdak, Vocos: Closing the gap between time-domain and Fourier-based neural vocoders, 2023; the
inverse transform as output: Kaneko et al., iSTFTNet, 2022; amplitudes from the pseudo-inverse of the
filters: Lv et al., FreeV, 2024. The loss: Yamamoto et al., Parallel WaveGAN, 2020, section 2.2. There is no
discriminator here.
"""

import math
from functools import lru_cache
from typing import Any

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import exp, log, maximum, minimum, polar, sqrt
from ...ops.spectral import istft, stft
from ..griffin_lim import griffin_lim, mel_to_amplitude
from ..windows import get_window
from .sound import LEAST, MelSettings

__all__ = ["ConvBlock", "Vocoder", "spectral_loss"]

INVERSIONS = 20  # steps of the inversion of the mel filters
FLOOR = 1e-3  # smaller amplitudes count as this in the losses
EDGE = 2
SHORTEST = 8  # frames that Griffin-Lim needs at least
RESOLUTIONS = ((256, 64), (512, 128), (1024, 256))  # (samples of a transform, samples between two)


@lru_cache(maxsize=8)
def _hann(length: int) -> Tensor:
    return get_window("hann", length, dtype="float32")


class ConvBlock(nn.Layer):
    """x + a depthwise convolution over time, norm, and two linear layers with GELU between: [batch, time,
    width] to the same shape.

    Source: Liu et al., A ConvNet for the 2020s, 2022, figure 4.
    """

    def __init__(self, width: int, hidden: int, kernel_size: int = 7, dropout: float = 0.0) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise InvalidArgument(f"kernel_size: expected an odd number, got {kernel_size}")
        self.depthwise = nn.Conv1D(width, width, kernel_size, padding=kernel_size // 2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Any, valid: Any = None) -> Any:
        """valid: float [batch, time, 1], 0 in padding, or None; padding gives 0."""
        y = self.depthwise(x.transpose([0, 2, 1])).transpose([0, 2, 1])
        y = x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm(y)))))
        return y if valid is None else y * valid


class Vocoder(nn.Layer):
    """Log mel frames [batch, frames, n_mels] to samples [batch, (frames - 1) hop].

    mel: the settings of the frames. width, hidden, num_layers: of the blocks.
    """

    def __init__(
        self, mel: MelSettings | None = None, width: int = 224, hidden: int = 640, num_layers: int = 6
    ) -> None:
        super().__init__()
        self.mel = mel or MelSettings()
        self.first = nn.Conv1D(self.mel.n_mels, width, 7, padding=3)
        self.first_norm = nn.LayerNorm(width)
        self.blocks = nn.LayerList([ConvBlock(width, hidden) for _ in range(num_layers)])
        self.last_norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 2 * (self.mel.n_fft // 2 + 1))

    def spectrum(self, frames: Any) -> tuple[Any, Any]:
        """(ln amplitude, phase) of the frames, each [batch, n_fft // 2 + 1, frames]."""
        if frames.ndim != 3 or frames.shape[2] != self.mel.n_mels or frames.shape[1] < 2:
            raise InvalidArgument(
                f"frames: expected [batch, 2 or more frames, {self.mel.n_mels}], got {list(frames.shape)}"
            )
        frames = frames.transpose([0, 2, 1])
        x = self.first_norm(self.first(frames).transpose([0, 2, 1]))
        for block in self.blocks:
            x = block(x)
        logs, phase = self.last(self.last_norm(x)).transpose([0, 2, 1]).chunk(2, 1)
        logs = logs + self._near(frames)
        return minimum(logs, logs * 0.0 + 6.0), phase  # a bad frame cannot overflow

    def _near(self, frames: Any) -> Tensor:
        """ln amplitude from the inverted mel filters; a constant for the tape."""
        mel = self.mel
        bands = frames.detach().clip(-12.0, 6.0).exp()
        found = mel_to_amplitude(
            bands, mel.sample_rate, mel.n_fft, mel.f_min, mel.f_max, iterations=INVERSIONS
        )
        return log(maximum(found, found * 0.0 + LEAST))

    def sound(self, logs: Any, phase: Any) -> Any:
        """Samples [batch, (frames - 1) hop] of a spectrum."""
        return istft(polar(exp(logs), phase), self.mel.n_fft, self.mel.hop, window=_hann(self.mel.n_fft))

    def forward(self, frames: Any) -> Any:
        return self.sound(*self.spectrum(frames))

    def refined(self, frames: Any, iterations: int = 16) -> Tensor:
        """As forward, with the amplitudes of the mel inversion, and the phase after some iterations of
        Griffin-Lim that begin with the network's; outside the tape."""
        if frames.shape[1] < SHORTEST:
            made: Tensor = self(frames)
            return made
        mel = self.mel
        bands = frames.transpose([0, 2, 1]).clip(-12.0, 6.0).exp()
        size = mel_to_amplitude(bands, mel.sample_rate, mel.n_fft, mel.f_min, mel.f_max, iterations=100)
        return griffin_lim(size, mel.hop, iterations=iterations, phase=self.spectrum(frames)[1])

    def loss(self, frames: Any, wanted: Any) -> tuple[Any, Any]:
        """(`spectral_loss` of the samples, mean |ln| distance of the amplitudes) from the samples [batch,
        (frames - 1) hop] that the frames are of."""
        logs, phase = self.spectrum(frames)
        target = log(_amplitude(wanted, self.mel.n_fft, self.mel.hop))
        inner = maximum(logs, logs * 0.0 + math.log(FLOOR)) - target
        inner = inner[:, :, EDGE:-EDGE]  # the first and last frames see samples that are not in `wanted`
        return spectral_loss(self.sound(logs, phase), wanted, self.mel), inner.abs().mean()


def _amplitude(x: Any, n_fft: int, hop: int) -> Any:
    """|STFT| [batch, frequencies, frames], at least 1e-3."""
    found = stft(x, n_fft, hop, window=_hann(n_fft))
    real, imaginary = found.real(), found.imag()
    power = real * real + imaginary * imaginary
    return sqrt(maximum(power, power * 0.0 + FLOOR**2))


def spectral_loss(made: Any, wanted: Any, mel: MelSettings) -> Any:
    """How far samples [batch, n] are from others, a number: over three resolutions the spectral convergence
    ||W - M|| / ||W|| and the mean |ln W - ln M| of the amplitudes, and the mean distance of log mel frames.

    Source: Yamamoto et al., Parallel WaveGAN, 2020, equations 6 to 8.
    """
    total: Any = 0.0
    for n_fft, hop in RESOLUTIONS:
        m, w = _amplitude(made, n_fft, hop), _amplitude(wanted, n_fft, hop)
        total = total + sqrt(((w - m) ** 2).sum()) / sqrt((w**2).sum()) + (log(w) - log(m)).abs().mean()
    distance = (mel.log_mel(made) - mel.log_mel(wanted)).abs().mean()
    return total / len(RESOLUTIONS) + distance
