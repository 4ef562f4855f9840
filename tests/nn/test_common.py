"""Layers that rearrange, beside torch's."""

import torch

from sampan import nn
from tests.nn.beside_torch import same_as_torch


def test_flatten():
    same_as_torch((nn.Flatten, torch.nn.Flatten, (2, 3, 4)))
