"""Speech, from the waveform on: files, features and their streaming forms."""

from .files import AudioInfo, info, load, read_blocks, save
from .kaldi import FeatureOptions, fbank, mfcc
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "AudioInfo", "FeatureOptions", "LogMelSpectrogram", "MelSpectrogram", "Spectrogram",
    "StreamingFbank", "StreamingMfcc", "fbank", "get_window", "info", "load", "mfcc", "read_blocks", "save",
]
# fmt: on
