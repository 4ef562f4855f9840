"""Shared by the networks: convolution with norm and activation, classifier heads, and named variants."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import nn
from ...engine.errors import InvalidArgument, with_name
from ...serialization import load


class ConvNormActivation(nn.Sequential):
    """Convolution, norm and activation; norm and activation may be None. By default padding keeps height and
    width."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm2D,
        activation_layer=nn.ReLU,
        dilation=1,
        bias=None,
    ):
        if padding is None:
            padding = ((np.asarray(kernel_size) - 1) // 2 * dilation).tolist()
        bias = norm_layer is None if bias is None else bias
        conv = nn.Conv2D(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias_attr=bias
        )
        norm = [] if norm_layer is None else [norm_layer(out_channels)]
        super().__init__(conv, *norm, *([] if activation_layer is None else [activation_layer()]))


class Classifier(nn.Layer):
    """`features(x)`, then average pooling (with_pool), then the layer named `_head` (num_classes > 0)."""

    _head = "fc"
    features: Callable[[Any], Any]

    def __init__(self, num_classes: int, with_pool: bool, size: int = 1) -> None:
        super().__init__()
        self.num_classes, self.with_pool = num_classes, with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(size)

    def forward(self, x: Any) -> Any:
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return getattr(self, self._head)(x.flatten(1)) if self.num_classes > 0 else x


def named(**layers: nn.Layer) -> nn.Sequential:
    """A Sequential of layers with these names."""
    return nn.Sequential(*layers.items())


def make_divisible(channels: float, divisor: int = 8) -> int:
    """The multiple of `divisor` nearest to `channels`, at least 0.9 of `channels` (Sandler et al. 2018)."""
    nearest = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * channels else nearest


def uniform(fan_in: float) -> nn.ParamAttr:
    """Initializer: uniform in [-1 / sqrt(fan_in), 1 / sqrt(fan_in)]."""
    return nn.ParamAttr(initializer=nn.initializer.Uniform(-(fan_in**-0.5), fan_in**-0.5))


def variant(name: str, network: Callable[..., Any], *also: str, **fixed: Any) -> Any:
    """The function `name(pretrained=False, **kwargs)`, which constructs `network` with the arguments `fixed`.

    also: further parameters of its signature with their defaults, such as "scale=1.0".
    """

    def make(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        settings = {**bound.arguments.pop("kwargs"), **bound.arguments, **fixed}
        pretrained = settings.pop("pretrained")
        if pretrained is True:
            raise InvalidArgument(
                "pretrained: expected False or the path of a local .pdparams file, got True: nothing is "
                f"downloaded here; fetch {name}'s file, then call {name}(pretrained='the/file.pdparams')"
            )
        net = network(**settings)
        if pretrained:
            net.set_state_dict(load(pretrained))
        return net

    signature = inspect.signature(eval(f"lambda {', '.join(['pretrained=False', *also])}, **kwargs: None"))
    made = with_name(name, make)
    made.__doc__ = f"{inspect.getdoc(network)}\n\npretrained: False, or the path of a local .pdparams file."
    made.__signature__ = signature
    return made
