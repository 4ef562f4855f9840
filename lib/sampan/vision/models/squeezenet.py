"""SqueezeNet (Iandola et al. 2016): fire modules, which squeeze the channels before they expand them."""

from typing import Any

from ... import nn
from ...engine.tensor import InvalidArgument
from ...nn import functional as F
from ...ops import concat
from .blocks import named, variant

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


def _conv(in_channels: int, out_channels: int, kernel_size: int) -> nn.Sequential:
    """Convolution and ReLU."""
    return named(
        _conv=nn.Conv2D(in_channels, out_channels, kernel_size, padding=kernel_size // 2), _relu=nn.ReLU()
    )


class MakeFire(nn.Layer):
    """Fire module: 1x1 to `squeeze` channels, then parallel 1x1 and 3x3 to `expand` channels each."""

    def __init__(self, in_channels: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self._conv = _conv(in_channels, squeeze, 1)
        self._conv_path1 = _conv(squeeze, expand, 1)
        self._conv_path2 = _conv(squeeze, expand, 3)

    def forward(self, x: Any) -> Any:
        x = self._conv(x)
        return concat([self._conv_path1(x), self._conv_path2(x)], 1)


class SqueezeNet(nn.Layer):
    """[batch, 3, H, W] to [batch, num_classes]. version: "1.0", or "1.1" with fewer operations."""

    def __init__(self, version, num_classes=1000, with_pool=True):
        super().__init__()
        if version not in ("1.0", "1.1"):
            raise InvalidArgument(f"version: expected '1.0' or '1.1', got {version!r}")
        self.num_classes, self.with_pool = num_classes, with_pool
        # indices of the blocks that are followed by pooling
        self._pooled = (3, 7) if version == "1.0" else (2, 4)
        channels = 96 if version == "1.0" else 64
        self._conv = nn.Conv2D(3, 96, 7, 2) if version == "1.0" else nn.Conv2D(3, 64, 3, 2, 1)
        for i in range(8):
            wide = 64 * (i // 2 + 1)
            setattr(self, f"_conv{i + 1}", MakeFire(channels, wide // 4, wide))
            channels = 2 * wide
        self._drop = nn.Dropout(0.5, mode="downscale_in_infer")
        self._conv9 = nn.Conv2D(512, num_classes, 1)

    def forward(self, inputs: Any) -> Any:
        x = F.max_pool2d(F.relu(self._conv(inputs)), 3, 2)
        for i in range(1, 9):
            x = getattr(self, f"_conv{i}")(x)
            x = F.max_pool2d(x, 3, 2) if i in self._pooled else x
        if self.num_classes > 0:
            x = self._conv9(self._drop(x))
        return F.adaptive_avg_pool2d(F.relu(x), 1).squeeze([2, 3]) if self.with_pool else x


squeezenet1_0 = variant("squeezenet1_0", SqueezeNet, version="1.0")
squeezenet1_1 = variant("squeezenet1_1", SqueezeNet, version="1.1")
