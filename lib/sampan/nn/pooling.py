"""Pooling as layers, over [batch, channels, ...]."""

import warnings
from collections.abc import Callable
from typing import Any

from ..engine.tensor import Tensor
from . import functional as F
from .function_layer import FunctionLayer
from .layer import alias

# fmt: off
__all__ = [
    "AdaptiveAvgPool1D", "AdaptiveAvgPool1d", "AdaptiveAvgPool2D", "AdaptiveAvgPool2d", "AdaptiveAvgPool3D",
    "AdaptiveAvgPool3d", "AdaptiveMaxPool1D", "AdaptiveMaxPool1d", "AdaptiveMaxPool2D", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3D", "AdaptiveMaxPool3d", "AvgPool1D", "AvgPool2D", "AvgPool3D", "FractionalMaxPool2D",
    "FractionalMaxPool3D", "LPPool1D", "LPPool1d", "LPPool2D", "LPPool2d", "MaxPool1D", "MaxPool2D",
    "MaxPool3D", "MaxUnPool1D", "MaxUnPool2D", "MaxUnPool3D", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]
# fmt: on


class _Pool(FunctionLayer, shows="kernel_size stride padding"):
    """Pooling by windows; stride is the window's size unless given. See the function for the settings."""

    # Paddle's names in two and three dimensions.
    ksize, divisor = alias("kernel_size"), alias("divisor_override")


class AvgPool1D(_Pool, of=F.avg_pool1d):
    """The mean of each window. exclusive: padding is not counted."""


class AvgPool2D(_Pool, of=F.avg_pool2d):
    """The mean of each window. exclusive: padding is not counted; divisor_override: divide by this
    instead."""


class AvgPool3D(_Pool, of=F.avg_pool3d):
    """The mean of each window. exclusive: padding is not counted; divisor_override: divide by this
    instead."""


class _MaxPool(_Pool):
    forward: Callable[..., Any]  # a Tensor, or two with return_mask


class MaxPool1D(_MaxPool, of=F.max_pool1d):
    """The largest value of each window."""


class MaxPool2D(_MaxPool, of=F.max_pool2d):
    """The largest value of each window."""


class MaxPool3D(_MaxPool, of=F.max_pool3d):
    """The largest value of each window."""


class LPPool1D(_Pool, of=F.lp_pool1d, shows="norm_type kernel_size stride padding"):
    """(sum of x^p)^(1/p) over each window, p = norm_type."""


class LPPool2D(_Pool, of=F.lp_pool2d, shows="norm_type kernel_size stride padding"):
    """(sum of x^p)^(1/p) over each window, p = norm_type."""


class _Adaptive(FunctionLayer, shows="output_size"):
    """Windows chosen so that the output has `output_size` (None keeps an axis)."""


class AdaptiveAvgPool1D(_Adaptive, of=F.adaptive_avg_pool1d):
    """Means of windows chosen so that the output has `output_size`."""


class AdaptiveAvgPool2D(_Adaptive, of=F.adaptive_avg_pool2d, private="*"):
    """Means of windows chosen so that the output has `output_size` (a number or (H, W); None keeps that
    axis)."""


class AdaptiveAvgPool3D(_Adaptive, of=F.adaptive_avg_pool3d, private="*"):
    """Means of windows chosen so that the output has `output_size` (a number or (D, H, W); None keeps that
    axis)."""


class _AdaptiveMax(FunctionLayer, shows="output_size return_mask"):
    """The largest values of windows chosen so that the output has `output_size`."""

    forward: Callable[..., Any]


class AdaptiveMaxPool1D(_AdaptiveMax, of=F.adaptive_max_pool1d):
    """The largest values of windows chosen so that the output has `output_size`."""


class AdaptiveMaxPool2D(_AdaptiveMax, of=F.adaptive_max_pool2d, private="*"):
    """The largest values of windows chosen so that the output has `output_size`."""


class AdaptiveMaxPool3D(_AdaptiveMax, of=F.adaptive_max_pool3d, private="*"):
    """The largest values of windows chosen so that the output has `output_size`."""


class FractionalMaxPool2D(_AdaptiveMax, of=F.fractional_max_pool2d, private="*"):
    """The largest values of windows of random lengths (Graham, 2014)."""


class FractionalMaxPool3D(_AdaptiveMax, of=F.fractional_max_pool3d, private="*"):
    """The largest values of windows of random lengths (Graham, 2014)."""


class _Unpool(FunctionLayer, inputs=2, shows="output_size"):
    """x put back at the indices that max pooling gave; output_size: the pooled one's, where several fit."""

    def forward(self, x: Any, indices: Any, output_size: Any = None) -> Tensor:
        if output_size:
            warnings.warn("forward's output_size goes before the layer's", stacklevel=2)
        settings = (self.kernel_size, self.stride, self.padding, self.data_format)
        return self._function(x, indices, *settings, output_size or self.output_size)


class MaxUnPool1D(_Unpool, of=F.max_unpool1d):
    """x [batch, channels, length] put back at the indices that MaxPool1D gave."""


class MaxUnPool2D(_Unpool, of=F.max_unpool2d):
    """x [batch, channels, H, W] put back at the indices that MaxPool2D gave."""


class MaxUnPool3D(_Unpool, of=F.max_unpool3d):
    """x [batch, channels, D, H, W] put back at the indices that MaxPool3D gave."""


AdaptiveAvgPool1d, AdaptiveMaxPool1d, LPPool1d = AdaptiveAvgPool1D, AdaptiveMaxPool1D, LPPool1D
AdaptiveAvgPool2d, AdaptiveMaxPool2d, LPPool2d = AdaptiveAvgPool2D, AdaptiveMaxPool2D, LPPool2D
AdaptiveAvgPool3d, AdaptiveMaxPool3d = AdaptiveAvgPool3D, AdaptiveMaxPool3D
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = MaxUnPool1D, MaxUnPool2D, MaxUnPool3D
