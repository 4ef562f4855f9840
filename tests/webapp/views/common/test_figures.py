"""Numbers as people read them, and the pieces of HTML that several pages show."""

from __future__ import annotations

import re

import pytest

from sampan import datasets
from studio.views.common import figures
from tests.webapp.views.tags import Tags


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.0004, "< 0.1 %"),
        (0.5, "50.0 %"),
        (0.9994, "99.9 %"),
        (0.9999, "> 99.9 %"),
    ],
)
def test_a_share_is_never_rounded_to_certainty(value: float, text: str) -> None:
    assert figures.percent(value) == text


def test_foreign_text_is_escaped() -> None:
    html = figures.notice("<script>", bad=True, more="<i>", detail="<u>")
    assert {tag for tag, _ in Tags(html).tags} == {"div", "p", "code"}
    folded = figures.notice("出错", bad=True, detail="<u>", lang="zh")  # the library speaks English
    assert {tag for tag, _ in Tags(folded).tags} == {"div", "p", "code", "details", "summary"}


@pytest.mark.parametrize("name", sorted(datasets.cards()))
def test_a_licence_in_words_has_chinese_ones(name: str) -> None:
    """Names of licences are the same in both languages."""
    card = datasets.card(name)
    shown = card.licence.split(" (")[0]
    assert not re.search("[a-z]{2,} [a-z]{2,}", shown) or re.search("[\u4e00-\u9fff]", card.licence_zh)
    assert (card.licence_zh or shown).split(" (")[0] in figures.origin(card, "", "", "zh")
