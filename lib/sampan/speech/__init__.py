"""Speech: from waveform to text."""

from . import nn as nn
from .pretrained import *
from .recognizer import *
from .registry import *
from .tokens import *
from .wav2vec2 import *
