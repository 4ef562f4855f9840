"""Texts: words and characters as numbers, decoding of tags, and data sets from local files."""

from .datasets import *  # noqa: F403
from .tokenizers import *  # noqa: F403
from .viterbi import *  # noqa: F403
from .vocabulary import *  # noqa: F403
from .word_vectors import WordVectors as WordVectors
