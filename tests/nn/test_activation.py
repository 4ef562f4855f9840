"""Layers of activations beside torch's."""

import pytest
import torch

from sampan import nn
from tests.nn.beside_torch import same_as_torch

CASES = {
    "relu": (nn.ReLU, torch.nn.ReLU, (3, 4)),
    "sigmoid": (nn.Sigmoid, torch.nn.Sigmoid, (3, 4)),
    "tanh": (nn.Tanh, torch.nn.Tanh, (3, 4)),
    "gelu": (nn.GELU, torch.nn.GELU, (3, 4)),
    "gelu tanh": (lambda: nn.GELU(True), lambda: torch.nn.GELU("tanh"), (3, 4)),
    "softmax": (lambda: nn.Softmax(1), lambda: torch.nn.Softmax(1), (3, 4, 2)),
    "log softmax": (lambda: nn.LogSoftmax(1), lambda: torch.nn.LogSoftmax(1), (3, 4, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    same_as_torch(CASES[name])
