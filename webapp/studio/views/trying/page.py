"""The page "Try it": a tab for each kind of input that models take (`studio.models.INPUTS`)."""

from __future__ import annotations

from ..common import visitor
from ..common.parts_page import PartsPage
from .part import DigitPart, SoundPart, WordPart


class TryPage(PartsPage):
    def __init__(self, lang: str = "en") -> None:
        parts = {part.kind: part(lang) for part in (SoundPart, DigitPart, WordPart)}
        super().__init__(
            lang, "try", parts, ("train.css", "sparse.css", "embeddings.css", "speech.css"), tabs=True
        )


def visitor_page() -> TryPage:
    """The page in the visitor's language, as created by the notebook."""
    return TryPage(visitor.language())
