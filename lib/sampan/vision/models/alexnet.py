"""AlexNet (Krizhevsky, Sutskever and Hinton 2012; layer sizes of Krizhevsky 2014, "One weird trick for
parallelizing convolutional neural networks")."""

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import named, uniform, variant

__all__ = ["AlexNet", "alexnet"]


def _pooled(
    in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int
) -> nn.Sequential:
    """Convolution, ReLU, and 3x3 max pooling with stride 2."""
    start = uniform(in_channels * kernel_size**2)
    conv = nn.Conv2D(
        in_channels, out_channels, kernel_size, stride, padding, weight_attr=start, bias_attr=start
    )
    return named(_conv=conv, _relu=nn.ReLU(), _pool=nn.MaxPool2D(3, 2))


class AlexNet(nn.Layer):
    """[batch, 3, 224, 224] to [batch, num_classes]."""

    def __init__(self, num_classes=1000):
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = _pooled(3, 64, 11, 4, 2)
        self._conv2 = _pooled(64, 192, 5, 1, 2)
        self._conv3 = nn.Conv2D(
            192, 384, 3, padding=1, weight_attr=uniform(192 * 9), bias_attr=uniform(192 * 9)
        )
        self._conv4 = nn.Conv2D(
            384, 256, 3, padding=1, weight_attr=uniform(384 * 9), bias_attr=uniform(384 * 9)
        )
        self._conv5 = _pooled(256, 256, 3, 1, 1)
        if num_classes > 0:
            start = {"weight_attr": uniform(256 * 36), "bias_attr": uniform(256 * 36)}
            self._drop1 = self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = nn.Linear(256 * 36, 4096, **start)
            self._fc7 = nn.Linear(4096, 4096, **start)
            self._fc8 = nn.Linear(4096, num_classes, **start)

    def forward(self, inputs: Any) -> Any:
        x = F.relu(self._conv3(self._conv2(self._conv1(inputs))))
        x = self._conv5(F.relu(self._conv4(x)))
        if self.num_classes > 0:
            x = F.relu(self._fc6(self._drop1(x.flatten(1))))
            x = self._fc8(F.relu(self._fc7(self._drop2(x))))
        return x


alexnet = variant("alexnet", AlexNet)
