"""A page of widgets on a slow machine, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

# The first module of a widget comes after three seconds in which the page does nothing else.
SLOW = """
const address = URL.createObjectURL.bind(URL);
let first = true;
URL.createObjectURL = (what) => {
  const end = performance.now() + (first && what.type === "text/javascript" ? 3000 : 0);
  if (end > performance.now()) first = false;
  while (performance.now() < end);
  return address(what);
};
"""


def test_a_widget_may_come_late(page: Any, studio_url: str) -> None:
    page.set_default_timeout(90_000)
    page.add_init_script(SLOW)
    page.goto(studio_url + "studio/page/try")
    page.get_by_role("tab").nth(2).click()
    page.locator(".sx-tab-word").get_by_role("button").wait_for()
