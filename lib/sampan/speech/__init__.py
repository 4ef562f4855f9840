"""Speech, from waveform to text: files, features, augmentation, activity, networks, trained models by name,
decoding, language models, alignment, error rates, live recognition, keywords and speakers."""

from . import nn
from .activity import NeuralVad
from .alignment import Alignment, Span, align
from .augment import add_noise, change_speed, change_volume, reverberate, spec_augment
from .beam import PrefixBeam, prefix_beam
from .cmvn import CmvnStats, OnlineCmvn, cmvn, cmvn_stats, online_cmvn, sliding_cmvn
from .delays import text_delays
from .deltas import StreamingDeltas, deltas
from .detection import area_under_curve, equal_error_rate
from .error_rates import Edit, ErrorRate, cer, edits, error_rate, wer
from .files import AudioInfo, info, load, read_blocks, save
from .greedy import greedy
from .griffin_lim import griffin_lim, mel_to_amplitude
from .kaldi import FeatureOptions, fbank, mfcc
from .kenlm_file import KenLM
from .keywords import Keyword, KeywordSpotter
from .ngram import NGram
from .noise import make_noise
from .pitch import PitchOptions, StreamingPitch, pitch
from .pitch_features import PitchFeatureOptions, StreamingPitchFeatures, pitch_features
from .pretrained import AudioClassifier, AudioOutput, Inputs, Wav2Vec2Processor
from .recognizer import Delay, StreamingRecognizer, Transcript
from .registry import available_models, find_model, model_card, model_folders
from .resample import StreamingResample, resample
from .speakers import SpeakerModel, trials
from .spectrogram import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from .streaming_features import StreamingFbank, StreamingMfcc
from .tokens import CTCTokens
from .vad import Segment, StreamingVad, detect_speech, energy_vad, segments
from .wav2vec2 import Wav2Vec2Config, Wav2Vec2Encoder, Wav2Vec2ForCTC
from .windows import get_window

# fmt: off
__all__ = [
    "MFCC", "Alignment", "AudioClassifier", "AudioInfo", "AudioOutput", "CTCTokens", "CmvnStats", "Delay",
    "Edit", "ErrorRate", "FeatureOptions", "Inputs", "KenLM", "Keyword", "KeywordSpotter",
    "LogMelSpectrogram", "MelSpectrogram", "NGram", "NeuralVad", "OnlineCmvn", "PitchFeatureOptions",
    "PitchOptions", "PrefixBeam", "Segment", "Span", "SpeakerModel", "Spectrogram", "StreamingDeltas",
    "StreamingFbank", "StreamingMfcc", "StreamingPitch", "StreamingPitchFeatures", "StreamingRecognizer",
    "StreamingResample", "StreamingVad", "Transcript", "Wav2Vec2Config", "Wav2Vec2Encoder",
    "Wav2Vec2ForCTC", "Wav2Vec2Processor", "add_noise", "align", "area_under_curve", "available_models",
    "cer", "change_speed", "change_volume", "cmvn", "cmvn_stats", "deltas", "detect_speech", "edits",
    "energy_vad", "equal_error_rate", "error_rate", "fbank", "find_model", "get_window", "greedy",
    "griffin_lim", "info", "load", "make_noise", "mel_to_amplitude", "mfcc", "model_card", "model_folders",
    "nn", "online_cmvn", "pitch", "pitch_features", "prefix_beam", "read_blocks", "resample", "reverberate",
    "save", "segments", "sliding_cmvn", "spec_augment", "text_delays", "trials", "wer",
]
# fmt: on
