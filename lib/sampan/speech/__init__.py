"""Speech, from waveform to text: files, features and their streaming forms, augmentation, activity, decoding,
language models, alignment and error rates."""

from .alignment import Alignment, Span, align
from .augment import add_noise, change_speed, change_volume, reverberate, spec_augment
from .beam import PrefixBeam, prefix_beam
from .cmvn import CmvnStats, OnlineCmvn, cmvn, cmvn_stats, online_cmvn, sliding_cmvn
from .deltas import StreamingDeltas, deltas
from .error_rates import Edit, ErrorRate, cer, edits, error_rate, wer
from .files import AudioInfo, info, load, read_blocks, save
from .greedy import greedy
from .kaldi import FeatureOptions, fbank, mfcc
from .ngram import NGram
from .resample import StreamingResample, resample
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .vad import Segment, StreamingVad, detect_speech, energy_vad, segments
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC",
    "Alignment",
    "AudioInfo",
    "CmvnStats",
    "Edit",
    "ErrorRate",
    "FeatureOptions",
    "LogMelSpectrogram",
    "MelSpectrogram",
    "NGram",
    "OnlineCmvn",
    "PrefixBeam",
    "Segment",
    "Span",
    "Spectrogram",
    "StreamingDeltas",
    "StreamingFbank",
    "StreamingMfcc",
    "StreamingResample",
    "StreamingVad",
    "add_noise",
    "align",
    "cer",
    "change_speed",
    "change_volume",
    "cmvn",
    "cmvn_stats",
    "deltas",
    "detect_speech",
    "edits",
    "energy_vad",
    "error_rate",
    "fbank",
    "get_window",
    "greedy",
    "info",
    "load",
    "mfcc",
    "online_cmvn",
    "prefix_beam",
    "read_blocks",
    "resample",
    "reverberate",
    "save",
    "segments",
    "sliding_cmvn",
    "spec_augment",
    "wer",
]
# fmt: on
