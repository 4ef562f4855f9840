"""Multilayer perceptron (Rumelhart, Hinton and Williams 1986, with ReLU)."""

from collections.abc import Sequence
from typing import Any

from .. import nn


class MLP(nn.Layer):
    """Linear layers with ReLU between them.

    forward: [batch, ...] with in_features values for each sample, to logits [batch, num_classes].
    """

    def __init__(self, in_features: int, hidden: Sequence[int] = (256,), num_classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Layer] = [nn.Flatten()]
        for size in hidden:
            layers += [nn.Linear(in_features, size), nn.ReLU()]
            in_features = size
        layers.append(nn.Linear(in_features, num_classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return self.layers(x)
