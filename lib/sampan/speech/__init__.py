"""Speech: from waveform to text."""

from . import nn as nn
