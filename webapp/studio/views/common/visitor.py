"""What a page's kernel knows of its visitor: the language, and whose functions it runs on."""

from __future__ import annotations

from html import escape

from IPython.display import HTML, display

from sampan import learn
from studio import i18n


def language() -> str:
    """The visitor's language. Their own functions are put into the library first if they chose this."""
    lang, _, engine = i18n.page_preferences()
    if engine == "mine":
        learn.language(lang)
        for slot, error in learn.engine("mine").items():
            words = i18n.t("home.engine_failed", lang, slot=slot, error=error)
            display(HTML(f'<div class="sp-notice is-bad"><p>{escape(words)}</p></div>'))
    return lang
