"""A learner's way through an assignment in a browser: fetch it, hand it in from JupyterLab, and be refused in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from studio import moments
from tests.webapp.running import Studio

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")

from tests.webapp.hub.service_alone import Alone, serving_alone
from tests.webapp.hub.test_assignments import essay

pytestmark = pytest.mark.browser
OPENING_MS = 120_000
FILMS = b"title,year\nStalker,1979\n"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with serving_alone(tmp_path_factory.mktemp("alone")) as running:
        files = [("own", ("essay.ipynb", essay())), ("own", ("films.csv", FILMS))]
        assert running.as_teacher("release", data={"assignment": "week 1", "visible": "1"}, files=files).ok
        assert running.as_teacher(
            "announcements", data={"text": "Welcome.\nRead https://example.org first."}
        ).ok
        yield running


@pytest.fixture(scope="module")
def own(alone: Alone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    started = alone.studio("ada", tmp_path_factory.mktemp("ada"))
    yield started
    started.stop()


def terms(alone: Alone, deadline: str, late: str) -> None:
    data = {"assignment": "week 1", "deadline": deadline, "late": late, "attempts": "2", "percent": "10"}
    assert alone.as_teacher("terms", data=data).status_code == 303


def test_fetch_hand_in_and_be_refused(
    new_page: Callable[..., Any], alone: Alone, own: Studio, axe: Any, no_sideways: Any, screenshot: Any
) -> None:
    terms(alone, "2099-01-02T03:04", "penalty")
    page = new_page(at=own, locale="en-US", viewport={"width": 1280, "height": 900})
    page.goto(f"{own.url}studio")
    page.get_by_text("Welcome.").wait_for(timeout=OPENING_MS)
    page.goto(f"{own.url}studio/assignments")
    assert page.get_by_text("2099-01-02 03:04").count() >= 1
    assert page.get_by_text("Hand-ins left: 2 of 2.").count() == 1
    no_sideways(page)
    assert axe(page) == []
    screenshot(page, "assignments-en-wide-light")

    page.get_by_role("button", name="Fetch and open").click(no_wait_after=True)
    page.wait_for_url("**/lab/tree/**", wait_until="commit", timeout=OPENING_MS)
    toolbar = page.locator(".jp-NotebookPanel-toolbar, .jp-Toolbar")
    hand_in = toolbar.get_by_role("button", name="Hand in").first
    hand_in.click(timeout=OPENING_MS)
    panel = page.locator(".sampan-lesson")
    panel.get_by_text("Your teacher marks this notebook by hand.").wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Hand in").click()
    panel.get_by_text("Receipt").wait_for(timeout=OPENING_MS)
    number = panel.locator("[data-said]").inner_text().partition("Receipt ")[2][:14]
    panel.get_by_text("Hand-ins left: 1 of 2.").first.wait_for()
    screenshot(page, "assignments-lab-en-wide-light", full_page=False)

    page.watch.expect("409 .*/hand-in")
    terms(alone, moments.field(1_700_000_000.0), "refused")  # long ago, and the page does not know it yet
    hand_in.click()
    page.locator(".jp-Dialog").get_by_role("button", name="Hand in").click()
    panel.get_by_text("The deadline has passed").wait_for(timeout=OPENING_MS)

    narrow = new_page(at=own, locale="zh-CN", viewport={"width": 390, "height": 844}, color_scheme="dark")
    narrow.goto(f"{own.url}studio/assignments")
    assert number in narrow.locator("main").inner_text() and narrow.get_by_text("已截止").count() >= 1
    assert narrow.get_by_text("新", exact=True).count() == 0  # the announcement was read on the first visit
    no_sideways(narrow)
    assert axe(narrow) == []
    screenshot(narrow, "assignments-zh-narrow-dark")
    folder = Path(own.home) / "assignments" / "week 1"
    assert (folder / "essay.ipynb").is_file() and (folder / "data" / "films.csv").read_bytes() == FILMS
