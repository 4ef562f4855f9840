"""DenseNet (Huang et al. 2016): the input of a layer is the concatenation of all earlier outputs of its
block."""

from typing import Any

from ... import nn
from ...engine.tensor import InvalidArgument
from ...nn import functional as F
from ...ops import concat
from .blocks import Classifier, named, uniform, variant

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "densenet264"]


def _norm_conv(channels: int, filters: int, kernel_size: int) -> nn.Sequential:
    conv = nn.Conv2D(channels, filters, kernel_size, padding=kernel_size // 2, bias_attr=False)
    return named(_batch_norm=nn.BatchNorm2D(channels), _relu=nn.ReLU(), _conv=conv)


class DenseLayer(nn.Layer):
    """Concatenates to x `growth` new channels, computed by a 1x1 and a 3x3 convolution."""

    def __init__(self, channels: int, growth: int, bn_size: int, dropout: float) -> None:
        super().__init__()
        self.bn_ac_func1 = _norm_conv(channels, bn_size * growth, 1)
        self.bn_ac_func2 = _norm_conv(bn_size * growth, growth, 3)
        self.dropout_func = nn.Dropout(dropout, mode="downscale_in_infer")

    def forward(self, x: Any) -> Any:
        return concat([x, self.dropout_func(self.bn_ac_func2(self.bn_ac_func1(x)))], 1)


# initial channels, growth rate, layers of the four blocks
_BLOCKS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
    264: (64, 32, (6, 12, 64, 48)),
}


class DenseNet(Classifier):
    """[batch, 3, H, W] to [batch, num_classes]. layers: 121, 161, 169, 201 or 264."""

    _head = "out"

    def __init__(self, layers=121, bn_size=4, dropout=0.0, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        if layers not in _BLOCKS:
            raise InvalidArgument(f"layers: expected one of {', '.join(map(str, _BLOCKS))}, got {layers}")
        channels, growth, blocks = _BLOCKS[layers]
        conv = nn.Conv2D(3, channels, 7, 2, 3, bias_attr=False)
        self.conv1_func = named(_conv=conv, _batch_norm=nn.BatchNorm2D(channels))
        self._order = []
        for i, count in enumerate(blocks, 2):
            block = nn.Sequential()
            for j in range(count):
                block.add_sublayer(f"conv{i}_{j + 1}", DenseLayer(channels, growth, bn_size, dropout))
                channels += growth
            self._order.append(self.add_sublayer(f"db_conv_{i}", block))
            if i - 1 < len(blocks):
                half = named(
                    conv_ac_func=_norm_conv(channels, channels // 2, 1), pool2d_avg=nn.AvgPool2D(2, 2)
                )
                self._order.append(self.add_sublayer(f"tr_conv{i}_blk", half))
                channels //= 2
        self.batch_norm = nn.BatchNorm2D(channels)
        if num_classes > 0:
            self.out = nn.Linear(channels, num_classes, uniform(channels))

    def features(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.conv1_func(x)), 3, 2, 1)
        for part in self._order:
            x = part(x)
        return F.relu(self.batch_norm(x))


densenet121, densenet161, densenet169, densenet201, densenet264 = (
    variant(f"densenet{n}", DenseNet, layers=n) for n in _BLOCKS
)
