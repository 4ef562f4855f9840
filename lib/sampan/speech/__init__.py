"""Speech: from waveform to text. Files, features and their streaming forms, networks, trained models by name,
and live recognition."""

from . import nn
from .files import AudioInfo, info, load, read_blocks, save
from .kaldi import FeatureOptions, fbank, mfcc
from .pretrained import AudioClassifier, AudioOutput, Inputs, Wav2Vec2Processor
from .recognizer import Delay, StreamingRecognizer, Transcript
from .registry import available_models, find_model, model_card, model_folders
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .tokens import CTCTokens
from .wav2vec2 import Wav2Vec2Config, Wav2Vec2Encoder, Wav2Vec2ForCTC
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "AudioClassifier", "AudioInfo", "AudioOutput", "CTCTokens", "Delay", "FeatureOptions", "Inputs",
    "LogMelSpectrogram", "MelSpectrogram", "Spectrogram", "StreamingFbank", "StreamingMfcc",
    "StreamingRecognizer", "Transcript", "Wav2Vec2Config", "Wav2Vec2Encoder", "Wav2Vec2ForCTC",
    "Wav2Vec2Processor", "available_models", "fbank", "find_model", "get_window", "info", "load", "mfcc",
    "model_card", "model_folders", "nn", "read_blocks", "save",
]
# fmt: on
