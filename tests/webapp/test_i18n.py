"""Both languages say everything, and every sentence that a page asks for exists."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

from studio import i18n
from studio.grading.verdict import VerdictKind
from studio.paths import LOCALE, PACKAGE, TEMPLATES

PAGES = sorted((TEMPLATES / "pages").glob("*.html"))
# Names and figures that read the same in both languages.
SAME_IN_BOTH = re.compile(r"^[\W\d_]*$|^\{\w+\}( / \{\w+\})?$")
CJK = re.compile(r"[\u4e00-\u9fff]")
FIELD = re.compile(r"\{(\w*)")


def files(lang: str) -> dict[str, dict[str, str]]:
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted((LOCALE / lang).glob("*.json"))}


def test_same_files_and_keys() -> None:
    english, chinese = files("en"), files("zh")
    assert english.keys() == chinese.keys()
    for name in english:
        assert english[name].keys() == chinese[name].keys(), name


def test_same_fields() -> None:
    for key, sentence in i18n.catalog("en").items():
        assert sorted(FIELD.findall(sentence)) == sorted(FIELD.findall(i18n.catalog("zh")[key])), key


def test_nothing_is_left_in_the_other_language() -> None:
    names = {"MLP", "LeNet", "SGD", "Momentum", "Adam", "AdamW", "CPU", "GPU", "CUDA", "MNIST"}
    for key, sentence in i18n.catalog("zh").items():
        english = i18n.catalog("en")[key]
        assert not CJK.search(english), f"{key} in English holds Chinese"
        if sentence == english:
            words = set(re.findall(r"[A-Za-z]+", FIELD.sub("", sentence)))
            assert SAME_IN_BOTH.match(sentence) or words <= names, f"{key} is not translated: {sentence!r}"
        elif re.search(r"[A-Za-z]{2}", FIELD.sub("", english)):
            assert CJK.search(sentence), f"{key} in Chinese holds no Chinese: {sentence!r}"


def test_every_sentence_that_templates_and_code_ask_for_exists() -> None:
    asked: dict[str, str] = {}
    for path in [*PAGES, *PACKAGE.rglob("*.py")]:
        for key in re.findall(r"""\bt\(\s*f?["']([\w.]+)["']""", path.read_text("utf-8")):
            asked[key] = path.name
    assert len(asked) > 40  # the search itself works
    known = i18n.catalog("en")
    missing = {k: f for k, f in asked.items() if k not in known and not _is_prefix(k, known)}
    assert missing == {}


def _is_prefix(key: str, known: dict[str, str]) -> bool:
    """`t("verdict." ~ kind)`: the end is computed; the pages' own tests show each of them."""
    return key.endswith(".") and any(other.startswith(key) for other in known)


def test_no_sentence_of_the_frame_is_unused() -> None:
    text = "".join(path.read_text("utf-8") for path in [*PAGES, *PACKAGE.rglob("*.py")])
    computed = (
        "verdict.broken",
        "verdict.timeout",
        "verdict.refused",
        "verdict.crashed",
        "verdict.unreadable",
        "verdict.cell",
        "verdict.exercise",
        *(f"verdict.{kind}" for kind in get_args(VerdictKind)),
        "copy.cell.",
        *("sessions.day.", "sessions.purpose.", "sessions.state.", "sessions.device."),
        "error.",
    )
    for name in (
        "frame",
        "home",
        "courses",
        "copy",
        "verdict",
        "login",
        "error",
        "sessions",
        "waiting",
        "figure",
    ):
        for key in files("en")[f"{name}.json"]:
            assert f'"{key}"' in text or f"'{key}'" in text or key.startswith(computed), f"{key} is unused"


class _Words(HTMLParser):
    """Collects text and spoken attributes of a template whose Jinja parts were taken out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            v for k, v in attrs if v and k in ("title", "alt", "placeholder", "aria-label", "label")
        ]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_templates_hold_no_words_of_their_own(path: Path) -> None:
    html = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", path.read_text("utf-8"), flags=re.S)
    html = re.sub(r"<code>.*?</code>", "", html)  # commands and names of files are the same in every language
    words = _Words()
    words.feed(html)
    text = " ".join(words.found)
    assert not re.search(r"[A-Za-z\u4e00-\u9fff]", text), f"{path.name} says by itself: {text.split()}"


def test_a_missing_sentence_is_an_error_that_names_it() -> None:
    with pytest.raises(KeyError, match=r"home\.nonsense.*zh"):
        i18n.t("home.nonsense", "zh")
    with pytest.raises(ValueError, match="'fr'"):
        i18n.t("home.title", "fr")


def test_fields_are_filled() -> None:
    assert i18n.t("courses.minutes", "en", minutes=25) == "25 min"
    assert i18n.t("courses.minutes", "zh", minutes=25) == "25 分钟"


@pytest.mark.parametrize(
    ("cookie", "header", "expected"),
    [
        (None, "", "en"),
        (None, "de-DE,de;q=0.9", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "en-GB,zh;q=0.9", "en"),
        (None, "de,en;q=0.5,zh;q=0.7", "zh"),
        (None, "zh;q=0,en;q=0.1", "en"),
        (None, "zh;q=nonsense,en", "en"),
        ("zh", "en-US", "zh"),
        ("klingon", "zh-TW", "zh"),
    ],
)
def test_negotiation(cookie: str | None, header: str, expected: str) -> None:
    assert i18n.negotiate(cookie, header) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("lang=zh&theme=dark&engine=mine", ("zh", "dark", "mine")),
        ("", ("en", "system", "library")),
        ("lang=fr&theme=neon&engine=theirs&token=abc", ("en", "system", "library")),
    ],
)
def test_preferences_inside_a_page(
    monkeypatch: pytest.MonkeyPatch, query: str, expected: tuple[str, str, str]
) -> None:
    monkeypatch.setenv("QUERY_STRING", query)
    assert i18n.page_preferences() == expected


HALF_WIDTH = re.compile(r"[\u4e00-\u9fff“”）][,;:!?]|[,;:!?][\u4e00-\u9fff]")


def test_chinese_has_its_own_punctuation_and_one_form_of_address() -> None:
    written = dict(i18n.catalog("zh"))
    for room in ("compute", "grading", "gradebook", "lessons", "server"):
        for path in (PACKAGE / room).rglob("*.py"):
            written |= {
                f"{path.name}:{n}": line for n, line in enumerate(path.read_text("utf-8").split("\n"), 1)
            }
    assert sum(bool(CJK.search(text)) for text in written.values()) > 400  # the search itself works
    assert {place: text for place, text in written.items() if HALF_WIDTH.search(text) or "您" in text} == {}
