"""Texts: decoding of tags, and data sets from local files."""

from .datasets import *  # noqa: F403
from .viterbi import *  # noqa: F403
