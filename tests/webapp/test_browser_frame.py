"""The Studio's frame in a real browser: what a person sees, in both languages, widths and themes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from studio import digit_reader
from studio.paths import PAGES
from studio.server.pages import PageShelf
from studio.views.train import drawing
from tests.webapp.cells import write_cells
from tests.webapp.running import Studio

pytestmark = pytest.mark.browser

WIDTHS = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
LOCALES = {"en": "en-US", "zh": "zh-CN"}
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSON = "00_orientation"


def test_with_the_token(new_page: Callable[..., Any], studio: Studio) -> None:
    page = new_page(logged_in=False, locale="en-US")
    page.goto(f"{studio.url}?token={studio.token}")
    assert page.url == f"{studio.url}studio"
    assert page.get_by_role("heading", level=1).inner_text() == "Learn deep learning by building it."
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert all(cookie["sameSite"] == "Strict" for cookie in cookies.values())


def test_without_the_token(new_page: Callable[..., Any], studio: Studio, screenshot: Any, axe: Any) -> None:
    page = new_page(logged_in=False, locale="en-US")
    page.watch.expect(r"401 .*/login")
    page.goto(f"{studio.url}studio/courses")
    assert page.get_by_role("heading", level=1).inner_text() == "This Studio is locked"
    assert axe(page) == []
    screenshot(page, "login")
    page.get_by_label("paste the token").fill("guess")
    page.get_by_role("button", name="Open the Studio").click()
    assert "not the token" in page.get_by_role("alert").inner_text()
    assert axe(page) == []
    page.get_by_label("paste the token").fill(studio.token)
    page.get_by_role("button", name="Open the Studio").click()
    page.wait_for_url("**/studio/courses")


def accessible_in_both_themes(page: Any, axe: Callable[[Any], list[str]]) -> None:
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(page) == [], theme


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lang", LOCALES)
def test_pages_in_every_dress(
    new_page: Callable[..., Any],
    studio_url: str,
    screenshot: Any,
    axe: Any,
    no_sideways: Any,
    lang: str,
    width: str,
) -> None:
    page = new_page(locale=LOCALES[lang], viewport=WIDTHS[width], reduced_motion="reduce")
    for name, path in (("home", "studio"), ("courses", "studio/courses")):
        page.goto(studio_url + path)
        assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-Hans"}[lang]
        no_sideways(page)
        screenshot(page, f"{name}-{lang}-{width}")
        if (name, lang, width) == ("home", "en", "wide"):
            page.locator("[data-digit][data-best='3']").wait_for()
            screenshot(page, "home", full_page=False)
        accessible_in_both_themes(page, axe)
        if lang == "en":
            assert not re.search(r"[\u4e00-\u9fff]", page.locator("main").inner_text())


# The sum of all shifts of the layout that no input of the visitor caused (web.dev, "Cumulative Layout Shift"; good: < 0.1).
SHIFTS = """
    window.shifted = 0;
    window.skeleton = false; // it may be gone before it is asked for
    new MutationObserver(() => { skeleton ||= !!document.querySelector(".sp-skeleton"); })
        .observe(document, { childList: true, subtree: true });
    const watch = (list) => list.getEntries().forEach((e) => { if (!e.hadRecentInput) window.shifted += e.value; });
    new PerformanceObserver(watch).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("name", [page.name for page in PageShelf(PAGES).listed()])
def test_a_page_that_computes_keeps_its_layout_and_is_accessible(
    new_page: Callable[..., Any], studio_url: str, axe: Any, no_sideways: Any, name: str
) -> None:
    page = new_page(locale="en-US", viewport=WIDTHS["narrow"], reduced_motion="reduce")
    page.add_init_script(SHIFTS)
    page.goto(f"{studio_url}studio/page/{name}", wait_until="commit")
    page.wait_for_function("window.skeleton", timeout=90_000)
    page.locator("#loading").wait_for(state="detached", timeout=90_000)
    expect(page.locator("main")).not_to_contain_text("Loading widget", timeout=90_000)
    page.wait_for_timeout(1500)  # the library arrives, and says what there is
    no_sideways(page)
    accessible_in_both_themes(page, axe)
    assert page.evaluate("shifted") < 0.1


@pytest.mark.parametrize("lang", LOCALES)
def test_nothing_is_wider_than_a_phone(
    new_page: Callable[..., Any], studio_url: str, no_sideways: Any, lang: str
) -> None:
    """The pages that compute have phones of their own, in their own tests."""
    page = new_page(locale=LOCALES[lang], viewport=WIDTHS["narrow"])
    page.watch.expect("404 .*/nothing-here")
    for path in ("", "/courses", "/sessions", "/sessions?who=everyone", "/grading", "/nothing-here"):
        page.goto(f"{studio_url}studio{path}")
        no_sideways(page)


def test_a_chinese_heading_is_not_broken_inside_a_word(new_page: Callable[..., Any], studio_url: str) -> None:
    page = new_page(locale=LOCALES["zh"], viewport=WIDTHS["narrow"])
    page.goto(f"{studio_url}studio")
    last_of_lines = page.evaluate("""() => {
        const text = document.querySelector("h1").firstChild, range = document.createRange(), found = [];
        const top = i => (range.setStart(text, i), range.setEnd(text, i + 1), range.getBoundingClientRect().top);
        for (let i = 1; i < text.length; i++) if (top(i) > top(i - 1) + 9) found.push(text.data[i - 1]);
        return found;
    }""")
    assert set(last_of_lines) <= {"，"}


# A seven, and a hook that leans: the second is sheared when it is prepared.
DRAWINGS = (
    [(0.3, 0.2), (0.7, 0.2), (0.48, 0.82)],
    [(0.75, 0.15), (0.45, 0.45), (0.3, 0.8), (0.6, 0.85), (0.65, 0.6)],
)


def test_a_digit_is_read_on_home_as_the_pages_prepare_it(page: Any, studio_url: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{studio_url}studio")
    page.locator("[data-digit][data-best='3']").wait_for()  # the drawing at rest
    drawn = page.locator("canvas[data-drawn]")  # each when its module has come
    drawn.nth(7).wait_for()
    assert drawn.count() == 8
    box = page.locator(".tr-pad canvas").bounding_box()
    first, *rest = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in DRAWINGS[0]]
    page.mouse.move(*first)
    page.mouse.down()
    for corner in rest:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    page.locator("[data-digit][data-best='7']").wait_for()
    page.get_by_text("The network reads a 7").wait_for()

    network = digit_reader.load()
    for strokes in DRAWINGS:  # the same numbers as in Python, for the same ink
        image = Image.new("L", (140, 140))
        points = [(140 * x, 140 * y) for x, y in strokes]
        ImageDraw.Draw(image).line(points, fill=255, width=11, joint="curve")
        seen, shares = page.evaluate(
            """async ([bytes, network]) => {
                const part = document.querySelector("[data-digit]");
                const reader = await import(part.dataset.reader);
                const numbers = reader.likeUciDigits(Uint8Array.from(bytes), 140);
                return [Array.from(numbers), reader.probabilities(reader.unpack(network), Array.from(numbers))];
            }""",
            [list(image.tobytes()), network],
        )
        expected = drawing.like_uci_digits(drawing.from_bytes(image.tobytes(), 140))
        assert np.abs(np.array(seen) - expected.reshape(-1)).max() <= 1 / 16 + 1e-6
        assert np.abs(np.array(seen) - expected.reshape(-1)).mean() < 0.005
        logits = digit_reader.logits(network, np.array([seen], np.float32))[0]
        softmax = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        assert np.abs(np.array(shares) - softmax).max() < 1e-4


def test_no_dead_links(page: Any, studio_url: str) -> None:
    seen: set[str] = set()
    waiting = [f"{studio_url}studio"]
    while waiting:
        address = waiting.pop()
        reply = page.context.request.get(address)
        assert reply.ok, address
        if "/lab" in address:
            continue
        for href in re.findall(r'href="([^"#?]+)', reply.text()):
            if re.match("https?:", href):  # the source of some data: another host, which is not asked
                continue
            absolute = studio_url + href.lstrip("/")
            if absolute not in seen:
                seen.add(absolute)
                # A page that computes would start a kernel for this; its own tests open it.
                if "/studio/open/" not in absolute:
                    waiting.append(absolute)
    assert {f"{studio_url}lab", f"{studio_url}studio/sessions", f"{studio_url}studio/courses"} <= seen


def test_language_switch(page: Any, studio_url: str) -> None:
    page.goto(f"{studio_url}studio/courses")
    page.get_by_role("button", name="中文").click()
    page.wait_for_url("**/studio/courses")
    assert page.get_by_role("heading", level=1).inner_text() == "课程"
    page.goto(f"{studio_url}studio")
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    page.get_by_role("button", name="English").click()
    page.get_by_role("link", name="Home", exact=True).wait_for()


def switch_theme(page: Any, expected: str) -> None:
    """Click, and wait until the choice is a cookie: it is sent in the background."""
    page.get_by_role("button", name="Switch between light and dark").click()
    deadline = time.monotonic() + 20
    while {"sampan_theme": expected}.items() - {
        c["name"]: c["value"] for c in page.context.cookies()
    }.items():
        assert time.monotonic() < deadline, f"the theme {expected} was not stored"
        page.wait_for_timeout(50)


def test_theme_switch_needs_no_reload_and_is_remembered(page: Any, studio_url: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{studio_url}studio")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.evaluate("window.stayed = true")
    switch_theme(page, "dark")
    dark = page.evaluate(ground)
    assert page.evaluate("window.stayed") and dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    switch_theme(page, "light")
    assert page.evaluate(ground) == light


def test_forms_work_without_scripts(new_page: Callable[..., Any], studio_url: str) -> None:
    page = new_page(locale="en-US", java_script_enabled=False, color_scheme="light")
    page.goto(f"{studio_url}studio")
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_url("**/studio")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator(".sp-nav summary").filter(has_text="Learn").click()
    page.get_by_role("link", name="Courses Notebooks").click()
    page.wait_for_url("**/studio/courses")


def test_by_keyboard(page: Any, studio_url: str, axe: Any) -> None:
    page.goto(f"{studio_url}studio")
    page.keyboard.press("Tab")
    focused = "document.activeElement.textContent.trim()"
    assert page.evaluate(focused) == "Skip to the content"
    assert page.locator(".sp-skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    ring = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
    assert ring != "none"

    header = page.locator(".sp-header").bounding_box()
    assert header["height"] < 70  # one row
    page.locator(".sp-nav summary").filter(has_text="Play").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Train Watch").wait_for()
    assert axe(page) == []
    page.keyboard.press("Tab")
    assert page.evaluate(focused).startswith("Train")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "Play" and page.locator("details[data-menu][open]").count() == 0


def test_workbench_asks_nobody_else(page: Any, studio_url: str, screenshot: Any) -> None:
    page.goto(f"{studio_url}lab", timeout=120_000)
    page.locator(".jp-LauncherCard").first.wait_for(timeout=120_000)
    assert page.locator(".jp-LauncherCard[title*='Sampan']").count() >= 1
    screenshot(page, "workbench", full_page=False)


def test_an_error_is_a_page_of_the_studio(page: Any, studio_url: str, axe: Any) -> None:
    page.watch.expect(r"404 .*/nowhere")
    page.goto(f"{studio_url}studio/nowhere")
    assert page.get_by_role("heading", level=1).inner_text() == "There is no page at this address."
    assert axe(page) == []
    page.get_by_role("link", name="Go to Home").click()
    page.wait_for_url("**/studio")


# ---- a notebook, opened and graded ------------------------------------------------------------------


needs_lesson = pytest.mark.skipif(
    not (NOTEBOOKS / f"{LESSON}.ipynb").exists(), reason=f"notebooks/{LESSON}.ipynb is not there"
)


def solve(copy: Path) -> None:
    """Write the instructor's solution cells into the learner's copy, as a learner who is right would."""
    solution = json.loads((NOTEBOOKS / f"{LESSON}.ipynb").read_text("utf-8"))
    answers = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["source"]
        for cell in solution["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    write_cells(copy, answers)


def check(page: Any, verdict: str) -> Any:
    card = page.locator(f"#lesson-{LESSON}")
    card.get_by_role("button", name="Check my work").click()
    card.get_by_text(verdict).wait_for(timeout=180_000)
    return card


@needs_lesson
def test_open_a_copy_and_be_graded(
    page: Any, studio: Studio, screenshot: Any, axe: Any, no_sideways: Any
) -> None:
    copy = studio.home / "notebooks" / f"{LESSON}.ipynb"
    copy.unlink(missing_ok=True)
    page.goto(f"{studio.url}studio/courses")
    page.locator(f"#lesson-{LESSON}").get_by_role("button", name="Start").click()
    page.wait_for_url(f"**/lab/tree/notebooks/{LESSON}.ipynb", timeout=120_000)
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=120_000)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for(timeout=120_000)
    assert copy.exists() and "BEGIN SOLUTION" not in copy.read_text("utf-8")
    page.locator(".jp-RenderedMarkdown h1").first.wait_for(timeout=120_000)
    screenshot(page, "lesson", full_page=False)

    page.goto(f"{studio.url}studio/courses")
    card = check(page, "Not there yet.")
    assert card.locator("[data-kind]:not([data-kind=passed])").count() >= 1
    assert axe(page) == []

    solve(copy)
    page.reload()
    card = check(page, "All done.")
    assert card.locator("[data-kind]:not([data-kind=passed])").count() == 0
    assert axe(page) == []
    no_sideways(page)
    screenshot(page, "courses-graded")
    page.get_by_role("button", name="中文").click()
    page.get_by_text("全部完成。").wait_for()  # the verdict is kept, and follows the language


@needs_lesson
def test_a_cell_that_never_ends_can_be_stopped(page: Any, studio: Studio) -> None:
    copy = studio.home / "notebooks" / f"{LESSON}.ipynb"
    page.goto(f"{studio.url}studio/courses")
    if not copy.exists():
        page.locator(f"#lesson-{LESSON}").get_by_role("button", name="Start").click()
        page.wait_for_url("**/lab/tree/**", timeout=120_000)
        page.goto(f"{studio.url}studio/courses")
    notebook = json.loads(copy.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not cell["metadata"].get("nbgrader", {}).get("locked"):
            cell["source"] = "exercise = 0\nwhile True: pass"  # the name makes grading run the cell
    copy.write_text(json.dumps(notebook), "utf-8")
    card = page.locator(f"#lesson-{LESSON}")
    card.get_by_role("button", name="Check my work").click()
    expect(card.get_by_role("button", name="Check my work")).to_be_disabled()
    card.get_by_role("button", name="Stop").click()
    card.get_by_text("Stopped. Nothing was graded.").wait_for(timeout=30_000)
    expect(card.get_by_role("button", name="Check my work")).to_be_enabled()


@needs_lesson
def test_start_again_keeps_the_old_copy(page: Any, studio: Studio) -> None:
    folder = studio.home / "notebooks"
    copy = folder / f"{LESSON}.ipynb"
    folder.mkdir(exist_ok=True)
    copy.write_text('{"mine": true}')
    page.goto(f"{studio.url}studio/courses")
    card = page.locator(f"#lesson-{LESSON}")
    card.get_by_text("Start again").click()
    card.get_by_role("button", name="Make a fresh copy").click()
    page.wait_for_url(f"**/studio/courses#lesson-{LESSON}")
    assert "cells" in json.loads(copy.read_text("utf-8"))
    kept = [path for path in folder.glob(f"{LESSON} *.ipynb") if path.read_text("utf-8") == '{"mine": true}']
    assert len(kept) == 1
