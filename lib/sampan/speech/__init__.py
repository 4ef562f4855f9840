"""Speech: from waveform to text. Features and their streaming forms, networks, trained models by name, and
live recognition."""

from . import nn as nn
from .kaldi import FeatureOptions as FeatureOptions
from .kaldi import fbank as fbank
from .kaldi import mfcc as mfcc
from .pretrained import *
from .recognizer import *
from .registry import *
from .streaming_features import StreamingFbank as StreamingFbank
from .streaming_features import StreamingMfcc as StreamingMfcc
from .tokens import *
from .wav2vec2 import *
