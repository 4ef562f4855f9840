"""The page "Embeddings": rows of words (words.py) and of films and people (films.py) that are trained live, and
which rows of a large table to cache (cache.py).

`EmbeddingsPage` only combines them. The library takes seconds to load, so it is loaded in a thread after the page
is shown.
"""

from __future__ import annotations

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from ..common import visitor
from ..common.pieces import begin_each, section
from ..common.widgets import put_up
from .cache import CachePart
from .films import FilmsPart
from .vectors import VectorsPart
from .words import WordsPart


class EmbeddingsPage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang
        self.words, self.films, self.cache = WordsPart(lang), FilmsPart(lang), CachePart(lang)
        self.parts: tuple[VectorsPart | CachePart, ...] = (self.words, self.films, self.cache)
        for one, other in ((self.words, self.films), (self.films, self.words)):
            # The default binds the loop variable.
            one.others_learn = lambda other=other: other.run is not None and other.run.alive  # type: ignore[misc]
        style = "".join(
            (STATIC / name).read_text("utf-8") for name in ("train.css", "sparse.css", "embeddings.css")
        )
        opening = widgets.HTML(f'<style>{style}</style><p class="sp-lead">{self._t("lead")}</p>')
        sections = [
            section(self._t(f"heading.{name}"), self._t(f"lead.{name}"), part.root)
            for name, part in (("words", self.words), ("films", self.films), ("cache", self.cache))
        ]
        self.root = widgets.VBox([opening, *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and starts each part, or shows the error in it, because the visitor does not see the
        kernel's log. Runs in a thread after the page is shown."""
        begin_each(self.parts, self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"embeddings.{key}", self.lang)


def visitor_page() -> EmbeddingsPage:
    """The page in the visitor's language, as created by the notebook."""
    return EmbeddingsPage(visitor.language())
