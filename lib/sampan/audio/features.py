"""Layers from waveforms to features, by Paddle's names."""

from ..speech.spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram

__all__ = ["MFCC", "LogMelSpectrogram", "MelSpectrogram", "Spectrogram"]
