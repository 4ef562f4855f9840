"""ShuffleNet v2 (Ma et al. 2018): each unit transforms one half of the channels, then shuffles all."""

from typing import Any

from ... import nn
from ...nn import functional as F
from ...ops import concat
from .blocks import Classifier, ConvNormActivation, variant

__all__ = [
    "ShuffleNetV2",
    "shufflenet_v2_swish",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x0_25",
    "shufflenet_v2_x0_33",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def _mixed(a: Any, b: Any) -> Any:
    """Channel shuffle: the channels of a and b interleaved."""
    n, channels, height, width = a.shape
    both = concat([a, b], 1).reshape([n, 2, channels, height, width])
    return both.transpose([0, 2, 1, 3, 4]).reshape([n, 2 * channels, height, width])


class InvertedResidual(nn.Layer):
    """1x1, 3x3 depthwise and 1x1 convolutions of the second half of the channels; the first half is
    unchanged."""

    def __init__(self, half: int, act: Any) -> None:
        super().__init__()
        self._conv_pw = ConvNormActivation(half, half, 1, activation_layer=act)
        self._conv_dw = ConvNormActivation(half, half, 3, groups=half, activation_layer=None)
        self._conv_linear = ConvNormActivation(half, half, 1, activation_layer=act)

    def forward(self, x: Any) -> Any:
        half = x.shape[1] // 2
        return _mixed(x[:, :half], self._conv_linear(self._conv_dw(self._conv_pw(x[:, half:]))))


class InvertedResidualDS(nn.Layer):
    """Downsampling unit: two branches over all channels, with stride 2."""

    def __init__(self, channels: int, half: int, act: Any) -> None:
        super().__init__()
        self._conv_dw_1 = ConvNormActivation(channels, channels, 3, 2, groups=channels, activation_layer=None)
        self._conv_linear_1 = ConvNormActivation(channels, half, 1, activation_layer=act)
        self._conv_pw_2 = ConvNormActivation(channels, half, 1, activation_layer=act)
        self._conv_dw_2 = ConvNormActivation(half, half, 3, 2, groups=half, activation_layer=None)
        self._conv_linear_2 = ConvNormActivation(half, half, 1, activation_layer=act)

    def forward(self, x: Any) -> Any:
        second = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(x)))
        return _mixed(self._conv_linear_1(self._conv_dw_1(x)), second)


_WIDTHS = {
    0.25: (24, 48, 96, 512),
    0.33: (32, 64, 128, 512),
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (224, 488, 976, 2048),
}


class ShuffleNetV2(Classifier):
    """[batch, 3, H, W] to [batch, num_classes]. scale: factor on the numbers of channels; act: "relu" or
    "swish"."""

    _head = "_fc"

    def __init__(self, scale=1.0, act="relu", num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        if scale not in _WIDTHS:
            raise NotImplementedError(
                f"ShuffleNetV2: scale: expected one of {', '.join(map(str, _WIDTHS))}, got {scale}"
            )
        if act not in ("relu", "swish", None):
            raise RuntimeError(f"ShuffleNetV2: act: expected 'relu', 'swish' or None, got {act!r}")
        layer = {"relu": nn.ReLU, "swish": nn.Swish, None: None}[act]
        *widths, last = _WIDTHS[scale]
        self._conv1 = ConvNormActivation(3, 24, 3, 2, activation_layer=layer)
        channels, self._order = 24, []
        for stage, (width, count) in enumerate(zip(widths, (4, 8, 4), strict=True), 2):
            for i in range(1, count + 1):
                half = width // 2
                block = InvertedResidual(half, layer) if i > 1 else InvertedResidualDS(channels, half, layer)
                self._order.append(self.add_sublayer(f"{stage}_{i}", block))
            channels = width
        self._last_conv = ConvNormActivation(channels, last, 1, activation_layer=layer)
        if num_classes > 0:
            self._fc = nn.Linear(last, num_classes)

    def features(self, x: Any) -> Any:
        x = F.max_pool2d(self._conv1(x), 3, 2, 1)
        for block in self._order:
            x = block(x)
        return self._last_conv(x)


(
    shufflenet_v2_x0_25,
    shufflenet_v2_x0_33,
    shufflenet_v2_x0_5,
    shufflenet_v2_x1_0,
    shufflenet_v2_x1_5,
    shufflenet_v2_x2_0,
) = (variant(f"shufflenet_v2_x{n}".replace(".", "_"), ShuffleNetV2, scale=n) for n in _WIDTHS)
shufflenet_v2_swish = variant("shufflenet_v2_swish", ShuffleNetV2, scale=1.0, act="swish")
