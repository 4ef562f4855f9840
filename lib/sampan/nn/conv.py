"""Convolution."""

from __future__ import annotations

import math
from typing import Any

from . import functional as F
from .initializer import Normal
from .layer import Layer

# fmt: off
__all__ = [
    "Conv2D",
]
# fmt: on


def pair(value: Any, name: str) -> tuple[int, int]:
    """(height, width) from one number or two. ValueError for anything else."""
    values = (value, value) if isinstance(value, int) else tuple(value)
    if len(values) != 2 or any(not isinstance(v, int) or v < 1 for v in values):
        raise ValueError(f"{name}: expected a positive whole number or two, got {value!r}")
    return values


class Conv2D(Layer):
    """2-D convolution: [batch, in, H, W] to [batch, out, H', W']; weight [out, in / groups, kh, kw], bias [out].

    padding: a number, two, four, "same" or "valid". H' = (H + 2 padding - dilation (kh - 1) - 1) / stride + 1.
    The weight starts Normal(0, sqrt(2 / (in kh kw))), the bias at 0.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups: expected a divisor of {in_channels} and {out_channels} channels, got {groups}"
            )
        if padding_mode != "zeros":
            raise ValueError(f"padding_mode: expected 'zeros', got {padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride, self.dilation = pair(stride, "stride"), pair(dilation, "dilation")
        self.padding, self.data_format = padding, data_format
        std = math.sqrt(2.0 / max(in_channels * math.prod(self.kernel_size), 1))
        shape = [out_channels, in_channels // groups, *self.kernel_size]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Normal(0.0, std))
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, self.data_format
        )

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={list(self.kernel_size)}"
        for name, value, default in (
            ("stride", list(self.stride), [1, 1]),
            ("padding", self.padding, 0),
            ("dilation", list(self.dilation), [1, 1]),
            ("groups", self.groups, 1),
        ):
            text += "" if value == default else f", {name}={value}"
        return f"{text}, data_format={self.data_format}"
