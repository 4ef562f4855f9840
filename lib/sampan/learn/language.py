"""The language of what a notebook of a course prints: English or Chinese."""

from .cases import Text

LANGUAGES = ("en", "zh")
_chosen = 0  # the place of the language in LANGUAGES and in a Text


def language(lang: str) -> None:
    """Hints, checks and predictions are printed in `lang` from now on: "en" (the default) or "zh".

    The Chinese copy of a notebook calls this in its first code cell. Raises `ValueError` for another
    language.
    """
    global _chosen
    if lang not in LANGUAGES:
        raise ValueError(f"language: lang must be 'en' or 'zh', got {lang!r}")
    _chosen = LANGUAGES.index(lang)


def say(text: Text) -> str:
    """The text in the language that was chosen."""
    return text[_chosen]
