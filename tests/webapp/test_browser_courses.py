"""A course in a real browser: how far one is, verdicts of several kinds, what was changed, former copies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.course import Course
from studio.paths import NOTEBOOKS
from tests.webapp.cells import write_cells
from tests.webapp.running import Studio, free_port, start_studio

pytestmark = pytest.mark.browser

LESSON = "01_tensors_and_the_tape"
NARROW = {"width": 390, "height": 844}
RIGHT = "    while gradient.ndim > len(shape):\n        gradient = gradient.sum(axis=0)\n"
ANSWERS = {
    "autograd-unbroadcast": f"""@learn.exercise("autograd.unbroadcast")
def unbroadcast(gradient, shape):
{RIGHT}    for axis, length in enumerate(shape):
        if length == 1:
            gradient = gradient.sum(axis=axis, keepdim=True)
    return gradient  # <b>mine</b>
""",
    "ops-multiply": """@learn.exercise("ops.multiply")
def multiply(x, y):
    nothing = 0
    return x * y, 1 / nothing
""",
}


def make_copy(page: Any, studio: Studio) -> Path:
    """The learner's copy, made by the page's own button; Lab itself need not load for it."""
    copy = studio.home / "notebooks" / f"{LESSON}.ipynb"
    page.goto(f"{studio.url}studio/courses")
    if not copy.exists():
        page.locator(f"#lesson-{LESSON}").get_by_role("button", name="Start").click(no_wait_after=True)
        page.wait_for_url("**/lab/tree/**", wait_until="commit", timeout=120_000)
        page.goto(f"{studio.url}studio/courses")
    return copy


def kinds(card: Any) -> list[str]:
    return [str(item.get_attribute("data-kind")) for item in card.locator("[data-kind]").all()]


def test_verdicts_attempts_changes_and_former_copies(
    new_page: Callable[..., Any],
    tmp_path: Path,
    screenshot: Any,
    axe: Any,
    no_sideways: Any,
) -> None:
    port = str(free_port())
    studio = start_studio(tmp_path / "sampan", "--port", port, HOME=str(tmp_path))
    try:
        page = new_page(at=studio, locale="en-US")
        copy = make_copy(page, studio)
        write_cells(copy, ANSWERS)
        page.reload()
        card = page.locator(f"#lesson-{LESSON}")
        card.get_by_role("button", name="Check my work").click()
        card.locator(".sp-steps").wait_for(timeout=180_000)
        assert kinds(card) == ["passed", "error", "not_attempted"]
        error = card.locator("[data-kind=error]")
        assert "Stopped with an error" in error.inner_text() and "ZeroDivisionError" in error.inner_text()
        lines = error.locator(".sp-code").inner_text()
        assert "1 / nothing" in lines and "site-packages" not in lines and "sampan/" not in lines
        assert "1 of 3 solved" in card.inner_text() and "Attempt 1," in card.inner_text()
        assert axe(page) == []
        no_sideways(page)
        screenshot(page, "courses-verdicts-en-wide-light")
        card.get_by_text("The library's version").click()
        assert "def unbroadcast(gradient: Any" in card.locator("[data-kind=passed] .sp-code").inner_text()
        assert "# <b>mine</b>" in (studio.home / "my_engine" / "autograd.unbroadcast.py").read_text()
        card.evaluate("card => scrollTo(0, card.getBoundingClientRect().top + scrollY - 20)")
        screenshot(page, "courses", full_page=False)

        card.get_by_role("link", name="Changes and former copies").click()
        page.wait_for_url(f"**/studio/courses/{LESSON}/copy")
        changes = page.locator(".sp-change")
        assert changes.count() == 2
        first = changes.first
        assert "return gradient  # <b>mine</b>" in first.locator("ins").all_inner_texts()[-1]
        assert any("raise NotImplementedError" in line for line in first.locator("del").all_inner_texts())
        assert "### BEGIN" not in page.content() and axe(page) == []
        screenshot(page, "copy-en-wide-light")

        # A fresh copy: the verdict is gone with the old one, the history and the old one stay.
        page.goto(f"{studio.url}studio/courses")
        card.get_by_text("Start again").click()
        card.get_by_role("button", name="Make a fresh copy").click()
        page.wait_for_url(f"**/studio/courses#lesson-{LESSON}")
        page.reload()
        assert card.locator(".sp-steps").count() == 0 and "1 of 3 solved" in card.inner_text()
        fresh = copy.read_text("utf-8")

        narrow = new_page(at=studio, locale="zh-CN", viewport=NARROW, color_scheme="dark")
        narrow.goto(f"{studio.url}studio/courses/{LESSON}/copy")
        narrow.get_by_text("还没有改动").wait_for()
        narrow.get_by_role("link", name="查看").click()
        narrow.get_by_text("return gradient # <b>mine</b>").wait_for()
        assert narrow.get_by_role("img", name=re.compile("出错中断")).count() == 1  # the attempt's marks
        assert axe(narrow) == []
        no_sideways(narrow)
        screenshot(narrow, "copy-zh-narrow-dark")
        narrow.get_by_role("button", name="改用这一份").first.click()
        narrow.wait_for_url(f"**/studio/courses/{LESSON}/copy")
        assert "# <b>mine</b>" in copy.read_text("utf-8")
        former = Course(NOTEBOOKS, studio.home).lesson(LESSON)
        assert former is not None and fresh in [kept.path.read_text("utf-8") for kept in former.kept()]
    finally:
        studio.stop()

    # Another start: the history is read again, and counts on.
    studio = start_studio(tmp_path / "sampan", "--port", port, HOME=str(tmp_path), SAMPAN_WARM_KERNELS="0")
    try:
        page = new_page(at=studio, locale="en-US")
        page.goto(f"{studio.url}studio/courses/{LESSON}/copy")
        row = page.locator("#attempts ~ div tbody tr")
        assert row.count() == 1 and row.locator("[role=img]").count() == 3
    finally:
        studio.stop()


def test_a_copy_that_is_no_notebook(page: Any, studio: Studio, axe: Any) -> None:
    copy = studio.home / "notebooks" / "03_kernels.ipynb"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(json.dumps({"mine": "<b>true</b>"}))
    try:
        page.goto(f"{studio.url}studio/courses/03_kernels/copy")
        page.get_by_text("This copy is not a readable notebook.").wait_for()
        assert axe(page) == []
    finally:
        copy.unlink()


@pytest.mark.parametrize("query", ["?kept=x.ipynb", "?kept=../../.studio/compute.sqlite3"])
def test_only_former_copies_can_be_looked_at(page: Any, studio: Studio, query: str) -> None:
    reply = page.context.request.get(f"{studio.url}studio/courses/03_kernels/copy{query}")
    assert reply.status == 404


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Studio]:
    """A Studio of its own: Lab remembers which notebook is open, and its language."""
    started = start_studio(tmp_path / "sampan", "--port", str(free_port()), HOME=str(tmp_path))
    yield started
    started.stop()


def test_a_copy_in_chinese_and_in_english(
    new_page: Callable[..., Any], own: Studio, screenshot: Any, axe: Any, no_sideways: Any
) -> None:
    """It opens in the language of the page; another language keeps what the learner wrote."""
    copy = own.home / "notebooks" / f"{LESSON}.ipynb"
    address, card_id = f"{own.url}studio/courses", f"#lesson-{LESSON}"
    chinese, english = new_page(at=own, locale="zh-CN"), new_page(at=own, locale="en-US")

    chinese.goto(address)
    chinese.locator(card_id).get_by_role("button", name="开始").click(no_wait_after=True)
    chinese.wait_for_url("**/lab/tree/**", wait_until="commit", timeout=120_000)
    chinese.get_by_role("heading", name="张量与磁带").wait_for(timeout=120_000)
    screenshot(chinese, "lab-copy-zh", full_page=False)
    write_cells(copy, ANSWERS)
    chinese.goto(address)
    assert chinese.get_by_role("button", name="把我的副本换成中文").count() == 0

    english.goto(address)
    translate = english.locator(card_id).get_by_role("button", name="Put my copy into English")
    translate.scroll_into_view_if_needed()
    assert axe(english) == []
    no_sideways(english)
    english.locator(card_id).screenshot(path=screenshot(english, "courses-translate-en", full_page=False))
    translate.click()
    english.wait_for_url(f"**/studio/courses{card_id}")
    translate.wait_for(state="detached")
    text = copy.read_text("utf-8")
    assert "# Tensors and the tape" in text and "# <b>mine</b>" in text
    assert "张量与磁带" not in "".join(cell["source"][:20] for cell in cells_of(copy))

    chinese.reload()
    translate = chinese.locator(card_id).get_by_role("button", name="把我的副本换成中文")
    translate.scroll_into_view_if_needed()
    chinese.locator(card_id).screenshot(path=screenshot(chinese, "courses-translate-zh", full_page=False))
    translate.click()
    translate.wait_for(state="detached")
    found = cells_of(copy)
    assert found[0]["source"].startswith("# 张量与磁带")
    assert any("# <b>mine</b>" in cell["source"] for cell in found)
    lesson = Course(NOTEBOOKS, own.home).lesson(LESSON)
    assert lesson is not None and len(lesson.kept()) >= 2


def cells_of(copy: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, each with its source as one text."""
    cells: list[dict[str, Any]] = json.loads(copy.read_text("utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]
