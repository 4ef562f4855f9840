"""The parts of features as functions, by Paddle's names."""

from ..speech.mel import (
    compute_fbank_matrix,
    create_dct,
    fft_frequencies,
    hz_to_mel,
    mel_frequencies,
    mel_to_hz,
    power_to_db,
)
from ..speech.windows import get_window

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

# fmt: off
__all__ = [
    "compute_fbank_matrix", "create_dct", "fft_frequencies", "get_window", "hz_to_mel", "mel_frequencies",
    "mel_to_hz", "power_to_db",
]
# fmt: on
