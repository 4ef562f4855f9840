"""The Sparse page in a real browser: measure, slide, sweep, go too far, turn a cloud, train; both languages, phone and dark."""

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
    "coo",
    "csr",
    "net",
    "ms",
    "kb",
    "mb",
    "gb",
    "softmax",
    "sampan",
    "english",
    "coriolanus",
    "cora",
    "citeseer",
    "cpu",
    "scikit",
    "learn",
}


class SparsePage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        began = time.monotonic()
        page.goto(studio_url + "studio/page/sparse", wait_until="commit")
        page.wait_for_selector(".sx-form select", timeout=OPENING_MS)
        form = time.monotonic() - began
        self.measured()
        print(f"Sparse page: form after {form:.1f} s, measured after {time.monotonic() - began:.1f} s")

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"sparse.{key}", self.lang, **values)

    def press(self, key: str, where: str = ".sx-form >> nth=0") -> None:
        self.page.locator(where).get_by_role("button", name=self.t(key), exact=True).click()

    def choose(self, field: str, label: str) -> None:
        self.page.get_by_label(self.t(f"field.{field}"), exact=True).select_option(label=label)

    def slide(self, field: str, key: str) -> None:
        self.page.get_by_label(self.t(f"field.{field}"), exact=True).press(key)

    def measured(self, matrix: str = "powerlaw", entries: str = "10486") -> None:
        self.page.wait_for_selector(
            f'.sx-about[data-matrix="{matrix}"][data-entries="{entries}"]', timeout=OPENING_MS
        )
        self.page.wait_for_selector(".sx-result", timeout=OPENING_MS)

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


def test_matrices_and_a_cloud(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    sparse = SparsePage(page, studio_url)
    assert re.match(
        r"Sparse is .* dense and takes 1/\d+ of its memory\.", page.locator(".sx-verdict").inner_text()
    )
    assert "Both results" in page.locator(".sx-result").inner_text()

    pattern = sparse.drawn(0)
    screenshot(page, "sparse", full_page=False)
    wide = sparse.layout(0, "xaxis.range")
    pattern.get_by_role("button", name="Zoom in").click()
    page.wait_for_function(
        "w => { const r = document.querySelector('.sx-plot-paper').layout.xaxis.range; return r[1] - r[0] < w; }",
        arg=wide[1] - wide[0],
    )
    pattern.locator(".sx-plot-frame").press("0")
    page.wait_for_function(
        "w => document.querySelector('.sx-plot-paper').layout.xaxis.range[1] === w", arg=wide[1]
    )

    sparse.slide("density", "ArrowRight")  # 2 %
    sparse.measured(entries="20972")
    sparse.choose("operator", sparse.t("operator.transpose"))
    page.wait_for_function("document.querySelector('.sx-form').innerText.includes('Rows become columns')")
    sparse.slide("size", "End")
    alert = page.locator(".sx-form [role=alert]")
    alert.wait_for()
    assert "85,899,346 entries" in alert.inner_text() and page.locator(".sx-result").count() == 0
    sparse.slide("density", "Home")  # 65,536 x 65,536 and 0.001 %: sparse alone
    sparse.measured(entries="42950")
    assert (
        "Only sparse was measured. In dense format the matrix would take 16 GB"
        in page.locator(".sx-verdict").inner_text()
    )
    assert alert.count() == 0
    sparse.slide("size", "Home")
    sparse.measured(entries="1")

    sparse.press("sweep")
    sparse.drawn(1)
    assert "Transpose, Power law, 128 × 128, CSR." in page.locator(".sx-plot-summary").nth(1).inner_text()

    sparse.drawn(2)
    eye = sparse.layout(2, "scene.camera.eye.x")
    page.locator(".sx-plot").nth(2).locator(".sx-plot-frame").press("ArrowLeft")
    page.wait_for_function(
        f"document.querySelectorAll('.sx-plot-paper')[2].layout.scene.camera.eye.x !== {eye}"
    )
    for _ in range(2):
        sparse.slide("resolution", "ArrowLeft")  # 16: quick
    page.wait_for_function("document.querySelectorAll('.sx-form')[1].innerText.includes('of 4,096 voxels')")
    sparse.choose("seconds", sparse.t("seconds", count=120))  # long enough to be cancelled
    sparse.press("train", ".sx-form >> nth=1")
    page.wait_for_selector('.sx-live .sx-status[data-state="running"]', timeout=OPENING_MS)
    sparse.drawn(3)  # what it says while it learns
    page.wait_for_function("+document.querySelector('.tr-chart').dataset.points > 3")
    assert "left" in page.locator(".sx-live .sx-status").inner_text()
    sparse.press("cancel", ".sx-form >> nth=1")
    page.wait_for_selector('.sx-live .sx-status[data-state="cancelled"]', timeout=OPENING_MS)
    page.wait_for_function("document.querySelectorAll('.sx-plot-summary')[3].innerText.includes('Mean IoU')")
    expect(
        page.locator(".sx-form >> nth=1").get_by_role("button", name=sparse.t("train"), exact=True)
    ).to_be_enabled()
    assert re.fullmatch(r"\d+\.\d %", page.locator('[data-figure="iou"] .sp-value').inner_text())
    assert sparse.layout(3, "scene.camera.eye.x") == pytest.approx(sparse.layout(2, "scene.camera.eye.x"))
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "sparse-whole")


def test_phone_dark_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = phone
    sparse = SparsePage(page, studio_url, "zh")
    before = page.evaluate("getComputedStyle(document.body).color")
    sparse.drawn(0)
    assert sparse.layout(0, "font.color") == page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--sp-ink').trim()"
    )
    sparse.choose("layout", sparse.t("layout.coo"))
    page.wait_for_function("document.querySelector('.sx-table thead')?.innerText.includes('COO')")
    sparse.drawn(2)
    words = set(re.findall(r"[a-z]{2,}", page.locator(".sx-page").inner_text().lower()))
    assert words <= NAMES, f"not Chinese: {sorted(words - NAMES)}"
    assert before != "rgb(23, 36, 44)"
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "sparse-phone-zh-dark")
