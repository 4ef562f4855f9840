"""What the page "Embeddings" learns from: texts cut into words, and who liked which film. Nothing here knows a widget.

Everything that is on this machine is offered, the richest first; the play and the made log are always there.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

CHINESE = ("hotel_reviews", "shopping_reviews", "takeaway_reviews", "news_titles")  # cut into words by jieba
ENGLISH = ("tinyshakespeare", "coriolanus")
MADE, MOVIELENS = "made_log", "movielens_latest_small"
LOG_ROWS, LOG_ITEMS = 60_000, 4_000  # of the made log


def texts() -> list[str]:
    """The texts that can be learned from here."""
    from sampan import datasets

    here = set(datasets.available())
    chinese = CHINESE if find_spec("jieba") else ()
    return [name for name in (*chinese, *ENGLISH) if name in here]


@lru_cache(1)
def sentences(name: str) -> list[list[str]]:
    """The words of a text, sentence by sentence. Cutting takes seconds: the last text is kept."""
    from sampan.datasets.corpora import load_corpus

    return load_corpus(name)


def logs() -> list[str]:
    """The logs that can be learned from here."""
    from sampan import datasets

    return [MOVIELENS, MADE] if MOVIELENS in datasets.available() else [MADE]


def ratings(name: str) -> Any:
    """A log by name: `sampan.datasets.interactions.Ratings`. KeyError for another name."""
    from sampan.datasets import interactions

    if name == MADE:
        return interactions.made_log(LOG_ROWS, LOG_ITEMS)
    if name == MOVIELENS:
        return interactions.load_ratings(name)
    raise KeyError(f"no log {name}")


def language(name: str) -> str:
    """Of a text's words, as HTML has it."""
    return "zh" if name in CHINESE else "en"
