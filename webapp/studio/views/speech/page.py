"""The page "Speech": sound becomes features and text (listen.py), a text becomes sound (speak.py).

`SpeechPage` only combines them. The library takes seconds to load, so it is loaded in a thread after the page is shown.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from studio.i18n import t
from studio.paths import STATIC

from ..common import visitor
from ..common.pieces import begin_each, section
from ..common.widgets import put_up
from .listen import ListenPart
from .speak import SpeakPart

STYLES = ("sparse.css", "graph.css", "speech.css")


class SpeechPage:
    """`root` is the whole page as one widget; `open()` loads the library and enables it."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang
        self.listen = ListenPart(lang)
        self.speak = SpeakPart(lang, self.listen)
        style = "".join((STATIC / name).read_text("utf-8") for name in STYLES)
        opening = widgets.HTML(f'<style>{style}</style><p class="sp-lead">{self._t("lead")}</p>')
        parts: dict[str, Any] = {"listen": self.listen, "speak": self.speak}
        sections = [
            section(self._t(f"heading.{name}"), self._t(f"lead.{name}"), part.root)
            for name, part in parts.items()
        ]
        self.root = widgets.VBox([opening, *sections])
        self.root.add_class("sx-page")

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """Imports the library and starts each part, or shows the error in it, because the visitor does not see the
        kernel's log. Runs in a thread after the page is shown."""
        begin_each([self.listen, self.speak], self._t("error.library"), self.lang)

    def _t(self, key: str) -> str:
        return t(f"speech.{key}", self.lang)


def visitor_page() -> SpeechPage:
    """The page in the visitor's language, as created by the notebook."""
    return SpeechPage(visitor.language())
