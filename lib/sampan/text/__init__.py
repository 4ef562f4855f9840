"""Texts: words and characters as numbers, decoding of tags, and data sets from local files."""

# ruff: noqa: F405 - `__all__` lists what the stars bring

from .datasets import *  # noqa: F403
from .tokenizers import *  # noqa: F403
from .viterbi import *  # noqa: F403
from .vocabulary import *  # noqa: F403
from .word_vectors import WordVectors as WordVectors

# What Paddle's `text` lists.
# fmt: off
__all__ = [
    "WMT14", "WMT16", "Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "ViterbiDecoder",
    "viterbi_decode",
]
# fmt: on
