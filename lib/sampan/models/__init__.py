"""Networks people know, each in one file."""

from .gpt import GPT as GPT
from .lenet import LeNet as LeNet
from .mlp import MLP as MLP
