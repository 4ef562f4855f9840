"""The Fleet page in a real browser: a fleet is started, a worker is killed, and the page shows where the run went on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from studio import i18n

pytestmark = pytest.mark.browser

OPENING_MS = 90_000


class FleetPage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        page.goto(studio_url + "studio/page/fleet", wait_until="commit")
        page.wait_for_selector("#fl-form, #fl-job", timeout=OPENING_MS)

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"fleet.{key}", self.lang, **values)

    def open(self, part: str) -> None:
        self.page.get_by_role("tab", name=self.t(f"heading.{part}"), exact=True).click()

    def start(self, **chosen: str) -> None:
        for name, value in chosen.items():
            field = self.page.locator(f"#fl-{name}")
            field.fill(value) if name == "steps" else field.select_option(value)
        self.press("start")
        self.running()

    def press(self, key: str, rank: int | None = None) -> None:
        name = self.t(key) if rank is None else f"{self.t(key)} {self.t('worker', rank=rank)}"
        self.page.get_by_role("button", name=name, exact=True).click()

    def running(self, restarts: int = 0, after: int = 1, count: int = 2) -> None:
        """Until so many workers run after so many restarts."""
        self.page.wait_for_function(
            """([restarts, after, count]) => {
              const job = document.getElementById("fl-job");
              const run = document.querySelectorAll('.fl-worker[data-state="running"]').length;
              return job && +job.dataset.restarts >= restarts && +job.dataset.step > after && run === count;
            }""",
            arg=[restarts, after, count],
            timeout=OPENING_MS,
        )

    @property
    def step(self) -> int:
        return int(self.page.locator("#fl-job").get_attribute("data-step"))


def test_a_killed_worker_comes_back_and_the_curve_goes_on(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    view = FleetPage(page, studio_url)
    view.start(exchange="half", pace="20", steps="3000")
    view.running(after=8)
    before = view.step
    view.press("kill", 1)
    view.running(restarts=1, after=before)
    assert page.locator('[data-event="kill"]').inner_text().endswith(view.t("event.kill", rank=1))
    assert page.locator('[data-event="restart"]').count() == 1
    assert page.locator(".fl-gap").count() == 1

    view.press("pause", 0)
    page.wait_for_selector('#worker-1[data-waits="0"]')
    # where it meets the other: at the gradients, or where a copy is agreed on
    expect(page.locator("#worker-1 .fl-waits")).to_contain_text(
        re.compile(r"loss\.backward\(\)|in run\.steps\(")
    )
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "fleet")
    page.set_viewport_size({"width": 390, "height": 844})
    no_sideways(page)

    page.reload(wait_until="commit")  # the job goes on without its page
    page.wait_for_selector('#worker-0[data-state="stopped"]', timeout=OPENING_MS)
    view.press("stop")
    page.wait_for_selector('#fl-job[data-state="cancelled"]')
    view.open("planner")
    page.wait_for_selector("[data-machines]", timeout=OPENING_MS)
    assert axe(page) == []
    no_sideways(page)
