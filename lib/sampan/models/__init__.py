"""Well-known networks, each in one file."""

from importlib import import_module
from typing import Any

from .bert import BERT as BERT
from .bert import MaskedLM as MaskedLM
from .gpt import GPT as GPT
from .lenet import LeNet as LeNet
from .mlp import MLP as MLP

# These depend on sparse tensors, embeddings, texts and data sets: their files are imported at first use.
_LATER = {
    "BagOfWords": "bag_of_words",
    "PointClassifier": "point_cloud",
    "PointUNet": "point_cloud",
    "WordCharClassifier": "word_char",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    if name in _LATER.values():
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
