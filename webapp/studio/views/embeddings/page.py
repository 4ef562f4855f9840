"""The page "Embeddings": rows of words (words.py) and of films and people (films.py) that are trained live, and
which rows of a large table to cache (cache.py).

`EmbeddingsPage` only combines them.
"""

from __future__ import annotations

from ..common import visitor
from ..common.parts_page import PartsPage
from .cache import CachePart
from .films import FilmsPart
from .words import WordsPart


class EmbeddingsPage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        self.words, self.films, self.cache = WordsPart(lang), FilmsPart(lang), CachePart(lang)
        for one, other in ((self.words, self.films), (self.films, self.words)):
            # The default binds the loop variable.
            one.others_learn = lambda other=other: other.run is not None and other.run.alive  # type: ignore[misc]
        parts = {"words": self.words, "films": self.films, "cache": self.cache}
        super().__init__(lang, "embeddings", parts, ("train.css", "sparse.css", "embeddings.css"), tabs=True)


def visitor_page() -> EmbeddingsPage:
    """The page in the visitor's language, as created by the notebook."""
    return EmbeddingsPage(visitor.language())
