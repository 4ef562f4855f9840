"""A competition in a real browser: set up by the teacher, entered by the learner, who here is the same person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studio.competitions.example import NAME
from tests.webapp.running import Studio

pytestmark = pytest.mark.browser


def test_from_the_empty_list_to_a_place_on_the_board(
    page: Any,
    phone: Any,
    studio: Studio,
    axe: Callable[[Any], list[str]],
    no_sideways: Callable[[Any], None],
    screenshot: Callable[..., Path],
    tmp_path: Path,
) -> None:
    at = f"{studio.url}studio/competitions"
    page.goto(at)
    page.get_by_role("button", name="Set up the example").click()
    page.wait_for_url(f"**/{NAME}")
    assert "two handwritten digits" in page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("link", name="Data", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="sample_submission.csv").click()
    path = tmp_path / "mine.csv"
    path.write_bytes(Path(download.value.path()).read_bytes().replace(b",0", b",9"))
    page.get_by_role("link", name="Submit", exact=True).click()
    page.get_by_label("CSV file or notebook").set_input_files(path)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_text("Public score").wait_for(timeout=60_000)  # the page follows the scorer by itself
    assert page.get_by_role("row", name="t0 9").count() == 1
    for tab in ("", "/data", "/submit", "/board", "/mine", "/manage"):
        page.goto(f"{at}/{NAME}{tab}")
        assert axe(page) == [], tab
        screenshot(page, f"competition-{tab.strip('/') or 'about'}")
    page.goto(f"{at}/new")
    assert axe(page) == []
    for tab in ("", f"/{NAME}", f"/{NAME}/submit", f"/{NAME}/board", f"/{NAME}/manage", "/new"):
        phone.goto(at + tab)
        no_sideways(phone)
    assert axe(phone) == []
    screenshot(phone, "competition-new-phone")
