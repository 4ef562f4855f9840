"""Dropout as layers: active in training only."""

from . import functional as F
from .function_layer import FunctionLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout2D", "Dropout3D", "FeatureAlphaDropout"]


class Dropout(
    FunctionLayer, of=F.dropout, takes="p inplace axis mode name", shows="p axis mode name? inplace"
):
    """In training sets each value to 0 with probability p and, by default, scales the others by 1 / (1 - p).

    axis: draw once along the other axes. mode: "upscale_in_train", or "downscale_in_infer" (scale by 1 - p in
    evaluation instead). (Srivastava et al., 2014)
    """


class Dropout2D(FunctionLayer, of=F.dropout2d):
    """Dropout of whole channels of images (Tompson et al., 2015)."""


class Dropout3D(FunctionLayer, of=F.dropout3d):
    """Dropout of whole channels of volumes."""


class AlphaDropout(FunctionLayer, of=F.alpha_dropout):
    """Dropout that keeps mean 0 and variance 1, for networks of SELU (Klambauer et al., 2017)."""


class FeatureAlphaDropout(FunctionLayer, of=F.feature_alpha_dropout):
    """AlphaDropout of whole channels."""
