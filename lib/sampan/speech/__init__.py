"""Speech, from the waveform on: files, features and their streaming forms, normalization, augmentation,
activity."""

from .augment import add_noise, change_speed, change_volume, reverberate, spec_augment
from .cmvn import CmvnStats, OnlineCmvn, cmvn, cmvn_stats, online_cmvn, sliding_cmvn
from .deltas import StreamingDeltas, deltas
from .files import AudioInfo, info, load, read_blocks, save
from .kaldi import FeatureOptions, fbank, mfcc
from .resample import StreamingResample, resample
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .vad import Segment, StreamingVad, detect_speech, energy_vad, segments
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "AudioInfo", "CmvnStats", "FeatureOptions", "LogMelSpectrogram", "MelSpectrogram",
    "OnlineCmvn", "Segment", "Spectrogram", "StreamingDeltas", "StreamingFbank", "StreamingMfcc",
    "StreamingResample", "StreamingVad", "add_noise", "change_speed", "change_volume", "cmvn",
    "cmvn_stats", "deltas", "detect_speech", "energy_vad", "fbank", "get_window", "info", "load", "mfcc",
    "online_cmvn", "read_blocks", "resample", "reverberate", "save", "segments", "sliding_cmvn",
    "spec_augment",
]
# fmt: on
