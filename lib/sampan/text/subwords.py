"""Sentences of words as numbers, and the n-grams of characters that words are made of."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from ..engine.tensor import InvalidType


def ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """The n-grams of <word>, except < and > themselves, as in fastText.

    Of 早餐, 1 to 2: 早 餐 <早 早餐 餐>.
    """
    text = f"<{word}>"
    spans = ((i, n) for n in range(shortest, longest + 1) for i in range(len(text) - n + 1))
    return [text[i : i + n] for i, n in spans if n > 1 or 0 < i < len(text) - 1]


def fnv1a(text: str) -> int:
    """The 32 bits of FNV-1a of a text in UTF-8, the hash by which fastText assigns n-grams to buckets."""
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def numbered(sentences: Iterable[Sequence[str]]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(each word's number, int32 [N], in the order of first appearance; where each sentence starts, int64
    [sentences + 1]; the words). Raises TypeError for anything but lists of strings, also for a string."""
    if isinstance(sentences, str):
        raise InvalidType("sentences: expected lists of words, got one string")
    numbers: defaultdict[str, int] = defaultdict()
    # A new word has the next number, without Python code per word.
    numbers.default_factory = numbers.__len__
    words, starts = array("i"), array("q", [0])
    for sentence in sentences:
        if isinstance(sentence, str):
            raise InvalidType(
                f"sentences: expected lists of words, got the string {sentence[:20]!r}: cut it first"
            )
        try:
            words.extend(map(numbers.__getitem__, sentence))
        except TypeError as error:
            raise InvalidType(
                f"sentences: expected lists of words, got {type(sentence).__name__}: {error}"
            ) from error
        starts.append(len(words))
    foreign = next((word for word in numbers if not isinstance(word, str)), None)
    if foreign is not None:
        raise InvalidType(f"sentences: expected words that are strings, got {foreign!r}")
    return np.frombuffer(words, np.int32), np.frombuffer(starts, np.int64), list(numbers)
