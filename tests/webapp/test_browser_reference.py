"""The API reference in a real browser: through the Studio, and as files without any server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import reference_site
from tests.webapp.running import Studio, free_port, start_studio

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference_site.build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def studio(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    person = tmp_path_factory.mktemp("person")
    started = start_studio(
        person / "sampan", "--port", str(free_port()), HOME=str(person), SAMPAN_DOCS=str(site)
    )
    yield started
    started.stop()


def look_up(page: Any, word: str) -> None:
    """By the search in the page's side."""
    page.get_by_role("textbox", name="Search").fill(word)
    page.keyboard.press("Enter")
    page.wait_for_selector("ul.search li a")


def test_through_the_studio(page: Any, studio: Studio, screenshot: Callable[..., Path]) -> None:
    page.goto(f"{studio.url}studio")
    page.get_by_role("contentinfo").get_by_role("link", name="API reference").click()
    page.wait_for_url("**/studio/docs/index.html")
    page.get_by_role("link", name="sampan.learn").first.click()
    entry = page.locator("dt[id='sampan.learn.exercise']")
    assert "exercise(" in entry.inner_text()
    screenshot(page, "reference")
    look_up(page, "exercise")
    page.locator("ul.search li a", has_text="exercise").first.click()
    page.wait_for_url("**/reference/sampan.learn.html*")
    entry.get_by_text("[source]").click()
    page.wait_for_url("**/_modules/**/slots.html#exercise")
    assert "def exercise(" in page.locator("[id='exercise']").inner_text()
    page.go_back()
    page.get_by_role("link", name="00 Orientation").first.click()
    page.wait_for_url("**/studio/courses#lesson-00_orientation")
    assert page.locator("#lesson-00_orientation").count() == 1


def test_as_files(browser: Any, site: Path) -> None:
    context = browser.new_context(locale="en-US")
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    look_up(page, "exercise")
    page.locator("ul.search li a", has_text="exercise").first.click()
    page.wait_for_url("**/reference/sampan.learn.html*")
    notebook = page.get_by_role("link", name="00 Orientation").first
    assert str(notebook.get_attribute("href")).endswith("/notebooks/00_orientation.ipynb")
    context.close()
    assert [url for url in asked if not url.startswith("file:")] == []
