"""Layers from waveforms to features, by Paddle's names."""

from ..speech.spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = ["MFCC", "LogMelSpectrogram", "MelSpectrogram", "Spectrogram"]
