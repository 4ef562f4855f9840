"""Pooling over [batch, channels, H, W]."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .layer import Layer

# fmt: off
__all__ = [
    "AdaptiveAvgPool2D", "AvgPool2D", "MaxPool2D",
]
# fmt: on


class MaxPool2D(Layer):
    """The largest value of each window; stride is the window's size unless told."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.return_mask, self.ceil_mode, self.data_format = return_mask, ceil_mode, data_format

    def forward(self, x: Any) -> Any:
        return F.max_pool2d(
            x, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode, self.data_format
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2D(Layer):
    """The mean of each window. exclusive: padding is not counted; divisor_override: divide by this instead."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.kernel_size, self.stride, self.padding, self.ceil_mode = kernel_size, stride, padding, ceil_mode
        self.exclusive, self.divisor_override, self.data_format = exclusive, divisor_override, data_format

    def forward(self, x: Any) -> Any:
        return F.avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor_override,
            self.data_format,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2D(Layer):
    """Means of windows chosen so that the output has `output_size` (a number or (H, W); None keeps that axis)."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(name)
        self.output_size, self.data_format = output_size, data_format

    def forward(self, x: Any) -> Any:
        return F.adaptive_avg_pool2d(x, self.output_size, self.data_format)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
