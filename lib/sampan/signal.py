"""Short-time Fourier transforms and frames of signals, by Paddle's names."""

from .ops.spectral import frame as frame
from .ops.spectral import istft, stft
from .ops.spectral import overlap_add as overlap_add

__all__ = ["istft", "stft"]
