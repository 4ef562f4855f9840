"""GoogLeNet (Szegedy et al. 2014): parallel branches of 1x1, 3x3, 5x5 and pooling, with two auxiliary
classifiers."""

from typing import Any

from ... import nn
from ...nn import functional as F
from ...ops import concat
from .blocks import named, uniform, variant

__all__ = ["GoogLeNet", "googlenet"]


def _conv(channels: int, filters: int, kernel_size: int, stride: int = 1) -> nn.Sequential:
    """A convolution without bias."""
    return named(_conv=nn.Conv2D(channels, filters, kernel_size, stride, kernel_size // 2, bias_attr=False))


class Inception(nn.Layer):
    """Four branches: 1x1; 1x1 and 3x3; 1x1 and 5x5; pooling and 1x1."""

    def __init__(self, channels, filter1, filter3r, filter3, filter5r, filter5, proj):
        super().__init__()
        self._conv1 = _conv(channels, filter1, 1)
        self._conv3r = _conv(channels, filter3r, 1)
        self._conv3 = _conv(filter3r, filter3, 3)
        self._conv5r = _conv(channels, filter5r, 1)
        self._conv5 = _conv(filter5r, filter5, 5)
        self._convprj = _conv(channels, proj, 1)

    def forward(self, x: Any) -> Any:
        pooled = self._convprj(F.max_pool2d(x, 3, 1, 1))
        return F.relu(
            concat([self._conv1(x), self._conv3(self._conv3r(x)), self._conv5(self._conv5r(x)), pooled], 1)
        )


_INCEPTIONS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(nn.Layer):
    """[batch, 3, 224, 224] to three outputs [batch, num_classes]: the main one, and the auxiliary ones after
    blocks 4a and 4d."""

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes, self.with_pool = num_classes, with_pool
        self._conv, self._conv_1, self._conv_2 = _conv(3, 64, 7, 2), _conv(64, 64, 1), _conv(64, 192, 3)
        for name, sizes in _INCEPTIONS.items():
            setattr(self, f"_ince{name}", Inception(*sizes))
        if num_classes > 0:
            self._drop = nn.Dropout(0.4, mode="downscale_in_infer")
            self._fc_out = nn.Linear(1024, num_classes, uniform(1024 / 3))
            for i, channels in ((1, 512), (2, 528)):
                setattr(self, f"_conv_o{i}", _conv(channels, 128, 1))
                setattr(self, f"_fc_o{i}", nn.Linear(1152, 1024, uniform(2048 / 3)))
                setattr(self, f"_drop_o{i}", nn.Dropout(0.7, mode="downscale_in_infer"))
                setattr(self, f"_out{i}", nn.Linear(1024, num_classes, uniform(1024 / 3)))

    def forward(self, inputs: Any) -> Any:
        x = F.max_pool2d(self._conv(inputs), 3, 2)
        x = F.max_pool2d(self._conv_2(self._conv_1(x)), 3, 2)
        seen = {}
        for name in _INCEPTIONS:
            x = F.max_pool2d(x, 3, 2) if name in ("4a", "5a") else x
            seen[name] = x = getattr(self, f"_ince{name}")(x)
        outs = [seen["5b"], seen["4a"], seen["4d"]]
        if self.with_pool:
            outs = [F.adaptive_avg_pool2d(outs[0], 1), *(F.avg_pool2d(out, 5, 3) for out in outs[1:])]
        if self.num_classes > 0:
            for i in (1, 2):
                hidden = getattr(self, f"_fc_o{i}")(getattr(self, f"_conv_o{i}")(outs[i]).flatten(1))
                hidden = F.relu(hidden) if i == 1 else hidden  # as in Paddle, the second has no ReLU
                outs[i] = getattr(self, f"_out{i}")(getattr(self, f"_drop_o{i}")(hidden))
            outs[0] = self._fc_out(self._drop(outs[0]).squeeze([2, 3]))
        return tuple(outs)


googlenet = variant("googlenet", GoogLeNet)
