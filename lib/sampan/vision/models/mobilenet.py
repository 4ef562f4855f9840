"""MobileNet 1 (Howard et al. 2017), 2 (Sandler et al. 2018) and 3 (Howard et al. 2019)."""

from functools import partial
from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import Classifier, ConvNormActivation, make_divisible, named, variant

__all__ = [
    "MobileNetV1",
    "MobileNetV2",
    "MobileNetV3Large",
    "MobileNetV3Small",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]


def _separable(channels: int, out_channels: int, stride: int) -> nn.Sequential:
    """Depthwise separable convolution: 3x3 depthwise, then 1x1 pointwise."""
    depthwise = ConvNormActivation(channels, channels, 3, stride, groups=channels)
    return named(_depthwise_conv=depthwise, _pointwise_conv=ConvNormActivation(channels, out_channels, 1))


# name: channels, stride
_V1 = {
    "conv2_1": (64, 1),
    "conv2_2": (128, 2),
    "conv3_1": (128, 1),
    "conv3_2": (256, 2),
    "conv4_1": (256, 1),
    "conv4_2": (512, 2),
    **{f"conv5_{i}": (512, 1) for i in range(1, 6)},
    "conv5_6": (1024, 2),
    "conv6": (1024, 1),
}


class MobileNetV1(Classifier):
    """[batch, 3, H, W] to [batch, num_classes]. scale: factor on the numbers of channels."""

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        self.conv1 = ConvNormActivation(3, int(32 * scale), 3, 2)
        channels = int(32 * scale)
        for name, (out, stride) in _V1.items():
            setattr(self, name, _separable(channels, int(out * scale), stride))
            channels = int(out * scale)
        if num_classes > 0:
            self.fc = nn.Linear(channels, num_classes)

    def features(self, x: Any) -> Any:
        x = self.conv1(x)
        for name in _V1:
            x = getattr(self, name)(x)
        return x


class InvertedResidual(nn.Layer):
    """1x1 expansion, 3x3 depthwise, 1x1 projection, with a residual connection if the shape is unchanged."""

    def __init__(self, inp, oup, stride, expand_ratio):
        super().__init__()
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        first = [] if expand_ratio == 1 else [ConvNormActivation(inp, hidden, 1, activation_layer=nn.ReLU6)]
        middle = ConvNormActivation(hidden, hidden, 3, stride, groups=hidden, activation_layer=nn.ReLU6)
        self.conv = nn.Sequential(
            *first, middle, nn.Conv2D(hidden, oup, 1, bias_attr=False), nn.BatchNorm2D(oup)
        )

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# expansion, channels, blocks, stride of the first block
_V2 = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


class MobileNetV2(Classifier):
    """[batch, 3, H, W] to [batch, num_classes]. scale: factor on the numbers of channels."""

    _head = "classifier"

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        channels, last = make_divisible(32 * scale), make_divisible(1280 * max(1.0, scale))
        layers: list[nn.Layer] = [ConvNormActivation(3, channels, 3, 2, activation_layer=nn.ReLU6)]
        for ratio, width, count, stride in _V2:
            for i in range(count):
                out = make_divisible(width * scale)
                layers.append(InvertedResidual(channels, out, stride if i == 0 else 1, ratio))
                channels = out
        self.features = nn.Sequential(
            *layers, ConvNormActivation(channels, last, 1, activation_layer=nn.ReLU6)
        )
        if num_classes > 0:
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, num_classes))


class SqueezeExcitation(nn.Layer):
    """Squeeze and excitation (Hu et al. 2018): scales each channel by a gate computed from the channel
    means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2D(channels, squeezed, 1), nn.Conv2D(squeezed, channels, 1)

    def _scale(self, x: Any) -> Any:
        return F.hardsigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))))

    def forward(self, x: Any) -> Any:
        return self._scale(x) * x


_norm = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)


class InvertedResidualSE(nn.Layer):
    """MobileNetV2's block, with squeeze and excitation if `use_se`."""

    def __init__(self, channels, kernel, wide, out, use_se, activation, stride):
        super().__init__()
        self.use_res_connect = stride == 1 and channels == out
        conv = partial(ConvNormActivation, norm_layer=_norm, activation_layer=activation)
        self.expand_conv = conv(channels, wide, 1) if channels != wide else None
        self.bottleneck_conv = conv(wide, wide, kernel, stride, groups=wide)
        self.mid_se = SqueezeExcitation(wide, make_divisible(wide // 4)) if use_se else None
        self.linear_conv = ConvNormActivation(wide, out, 1, norm_layer=_norm, activation_layer=None)

    def forward(self, x: Any) -> Any:
        out = x if self.expand_conv is None else self.expand_conv(x)
        out = self.bottleneck_conv(out)
        out = self.linear_conv(out if self.mid_se is None else self.mid_se(out))
        return x + out if self.use_res_connect else out


class MobileNetV3(Classifier):
    """[batch, 3, H, W] to [batch, num_classes]. scale: factor on the numbers of channels.

    blocks: kernel, expanded channels, channels, squeeze and excitation, hardswish instead of relu, stride.
    """

    _head = "classifier"

    def __init__(self, blocks, last_channel, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        conv = partial(ConvNormActivation, norm_layer=_norm, activation_layer=nn.Hardswish)
        channels, layers = make_divisible(16 * scale), []
        self.conv = conv(3, channels, 3, 2)
        for kernel, wide, width, squeeze, hard, stride in blocks:
            out, act = make_divisible(width * scale), nn.Hardswish if hard else nn.ReLU
            inner = make_divisible(wide * scale)
            layers.append(InvertedResidualSE(channels, kernel, inner, out, squeeze, act, stride))
            channels = out
        self.blocks = nn.Sequential(*layers)
        self.lastconv = conv(channels, channels * 6, 1)
        if num_classes > 0:
            last = make_divisible(last_channel * scale)
            hidden = [nn.Linear(channels * 6, last), nn.Hardswish(), nn.Dropout(0.2)]
            self.classifier = nn.Sequential(*hidden, nn.Linear(last, num_classes))

    def features(self, x: Any) -> Any:
        return self.lastconv(self.blocks(self.conv(x)))


_SMALL = [
    (3, 16, 16, 1, 0, 2),
    (3, 72, 24, 0, 0, 2),
    (3, 88, 24, 0, 0, 1),
    (5, 96, 40, 1, 1, 2),
    (5, 240, 40, 1, 1, 1),
    (5, 240, 40, 1, 1, 1),
    (5, 120, 48, 1, 1, 1),
    (5, 144, 48, 1, 1, 1),
    (5, 288, 96, 1, 1, 2),
    (5, 576, 96, 1, 1, 1),
    (5, 576, 96, 1, 1, 1),
]
_LARGE = [
    (3, 16, 16, 0, 0, 1),
    (3, 64, 24, 0, 0, 2),
    (3, 72, 24, 0, 0, 1),
    (5, 72, 40, 1, 0, 2),
    (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1),
    (3, 240, 80, 0, 1, 2),
    (3, 200, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1),
    (3, 672, 112, 1, 1, 1),
    (5, 672, 160, 1, 1, 2),
    (5, 960, 160, 1, 1, 1),
    (5, 960, 160, 1, 1, 1),
]


class MobileNetV3Small(MobileNetV3):
    __doc__ = MobileNetV3.__doc__

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_SMALL, 1024, scale, num_classes, with_pool)


class MobileNetV3Large(MobileNetV3):
    __doc__ = MobileNetV3.__doc__

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_LARGE, 1280, scale, num_classes, with_pool)


mobilenet_v1 = variant("mobilenet_v1", MobileNetV1, "scale=1.0")
mobilenet_v2 = variant("mobilenet_v2", MobileNetV2, "scale=1.0")
mobilenet_v3_small = variant("mobilenet_v3_small", MobileNetV3Small, "scale=1.0")
mobilenet_v3_large = variant("mobilenet_v3_large", MobileNetV3Large, "scale=1.0")
