"""Speech: from waveform to text. Files, features and their streaming forms, networks, trained models by name,
and live recognition."""

from . import nn
from .augment import add_noise, change_speed, change_volume, reverberate, spec_augment
from .cmvn import CmvnStats, OnlineCmvn, cmvn, cmvn_stats, online_cmvn, sliding_cmvn
from .deltas import StreamingDeltas, deltas
from .files import AudioInfo, info, load, read_blocks, save
from .kaldi import FeatureOptions, fbank, mfcc
from .pretrained import AudioClassifier, AudioOutput, Inputs, Wav2Vec2Processor
from .recognizer import Delay, StreamingRecognizer, Transcript
from .registry import available_models, find_model, model_card, model_folders
from .resample import StreamingResample, resample
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .tokens import CTCTokens
from .vad import Segment, StreamingVad, detect_speech, energy_vad, segments
from .wav2vec2 import Wav2Vec2Config, Wav2Vec2Encoder, Wav2Vec2ForCTC
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "AudioClassifier", "AudioInfo", "AudioOutput", "CTCTokens", "CmvnStats", "Delay",
    "FeatureOptions", "Inputs", "LogMelSpectrogram", "MelSpectrogram", "OnlineCmvn", "Segment",
    "Spectrogram", "StreamingDeltas", "StreamingFbank", "StreamingMfcc", "StreamingRecognizer",
    "StreamingResample", "StreamingVad", "Transcript", "Wav2Vec2Config", "Wav2Vec2Encoder",
    "Wav2Vec2ForCTC", "Wav2Vec2Processor", "add_noise", "available_models", "change_speed", "change_volume",
    "cmvn", "cmvn_stats", "deltas", "detect_speech", "energy_vad", "fbank", "find_model", "get_window",
    "info", "load", "mfcc", "model_card", "model_folders", "nn", "online_cmvn", "read_blocks", "resample",
    "reverberate", "save", "segments", "sliding_cmvn", "spec_augment",
]
# fmt: on
