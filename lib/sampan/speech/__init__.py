"""Speech, from the waveform on: features, their streaming forms, and what augments them."""

from .kaldi import FeatureOptions, fbank, mfcc
from .streaming_features import StreamingFbank, StreamingMfcc

__all__ = ["FeatureOptions", "StreamingFbank", "StreamingMfcc", "fbank", "mfcc"]
