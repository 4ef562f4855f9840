"""The Embeddings page in a real browser: train words and stop, look for neighbours, solve an analogy, train films,
recommend, see cold rows, move the skew; both languages, phone and dark."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from studio import i18n

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
# Allowed Latin letters on a Chinese page: names and units.
NAMES = {
    *(
        "sampan",
        "english",
        "cpu",
        "jieba",
        "movielens",
        "pca",
        "sne",
        "lru",
        "embedding",
        "monitor",
        "hybridembedding",
    ),
    *("github", "com", "grouplens", "org", "public", "domain"),
}


class EmbeddingsPage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        page.set_default_timeout(OPENING_MS)  # a machine that trains is slow to answer
        began = time.monotonic()
        page.goto(studio_url + "studio/page/embeddings", wait_until="commit")
        page.wait_for_selector(".sx-form select", timeout=OPENING_MS)
        form = time.monotonic() - began
        page.wait_for_selector(".sx-about[data-source]", timeout=OPENING_MS)
        print(f"Embeddings page: form after {form:.1f} s, ready after {time.monotonic() - began:.1f} s")

    def open(self, part: str) -> None:
        """Its tab."""
        self.page.get_by_role("tab", name=self.t(f"heading.{part}"), exact=True).click()
        self.page.wait_for_selector(f".sx-tab-{part}[role=tabpanel]", state="visible")

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"embeddings.{key}", self.lang, **values)

    def press(self, key: str, section: int) -> None:
        where = self.page.locator(".sx-section").nth(section)
        where.get_by_role("button", name=self.t(key), exact=True).first.click()

    def choose(self, label: str, option: str, section: int = 0) -> None:
        where = self.page.locator(".sx-section").nth(section)
        where.get_by_label(self.t(label), exact=True).select_option(label=self.t(option))

    def type(self, label: str, text: str) -> None:
        field = self.page.get_by_label(self.t(label), exact=True)
        field.fill(text)
        field.press("Enter")

    def state(self, section: int, state: str) -> Any:
        return self.page.wait_for_selector(
            f'.sx-section >> nth={section} >> .sx-live .sx-status[data-state="{state}"]', timeout=OPENING_MS
        )

    def learn(self, section: int, kind: str, epochs: str, slides: int = 0) -> None:
        """Trains to the end, on the data that are always there."""
        source = {"words": "coriolanus", "films": "made_log"}[kind]
        self.choose(f"{kind}.field.source", f"{kind}.source.{source}", section)
        where = self.page.locator(".sx-section").nth(section)
        where.locator(f'.sx-about[data-source="{source}"]').wait_for()
        slider = where.get_by_label(self.t("field.epochs"), exact=True)
        slider.fill(str(slides))  # one message: of several the last may come after the click below
        assert where.locator(".sx-slider-value").nth(1).inner_text() == epochs
        self.press(f"{kind}.train", section)

    def drawn(self, number: int) -> Any:
        plot = self.page.locator(".sx-plot").nth(number)
        plot.scroll_into_view_if_needed()
        self.page.wait_for_function(
            f"document.querySelectorAll('.sx-plot')[{number}].dataset.state === 'drawn'", timeout=OPENING_MS
        )
        return plot

    def layout(self, number: int, part: str) -> Any:
        return self.page.evaluate(
            f"document.querySelectorAll('.sx-plot')[{number}].querySelector('.sx-plot-paper').layout.{part}"
        )

    def marked(self, number: int) -> list[str]:
        """The points that stand out, once there are some."""
        self.page.wait_for_function(
            f"document.querySelectorAll('.sx-plot-paper')[{number}].data"
            ".some(trace => trace.marker.symbol === 'diamond' && trace.hovertext.length)"
        )
        found: list[str] = self.page.evaluate(
            f"document.querySelectorAll('.sx-plot-paper')[{number}].data"
            ".filter(trace => trace.marker.symbol === 'diamond').flatMap(trace => [...trace.hovertext])"
        )
        return found


def test_words_films_and_the_cache(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    on = EmbeddingsPage(page, studio_url)
    assert "real data" in page.locator(".sx-about").first.inner_text()
    page.locator(".sx-live").first.get_by_text(on.t("words.shipped")).wait_for()
    on.drawn(0)  # rows that come with the page
    on.type("words.field.asked", "king")
    page.wait_for_selector('[data-kind="neighbours"] li[data-label="henry"]')
    screenshot(page, "embeddings-at-rest")

    # words: begun and stopped
    page.get_by_label(on.t("field.dim"), exact=True).first.press("End")
    on.learn(0, "words", "1000", 6)  # long enough to be stopped
    on.state(0, "running")
    page.wait_for_function("+document.querySelector('.tr-chart').dataset.points > 1")
    on.press("cancel", 0)
    on.state(0, "cancelled")
    expect(page.locator(".sx-live .sx-status").first).to_contain_text("can be used")
    # and to the end
    on.learn(0, "words", "100", 4)
    on.state(0, "done")
    plot = on.drawn(0)
    assert "PCA: the three" in plot.locator(".sx-plot-summary").inner_text()
    eye = on.layout(0, "scene.camera.eye.x")
    plot.locator(".sx-plot-frame").press("ArrowLeft")
    page.wait_for_function(
        f"document.querySelectorAll('.sx-plot-paper')[0].layout.scene.camera.eye.x !== {eye}"
    )

    on.type("words.field.asked", "Rome?")
    page.get_by_role("alert").filter(has_text="is not among the").wait_for()
    on.type("words.field.asked", "rome")
    page.wait_for_selector('[data-kind="neighbours"] li')
    labels = page.eval_on_selector_all(
        '[data-kind="neighbours"] li', "items => items.map(i => i.dataset.label)"
    )
    assert len(labels) == 10
    page.wait_for_function(
        "document.querySelector('.sx-plot-paper').layout.scene.annotations.some(note => note.text === 'rome')"
    )
    assert set(on.marked(0)) == {"rome", *labels}

    for name, word in zip("abc", ("he", "his", ""), strict=True):
        on.type(f"words.field.{name}", word)
    on.press("words.solve", 0)
    page.get_by_role("alert").filter(has_text=on.t("words.error.terms")).wait_for()
    on.type("words.field.c", "she")
    on.press("words.solve", 0)
    page.wait_for_selector('[data-kind="analogy"] li')
    assert page.locator('[data-kind="analogy"] .em-answer').inner_text().startswith("he : his = she : ")

    on.choose("field.method", "method.tsne")
    page.wait_for_function(
        """name => {
            const map = document.querySelector('.em-map');
            const cancel = [...map.querySelectorAll('button')].find(one => one.innerText.trim() === name);
            if (!map.querySelector('.sx-status[data-state="running"]') || !cancel || cancel.disabled) return false;
            cancel.click();
            return true;
        }""",
        arg=on.t("cancel"),
    )
    page.wait_for_function("document.querySelector('.em-map select').value.startsWith('PCA')")
    on.choose("field.method", "method.tsne")
    page.wait_for_function(
        "document.querySelector('.sx-plot-summary').innerText.includes('t-SNE: which points')",
        timeout=2 * OPENING_MS,
    )

    # films
    page.get_by_role("tab", selected=True).press("ArrowRight")
    expect(page.locator(".sx-tab-words")).to_be_hidden()
    assert page.url.endswith("#films")
    on.learn(1, "films", "2", 1)
    on.state(1, "done")
    on.drawn(1)
    page.wait_for_selector('[data-user="1"]')
    on.press("another", 1)
    page.wait_for_selector('[data-user]:not([data-user="1"])')
    assert page.locator('[data-kind="recommended"] li').count() == 10
    assert "rows (" in page.locator(".em-search").last.inner_text()
    page.get_by_label(on.t("field.least"), exact=True).press("End")
    page.wait_for_function(
        "document.querySelectorAll('.em-search')[4].innerText.includes('fewer than 100 times')"
    )
    names = page.evaluate("document.querySelectorAll('.sx-plot-paper')[1].data.map(t => t.name)")
    assert "cold" in names
    on.type("films.field.asked", "item 12")
    page.wait_for_selector('.sx-section >> nth=1 >> [data-kind="neighbours"] li')

    # the cache: an arrow key is enough
    on.open("cache")
    page.wait_for_selector('.em-hits[data-skew="1.05"]', timeout=OPENING_MS)
    skew = page.get_by_label(on.t("field.skew"), exact=True)
    before = float(page.locator(".em-hits").get_attribute("data-rate"))
    for _ in range(10):
        skew.press("ArrowRight")
    page.wait_for_selector('.em-hits[data-skew="1.55"]', timeout=OPENING_MS)
    assert float(page.locator(".em-hits").get_attribute("data-rate")) > before
    page.get_by_label(on.t("field.share"), exact=True).press("End")
    page.wait_for_function(
        "document.querySelector('.sx-verdict').innerText.startsWith('With 20,000 of 20,000')"
    )

    assert axe(page) == []
    no_sideways(page)
    on.open("films")
    assert axe(page) == []
    screenshot(page, "embeddings")


def test_phone_dark_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = phone
    on = EmbeddingsPage(page, studio_url, "zh")
    on.learn(0, "words", "10", 2)  # a busy machine takes a minute for more
    on.state(0, "done")
    on.drawn(0)
    assert on.layout(0, "font.color") == page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--sp-ink').trim()"
    )
    on.type("words.field.asked", "rome")
    page.wait_for_selector('[data-kind="neighbours"] li')
    on.press("words.solve", 0)
    page.wait_for_selector('[data-kind="analogy"] li')
    on.open("films")
    on.learn(1, "films", "1", 0)
    on.state(1, "done")
    page.wait_for_selector('[data-user="1"] li')
    on.drawn(1)
    said = page.evaluate(
        """() => { const page = document.querySelector('.sx-page').cloneNode(true);
        page.querySelectorAll('[lang=en], .sx-plot-paper, style').forEach(node => node.remove()); return page.textContent; }"""
    )
    words = set(re.findall(r"[a-z]{2,}", said.lower()))
    assert words <= NAMES, f"not Chinese: {sorted(words - NAMES)}"
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "embeddings-phone-zh-dark")
