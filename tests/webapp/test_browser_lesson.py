"""A lesson in JupyterLab: hints, the check and its verdict beside the notebook, in the Studio's language and theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.webapp.running import Studio, free_port, start_studio

pytestmark = pytest.mark.browser

LESSON = "00_orientation"
OPENING_MS = 120_000
RIGHT = '@learn.exercise("ops.relu")\ndef relu(x):\n    out = x.clamp(min=0)\n    return out, lambda g: g * (x > 0)\n'
WRONG = RIGHT.replace("min=0", "max=0")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    person = tmp_path_factory.mktemp("learner")
    started = start_studio(person / "sampan", "--port", str(free_port()), HOME=str(person))
    yield started
    started.stop()


def open_lesson(page: Any, studio: Studio, button: str) -> None:
    page.goto(f"{studio.url}studio/courses")
    page.locator(f"#lesson-{LESSON}").get_by_role("button", name=button).click(no_wait_after=True)
    page.wait_for_url("**/lab/tree/**", wait_until="commit", timeout=OPENING_MS)


def write(page: Any, code: str) -> None:
    """Replace the exercise's cell, as a learner does, and run it."""
    editor = page.locator(".jp-CodeCell", has_text="@learn.exercise").locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    page.keyboard.press("Control+Enter")


def verdicts(page: Any) -> list[str]:
    items = page.locator(".sampan-lesson .sp-steps > li")
    items.first.wait_for(timeout=OPENING_MS)
    return [str(item.get_attribute("data-kind")) for item in items.all()]


def test_hint_wrong_answer_jump_right_answer(
    new_page: Callable[..., Any], own: Studio, screenshot: Any
) -> None:
    page = new_page(at=own, locale="en-US", viewport={"width": 1440, "height": 900})
    open_lesson(page, own, "Start")
    bar = page.locator(".sampan-exercise")
    bar.wait_for(timeout=OPENING_MS)
    assert bar.count() == 1
    panel = page.locator(".sampan-lesson")
    bar.get_by_role("button", name="Hint").click()
    panel.get_by_text("ops.relu, hint 1 of 3").wait_for(timeout=OPENING_MS)
    bar.get_by_role("button", name="Hint").click()
    panel.get_by_text("ops.relu, hint 2 of 3").wait_for()

    write(page, WRONG)
    page.locator(".jp-NotebookPanel-toolbar, .jp-Toolbar").get_by_role(
        "button", name="Check my work"
    ).first.click()
    assert verdicts(page) == ["failed"]  # the notebook was saved before it was graded
    expect(bar).to_contain_text("0.2 of 1")  # one of five cases is right
    page.locator(".jp-Notebook").evaluate(
        "node => node.querySelector('.jp-WindowedPanel-outer, .jp-Cell').scrollTo(0, 0)"
    )
    page.locator(".jp-Cell").first.click()
    panel.locator("li .sampan-jump").click()
    page.locator(".jp-Cell.jp-mod-active", has_text="@learn.exercise").wait_for()
    screenshot(page, "lesson-panel-en-wide-light", full_page=False)

    for failed in (1, 2):
        panel.get_by_text(f"so far {failed}.").wait_for(timeout=OPENING_MS)
        bar.get_by_role("button", name="Check my work").click()
    panel.get_by_role("button", name="Show the model answer").click()
    answer = panel.locator("details[data-answer]")
    answer.get_by_text("threshold_backward").wait_for(timeout=OPENING_MS)
    screenshot(page, "lesson-answer-en-wide-light", full_page=False)

    write(page, RIGHT)
    bar.get_by_role("button", name="Check my work").click(timeout=OPENING_MS)
    panel.get_by_text("All done.").wait_for(timeout=OPENING_MS)
    assert verdicts(page) == ["passed"]
    assert page.locator(".jp-SideBar .lm-TabBar-tabLabel", has_text="Create Assignment").count() == 0


def test_lab_follows_the_language_and_theme(
    new_page: Callable[..., Any], own: Studio, screenshot: Any
) -> None:
    page = new_page(at=own, locale="zh-CN", color_scheme="dark", viewport={"width": 1440, "height": 900})
    page.goto(f"{own.url}studio/courses")
    card = page.locator(f"#lesson-{LESSON}")
    started = card.get_by_role("button", name="打开我的副本").or_(card.get_by_role("button", name="开始"))
    started.click(no_wait_after=True)
    page.wait_for_url("**/lab/tree/**", wait_until="commit", timeout=OPENING_MS)
    bar = page.locator(".sampan-exercise")
    bar.get_by_role("button", name="检查我的作业").wait_for(timeout=OPENING_MS)
    page.locator(".lm-MenuBar").get_by_text("文件").wait_for()
    expect(page.locator("body[data-jp-theme-light=false]")).to_have_count(1, timeout=OPENING_MS)
    screenshot(page, "lesson-panel-zh-wide-dark", full_page=False)


def test_other_notebooks_have_no_lesson(own: Studio) -> None:
    import requests

    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(own.headers)
        assert session.get(f"{own.url}studio/courses/none/panel").status_code == 204
        assert session.get(f"{own.url}studio/courses/06_embeddings/panel").status_code == 204  # no copy of it
