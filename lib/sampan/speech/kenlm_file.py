"""Language models in KenLM's binary form, by the optional library `kenlm`.

Such a file holds hashes or compressed tries for queries. Its n-grams cannot be listed, so it gives no
`NGram`, whose arrays the beam search reads. It scores whole texts: the hypotheses of `prefix_beam`, for
example.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument

LN10 = math.log(10.0)
MAGIC = b"mmap lm http://kheafield.com/code"  # how KenLM's binary files begin


def is_binary(path: str | Path) -> bool:
    """Whether a file begins as KenLM's binary files do."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class KenLM:
    """A model that KenLM reads: its binary file, or ARPA. `score` and `perplexity` are those of `NGram`.

    Raises ImportError without the library `kenlm`, and ValueError for a file that it does not read.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            kenlm: Any = importlib.import_module("kenlm")
        except ImportError as error:
            raise ImportError(
                f"{path}: a language model in KenLM's binary form needs the library kenlm: pip install kenlm "
                "(it compiles C++); or read the ARPA file that it was built from with NGram.read"
            ) from error
        try:
            self._model = kenlm.Model(str(path))
        except (OSError, RuntimeError) as error:
            raise InvalidArgument(f"{path}: KenLM does not read it: {error}") from None
        self.order: int = self._model.order

    def score(self, words: Sequence[str], start: bool = True, end: bool = True) -> np.ndarray:
        """The natural log probability of each word, float64 [words], and with `end` one more for `</s>`.

        start: after `<s>`, as the first words of a sentence. Raises ValueError for a text in place of a list,
        and for a word with white space in it.
        """
        if isinstance(words, str):
            raise InvalidArgument(f"words: expected a list of words, got the text {words!r}")
        for word in words:
            if len(word.split()) != 1:
                raise InvalidArgument(f"words: expected words without white space, got {word!r}")
        found = self._model.full_scores(" ".join(words), bos=start, eos=end)
        return np.array([each[0] for each in found]) * LN10

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """e^-mean of the log probabilities of all words and sentence ends."""
        scores = [self.score(words) for words in sentences]
        if not scores:
            raise InvalidArgument("sentences: expected at least one, got none")
        return math.exp(-float(np.concatenate(scores).mean()))
