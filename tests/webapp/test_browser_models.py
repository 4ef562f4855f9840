"""Models in a real browser: the list, a card, two beside each other, a download, and a model that is tried."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from studio import i18n

pytestmark = pytest.mark.browser


def test_a_model_is_looked_at_compared_downloaded_and_tried(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable, tmp_path: Any
) -> None:
    page.set_default_timeout(90_000)
    page.goto(studio_url + "studio/models")
    page.locator("#model-fsdd_digits").get_by_role("link").wait_for()
    page.get_by_label(i18n.t("models.field.b", "en")).select_option(label="wenetspeech_zh_int8")
    page.get_by_label(i18n.t("models.field.a", "en")).select_option(label="wenetspeech_zh")
    page.get_by_role("button", name=i18n.t("models.compare", "en")).click()
    page.wait_for_selector(".sp-table")
    compared = page.locator(".sp-table").first.inner_text()
    assert "1,807,865" in compared and "1,237,305" in compared
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "models")
    page.locator("#model-activity_small").get_by_role("link").click()
    page.wait_for_selector(".sp-prose table")
    with page.expect_download() as waiting:
        page.get_by_role("link", name=i18n.t("models.download", "en")).click()
    waiting.value.save_as(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        assert "activity_small/README.md" in archive.namelist()
    assert axe(page) == []
    page.get_by_role("link", name=i18n.t("models.try", "en")).click()
    page.get_by_role("button", name=i18n.t("try.ask", "en"), exact=True).first.wait_for()
    page.wait_for_function(
        "[...document.querySelectorAll('.sx-form select')].some(s => s.options.length > 4)"
    )
    page.get_by_label(i18n.t("try.field.model", "en"), exact=True).first.select_option(label="activity_small")
    page.get_by_role("button", name=i18n.t("try.ask", "en"), exact=True).first.click()
    page.wait_for_selector(".em-found .em-answer")
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "try")
