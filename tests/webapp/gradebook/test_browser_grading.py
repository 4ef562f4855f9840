"""The teacher's pages in a real browser: both languages, both widths, and for everybody's ears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from playwright.sync_api import expect

from studio.gradebook import book
from studio.gradebook.classroom import Classroom
from studio.gradebook.outcomes import Outcome
from studio.grading.verdict import Result, VerdictKind
from tests.webapp.running import Studio
from tools.made_class import ASSIGNMENT, make_class

pytestmark = pytest.mark.browser

CLASS = "made-up"
WIDTHS = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
LOCALES = {"en": "en-US", "zh": "zh-CN"}
NOTEBOOK = "02_training"
SLOTS = {"kernels.sgd_step": 2, "kernels.adam_step": 3, "hapi.train_epoch": 3}
CASE = {
    "case": "a large epsilon",
    "case_zh": "较大的 epsilon",
    "message": "case 'a large epsilon': wrong",
    "message_zh": "不对",
}


def verdict(slot: str, number: int) -> Result:
    """Made up too: every kind of verdict is to be seen."""
    kinds = get_args(VerdictKind)
    kind = kinds[number % len(kinds)]
    passed = kind == "passed"
    marks = (SLOTS[slot], SLOTS[slot] * passed, passed)
    told = CASE if kind == "failed" else {"message": "right", "message_zh": "对"}
    return Result(slot, slot, slot, *marks, **told, verdict=kind)


@pytest.fixture(scope="module")
def classroom(studio: Studio) -> Classroom:
    """Twelve made-up learners whose verdicts are made up as well: grading itself has its own tests."""
    folder = studio.home / "classes" / CLASS
    make_class(folder, learners=12, notebooks=(NOTEBOOK,))
    made = Classroom(folder)
    with book.opened(made) as gradebook:
        for number, submission in enumerate(made.submissions()[:-1]):
            trouble = "broken" if number == 5 else ""
            exercises = () if trouble else tuple(verdict(slot, number + n) for n, slot in enumerate(SLOTS))
            names = (submission.student, submission.assignment, submission.notebook)
            # Graded in a distant future, so that it is not older than what was handed in.
            stands = {"submitted": 1.7e9, "graded": 4e9, "sandboxed": True, "trouble": trouble}
            outcome = Outcome(*names, "sha256:0", exercises=exercises, **stands)
            book.enter(gradebook, outcome)
    return made


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lang", LOCALES)
def test_grading_in_every_dress(
    new_page: Callable[..., Any],
    studio_url: str,
    classroom: Classroom,
    screenshot: Callable[..., Path],
    axe: Any,
    no_sideways: Any,
    lang: str,
    width: str,
) -> None:
    scheme = "dark" if (lang, width) in (("zh", "wide"), ("en", "narrow")) else "light"
    page = new_page(
        locale=LOCALES[lang], viewport=WIDTHS[width], color_scheme=scheme, reduced_motion="reduce"
    )
    at = f"studio/grading/{CLASS}"
    paths = {
        "classes": "studio/grading",
        "class": at,
        "work": f"{at}/work/{ASSIGNMENT}/{NOTEBOOK}/made-02",
        "alike": f"{at}/alike/{ASSIGNMENT}/{NOTEBOOK}",
        "pair": f"{at}/alike/{ASSIGNMENT}/{NOTEBOOK}?first=made-01&second=made-02",
    }
    for name, path in paths.items():
        page.goto(studio_url + path)
        assert (
            page.locator("nav [aria-current=page]").first.inner_text()
            == {"en": "Grading", "zh": "评分"}[lang]
        )
        no_sideways(page)
        assert axe(page) == []
        screenshot(page, f"grading-{name}-{lang}-{width}-{scheme}")


def test_from_the_map_to_a_submission_by_keyboard(page: Any, studio_url: str, classroom: Classroom) -> None:
    page.goto(f"{studio_url}studio/grading/{CLASS}")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="made-01", exact=True))
    assert "Passed" in row.inner_text()  # in words, not in colour alone
    row.get_by_role("link").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    focused = "[document.activeElement.closest('tr').id, document.activeElement.closest('td').cellIndex]"
    assert page.evaluate(focused) == ["learner-made-02", 3]  # after the name and the points
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/work/{ASSIGNMENT}/{NOTEBOOK}/made-01")
    page.get_by_label("Mark by hand").first.fill("1,5")
    page.get_by_label("Comment for the learner").first.fill("Mind the sign.")
    page.get_by_role("button", name="Save, next", exact=True).click()
    page.wait_for_url("**/made-02?saved=1")
    page.get_by_role("link", name="Previous").click()
    page.wait_for_url(f"**/{NOTEBOOK}/made-01*")
    assert page.get_by_label("Comment for the learner").first.input_value() == "Mind the sign."
    page.get_by_text("The whole notebook").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Training").wait_for()
    assert page.get_by_text("a large epsilon").count() >= 1


def test_a_run_is_seen_and_can_be_stopped(page: Any, studio_url: str, classroom: Classroom) -> None:
    page.goto(f"{studio_url}studio/grading/{CLASS}")
    page.get_by_role("button", name="Grade all again").click()
    stop = page.get_by_role("button", name="Stop")
    stop.wait_for(timeout=60_000)
    assert page.get_by_role("progressbar").count() == 1
    stop.click()
    page.get_by_text("The last run was stopped").wait_for(timeout=60_000)
    expect(page.get_by_role("button", name="Grade all again")).to_be_visible()
