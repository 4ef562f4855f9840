"""The training data of the page "Embeddings": texts split into words, and ratings of films. Independent of widgets.
All data on this machine are offered, the largest first; the play and the generated log are always available.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

CHINESE = ("hotel_reviews", "shopping_reviews", "takeaway_reviews", "news_titles")  # cut into words by jieba
ENGLISH = ("tinyshakespeare", "coriolanus")
MADE, MOVIELENS = "made_log", "movielens_latest_small"
LOG_ROWS, LOG_ITEMS = 60_000, 4_000  # of the generated log


def texts(lang: str = "en") -> list[str]:
    """The texts on this machine, those in the visitor's language first."""
    from sampan import datasets

    here = set(datasets.available())
    chinese = CHINESE if find_spec("jieba") else ()
    ordered = (*chinese, *ENGLISH) if lang == "zh" else (*ENGLISH, *chinese)
    return [name for name in ordered if name in here]


@lru_cache(1)
def sentences(name: str) -> list[list[str]]:
    """The words of a text, sentence by sentence. Splitting takes seconds, so the last text is cached."""
    from sampan.datasets.corpora import load_corpus

    return load_corpus(name)


def logs() -> list[str]:
    """The logs of ratings on this machine."""
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
    """The language of a text's words, as an HTML attribute."""
    return "zh" if name in CHINESE else "en"
