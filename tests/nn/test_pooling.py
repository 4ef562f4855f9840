"""Layers of pooling beside torch's."""

import pytest
import torch

from sampan import nn
from tests.nn.beside_torch import same_as_torch

CASES = {
    "max pool": (lambda: nn.MaxPool2D(3, 2, 1), lambda: torch.nn.MaxPool2d(3, 2, 1), (2, 3, 7, 7)),
    "avg pool": (
        lambda: nn.AvgPool2D(2, exclusive=False, padding=1),
        lambda: torch.nn.AvgPool2d(2, padding=1),
        (2, 3, 6, 6),
    ),
    "adaptive pool": (
        lambda: nn.AdaptiveAvgPool2D((2, 3)),
        lambda: torch.nn.AdaptiveAvgPool2d((2, 3)),
        (2, 3, 5, 7),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    same_as_torch(CASES[name])
