"""The page "Speech": sound becomes features and text (listen.py), a text becomes sound (speak.py).

`SpeechPage` only combines them.
"""

from __future__ import annotations

from ..common import visitor
from ..common.parts_page import PartsPage
from .listen import ListenPart
from .speak import SpeakPart

STYLES = ("sparse.css", "graph.css", "speech.css")


class SpeechPage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        self.listen = ListenPart(lang)
        self.speak = SpeakPart(lang, self.listen)
        super().__init__(lang, "speech", {"listen": self.listen, "speak": self.speak}, STYLES)


def visitor_page() -> SpeechPage:
    """The page in the visitor's language, as created by the notebook."""
    return SpeechPage(visitor.language())
