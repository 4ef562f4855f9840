"""English and Chinese: `t("home.title", lang)` looks up a sentence in `locale/<lang>/*.json`.

Each JSON file is a flat object of dotted keys; its keys start with the file's name (`train.json`: `train.*`), so
that two people can write pages without editing the same file. Values may contain `{names}`, filled by keyword.
There is no fallback between the languages: a missing sentence is an error, and a test checks that none is missing.
"""

from __future__ import annotations

import json
import os
from functools import cache
from urllib.parse import parse_qs

from .paths import LOCALE

LANGUAGES = ("en", "zh")
NAMES = {"en": "English", "zh": "中文"}  # each in its own language
HTML_LANGUAGE = {"en": "en", "zh": "zh-Hans"}
THEMES = ("system", "light", "dark")
ENGINES = ("library", "mine")  # whose functions a page runs on, see engine.py
LANGUAGE_COOKIE = "sampan_lang"
THEME_COOKIE = "sampan_theme"
ENGINE_COOKIE = "sampan_engine"


@cache
def catalog(lang: str) -> dict[str, str]:
    """All sentences of one language. Raises ValueError for an unknown language or a misplaced key."""
    if lang not in LANGUAGES:
        raise ValueError(f"lang must be one of {', '.join(LANGUAGES)}, got {lang!r}")
    sentences: dict[str, str] = {}
    for path in sorted((LOCALE / lang).glob("*.json")):
        for key, sentence in json.loads(path.read_text("utf-8")).items():
            if key.split(".")[0] != path.stem:
                raise ValueError(f"{path.name} of {lang}: the key {key!r} must start with '{path.stem}.'")
            sentences[key] = sentence
    return sentences


def t(key: str, lang: str, **values: object) -> str:
    """The sentence `key` in `lang` with `{names}` filled from `values`. KeyError names a missing key."""
    sentences = catalog(lang)
    if key not in sentences:
        raise KeyError(f"no sentence {key!r} in the {lang} catalog")
    sentence = sentences[key]
    return sentence.format(**values) if values else sentence


def negotiate(cookie: str | None, accept_language: str) -> str:
    """The visitor's language: their own choice, else the browser's preference, else English."""
    if cookie in LANGUAGES:
        return cookie
    ranked: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept_language.split(",")):
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            continue  # ignore a malformed preference
        language = tag.split("-")[0].lower()
        if language in LANGUAGES and weight > 0:
            ranked.append((-weight, place, language))
    return min(ranked)[2] if ranked else "en"


def of_terminal() -> str:
    """The language of the commands: that of the terminal."""
    text = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return negotiate(None, text.split(".")[0].replace("_", "-"))


def page_preferences() -> tuple[str, str, str]:
    """(language, theme, engine) inside a page's kernel: the server passes the visitor's as the query string."""
    query = parse_qs(os.environ.get("QUERY_STRING", ""))
    given = [query.get(name, [""])[-1] for name in ("lang", "theme", "engine")]
    lang, theme, engine = (
        value if value in choices else choices[0]
        for value, choices in zip(given, (LANGUAGES, THEMES, ENGINES), strict=True)
    )
    return lang, theme, engine
