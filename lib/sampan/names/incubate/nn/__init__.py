"""Paddle's fused layers, and its fused functions in `functional`, composed from the library's operators."""

from typing import Any

from . import functional as functional
from .layers import FusedBiasDropoutResidualLayerNorm as FusedBiasDropoutResidualLayerNorm
from .layers import FusedDropout as FusedDropout
from .layers import FusedDropoutAdd as FusedDropoutAdd
from .layers import FusedFeedForward as FusedFeedForward
from .layers import FusedLinear as FusedLinear
from .layers import FusedMultiHeadAttention as FusedMultiHeadAttention
from .layers import FusedTransformerEncoderLayer as FusedTransformerEncoderLayer

# fmt: off
__all__ = [
    "FusedBiasDropoutResidualLayerNorm", "FusedDropoutAdd", "FusedFeedForward", "FusedLinear",
    "FusedMultiHeadAttention", "FusedTransformerEncoderLayer",
]
# fmt: on


def __getattr__(name: str) -> Any:
    reason = " does not exist"
    if name in ("FusedMultiTransformer", "FusedTransformer"):
        reason = " is not in Sampan: it is a kernel of a GPU for generation; use the layers of paddle.nn"
    raise AttributeError(f"paddle.incubate.nn.{name}{reason}")
