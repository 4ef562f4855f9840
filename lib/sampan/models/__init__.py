"""Networks people know, each in one file."""

from .bert import BERT as BERT
from .bert import MaskedLM as MaskedLM
from .gpt import GPT as GPT
from .lenet import LeNet as LeNet
from .mlp import MLP as MLP
