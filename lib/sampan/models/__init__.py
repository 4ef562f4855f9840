"""Networks people know, each in one file."""

from .lenet import LeNet as LeNet
from .mlp import MLP as MLP
