"""A data set is uploaded in a browser, one is refused, and the administrator's page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from studio import i18n
from tests.webapp.uploads import files

pytestmark = pytest.mark.browser


def test_an_upload_a_refusal_and_the_page_of_the_administrator(
    page: Any,
    studio_url: str,
    tmp_path: Path,
    axe: Callable[[Any], list[str]],
    no_sideways: Callable[[Any], None],
    screenshot: Callable[..., Path],
) -> None:
    page.watch.expect(r"^422 .*/studio/uploads")
    for name, content in {
        "evil.zip": files.zipped(("../a.csv", files.CSV)),
        "My People.csv": files.CSV,
    }.items():
        (tmp_path / name).write_bytes(content)
    page.goto(f"{studio_url}studio/datasets")
    page.locator(".sp-upload summary").click()
    page.set_input_files("#upload-file", tmp_path / "evil.zip")
    page.click("[data-send]")
    page.wait_for_selector("[data-said].is-bad", timeout=120_000)
    assert page.locator("[data-said]").inner_text() == i18n.t(
        "uploads.refused.traversal", "en", name="../a.csv"
    )
    expect(page.locator("[data-cancel-upload]")).to_be_hidden()
    assert axe(page) == []
    page.fill("#upload-name", "")
    page.set_input_files("#upload-file", tmp_path / "My People.csv")
    assert page.input_value("#upload-name") == "my_people"
    page.click("[data-send]")
    page.wait_for_selector(".sp-versions", timeout=120_000)
    assert page.url == f"{studio_url}studio/datasets/my_people"
    assert page.locator("td", has_text="Zhang").count() == 1 and axe(page) == []
    screenshot(page, "upload")
    page.locator(".sp-upload summary").last.click()
    page.locator(".is-danger").click()
    page.wait_for_selector("#uploads-mine")
    page.goto(f"{studio_url}studio/admin")
    assert page.locator("h2").first.inner_text() == i18n.t("admin.backups", "en") and axe(page) == []
    no_sideways(page)
    screenshot(page, "admin")
