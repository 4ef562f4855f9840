"""VGG (Simonyan and Zisserman 2014): 3x3 convolutions in five stages, then three linear layers."""

from typing import Any

from ... import nn
from .blocks import Classifier, variant

__all__ = ["VGG", "vgg11", "vgg13", "vgg16", "vgg19"]


class VGG(Classifier):
    """`features`, then a classifier from [batch, 512, 7, 7] to [batch, num_classes]."""

    _head = "classifier"

    def __init__(self, features, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool, 7)
        self.features = features
        if num_classes > 0:
            hidden = [nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU()]
            self.classifier = nn.Sequential(*hidden, nn.Dropout(), nn.Linear(4096, num_classes))


def make_layers(cfg, batch_norm=False):
    """The convolutional part: a 3x3 convolution for each number of channels in `cfg`, 2x2 max pooling for
    each "M"."""
    layers: list[nn.Layer] = []
    channels = 3
    for width in cfg:
        if width == "M":
            layers.append(nn.MaxPool2D(2, 2))
            continue
        norm = [nn.BatchNorm2D(width)] * batch_norm
        layers += [nn.Conv2D(channels, width, 3, padding=1), *norm, nn.ReLU()]
        channels = width
    return nn.Sequential(*layers)


def _vgg(stages: tuple[int, ...], batch_norm: bool, **settings: Any) -> VGG:
    """VGG; stages: the number of convolutions in each of its five stages."""
    cfg = [v for stage, count in enumerate(stages) for v in (*[min(64 * 2**stage, 512)] * count, "M")]
    return VGG(make_layers(cfg, batch_norm), **settings)


_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
vgg11, vgg13, vgg16, vgg19 = (
    variant(f"vgg{n}", _vgg, "batch_norm=False", stages=stages) for n, stages in _STAGES.items()
)
