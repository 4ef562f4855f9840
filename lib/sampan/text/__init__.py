"""Texts: words and characters as numbers, decoding of tags. Data sets are in `names`, imported
lazily."""

# ruff: noqa: F405 - `__all__` lists what the star imports define

import functools
from typing import TYPE_CHECKING

from .. import lazy
from .tokenizers import *
from .viterbi import *
from .vocabulary import *
from .word_vectors import WordVectors as WordVectors

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ..names import text_datasets
    from ..names.text_datasets import *

    datasets = text_datasets

__getattr__ = functools.partial(lazy.find, __name__)
__dir__ = functools.partial(lazy.names_of, __name__)

# What Paddle's `text` lists.
# fmt: off
__all__ = [
    "WMT14", "WMT16", "Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "ViterbiDecoder",
    "viterbi_decode",
]
# fmt: on
