"""Speech, from the waveform on: files, features and their streaming forms, normalization."""

from .cmvn import CmvnStats, OnlineCmvn, cmvn, cmvn_stats, online_cmvn, sliding_cmvn
from .deltas import StreamingDeltas, deltas
from .files import AudioInfo, info, load, read_blocks, save
from .kaldi import FeatureOptions, fbank, mfcc
from .resample import StreamingResample, resample
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "AudioInfo", "CmvnStats", "FeatureOptions", "LogMelSpectrogram", "MelSpectrogram", "OnlineCmvn",
    "Spectrogram", "StreamingDeltas", "StreamingFbank", "StreamingMfcc", "StreamingResample", "cmvn",
    "cmvn_stats", "deltas", "fbank", "get_window", "info", "load", "mfcc", "online_cmvn", "read_blocks",
    "resample", "save", "sliding_cmvn",
]
# fmt: on
