"""The pages of the data sets, from a running Studio."""

from __future__ import annotations

import time

import pytest
import requests

from studio import i18n
from tests.webapp.running import Studio

pytestmark = pytest.mark.servers
PATIENCE_S = 90.0


def when_ready(visitor: requests.Session, address: str) -> str:
    """The part of a page that is refreshed, as soon as nothing in it is active."""
    deadline = time.monotonic() + PATIENCE_S
    while "data-active" in (html := visitor.get(address).text):
        assert time.monotonic() < deadline, html
        time.sleep(0.2)
    return html


def test_the_cards_and_a_look(visitor: requests.Session, studio: Studio) -> None:
    began = time.monotonic()
    first = visitor.get(f"{studio.url}studio/datasets")
    assert first.status_code == 200 and time.monotonic() - began < PATIENCE_S / 10  # the cards come later
    assert "data-live" in first.text
    cards = when_ready(visitor, f"{studio.url}studio/datasets/live")
    assert "sampan.datasets.load(&#34;digits&#34;)" in cards and 'id="dataset-wn18rr"' in cards
    look = when_ready(visitor, f"{studio.url}studio/datasets/digits/live")
    assert look.count("data:image/png;base64,") == 24 and "<meter" in look
    visitor.cookies.set(i18n.LANGUAGE_COOKIE, "zh")
    assert i18n.t("datasets.schema", "zh") in visitor.get(f"{studio.url}studio/datasets/digits").text
    assert visitor.get(f"{studio.url}studio/datasets/nothing").status_code == 404
