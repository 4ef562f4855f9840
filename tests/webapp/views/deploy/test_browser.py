"""The Deploy page in a real browser: the passes, bits with the digit pad, and the file that a visitor takes away."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studio import i18n

pytestmark = pytest.mark.browser

OPENING_MS = 90_000


class DeployPage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        page.goto(studio_url + "studio/page/deploy", wait_until="commit")
        page.wait_for_selector('[data-network="digits"]', timeout=OPENING_MS)
        page.wait_for_selector("[data-pass]")

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"deploy.{key}", self.lang, **values)

    def open(self, part: str) -> None:
        self.page.get_by_role("tab", name=self.t(f"heading.{part}"), exact=True).click()

    def part(self, part: str) -> Any:
        return self.page.locator(f".sx-tab-{part}")

    def press(self, part: str, key: str, **values: object) -> None:
        self.part(part).get_by_role("button", name=self.t(key, **values), exact=True).click()

    def drawn(self, part: str) -> None:
        self.part(part).locator('.sx-plot[data-state="drawn"]').first.wait_for(timeout=OPENING_MS)


def test_from_a_program_to_a_file(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable, tmp_path: Path
) -> None:
    view = DeployPage(page, studio_url)
    view.drawn("passes")
    slider = view.part("passes").get_by_role("slider")
    slider.press("End")
    page.wait_for_selector('[data-pass][data-calls="6"]')
    no_sideways(page)
    screenshot(page, "deploy")

    view.open("bits")
    view.press("bits", "bits.all", bits=2)
    page.wait_for_function("+document.querySelector('[data-bytes]')?.dataset.bytes < 12000")
    view.open("try")
    view.press("try", "try.differ")
    page.wait_for_selector("[data-answers]")
    first, second = page.locator("[data-answers]").get_attribute("data-answers").split()
    assert first != second
    assert axe(page) == []

    page.get_by_label(view.t("field.network"), exact=True).select_option(label=view.t("network.reviews"))
    page.wait_for_selector('[data-network="reviews"]', timeout=OPENING_MS)
    sentence = page.get_by_label(view.t("try.sentence"), exact=True)
    for text, answers in (("房间很干净。", "1 1"), ("房间不干净。", "0 0")):
        sentence.fill(text)
        page.wait_for_selector(f'[data-answers="{answers}"]')
    view.part("try").get_by_label(view.t("try.form"), exact=True).select_option(
        label=view.t("take.form.int8")
    )
    view.press("try", "try.any")
    page.wait_for_function("document.querySelector('.de-sentence textarea').value !== '房间不干净。'")
    assert axe(page) == []
    no_sideways(page)

    view.open("take")
    view.part("take").get_by_label(view.t("take.name"), exact=True).fill("from_a_browser")
    view.part("take").get_by_label(view.t("take.name"), exact=True).press("Enter")
    view.press("take", "take.start")
    link = page.get_by_role("link", name=view.t("take.download"))
    link.wait_for(timeout=OPENING_MS)
    with page.expect_download() as waiting:
        link.click()
    content = Path(waiting.value.path()).read_bytes()
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {f"from_a_browser/from_a_browser.{end}" for end in ("json", "safetensors")} <= set(names)
    assert re.search(r"kB|MB| B", view.part("take").locator("table").inner_text())
