"""Texts as sentences of words, to train word vectors on: `load_corpus("hotel_reviews")`."""

import re
from collections.abc import Iterable

from .download import Progress, print_progress
from .labelled_texts import LABELLED, load_texts

__all__ = ["load_corpus"]

_ENGLISH = re.compile(r"[a-z]+(?:'[a-z]+)*")


def load_corpus(
    name: str, most: int | None = None, download: bool = False, progress: Progress = print_progress
) -> list[list[str]]:
    """The sentences of a set of texts, each a list of its words in order; `most`: at most the first so many
    texts.

    A review or a title is one sentence, segmented by jieba, non-words removed, the training part before the
    test part; this takes a second for each 200,000 characters, some 5 for the hotel reviews. A text in
    English, such as "coriolanus", which is bundled, has a sentence for each paragraph, in lower case. Search,
    checks and errors as in `load`; ValueError for a set without texts, ImportError if jieba is needed but not
    installed.
    """
    from . import card, load_text

    if most is not None and most < 1:
        raise ValueError(f"most: expected None or 1 or more, got {most}")
    readers = {layout.reader for layout in card(name).layouts}
    if readers <= LABELLED.keys():
        bundle = load_texts(name, download, progress)
        return chinese_words((bundle.train.texts + bundle.test.texts)[:most])
    if "text" in readers:
        text = load_text(name, download, progress)
        return english_words((text.train + text.test).split("\n\n")[:most])
    raise ValueError(f"{name} holds no texts: its layouts are {', '.join(sorted(readers))}")


def chinese_words(texts: Iterable[str]) -> list[list[str]]:
    """Each text cut into words, without spaces and punctuation."""
    from ..text.tokenizers import JiebaTokenizer

    cut = JiebaTokenizer().cut
    return [[word for word in cut(text.lower()) if any(c.isalnum() for c in word)] for text in texts]


def english_words(texts: Iterable[str]) -> list[list[str]]:
    """The words of each text in lower case: runs of letters, with apostrophes inside."""
    return [_ENGLISH.findall(text.lower()) for text in texts]
