"""The Tape page in a real browser: run, walk by buttons, slider and keys, go wrong, both languages, phone and dark."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from studio import i18n

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
NAMES = "relu mm add sum affine conv gpt mlp lenet sampan english softmax randn rand ones zeros full eye arange linspace to_tensor home end conv2d"


class TapePage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        page.goto(studio_url + "studio/page/tape", wait_until="commit")
        page.wait_for_selector(".tp-walk[data-step]", timeout=OPENING_MS)

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"tape.{key}", self.lang, **values)

    def press(self, word: str) -> None:
        self.page.get_by_role("button", name=self.t(word), exact=True).click()

    def choose(self, key: str) -> None:
        self.page.get_by_label(self.t("field.program"), exact=True).select_option(label=self.t(key))

    def write(self, text: str) -> None:
        self.page.get_by_label(self.t("field.text"), exact=True).fill(text)
        self.page.keyboard.press("Tab")
        self.press("run")

    def at(self, step: int) -> None:
        self.page.wait_for_selector(f'.tp-walk[data-step="{step}"]')

    def position(self) -> str:
        return str(self.page.locator(".tp-position").inner_text())

    def wait_for_boxes(self, count: int) -> None:
        self.page.wait_for_function(
            f"document.querySelectorAll('.tp-box').length === {count}", timeout=OPENING_MS
        )


def test_walk_forward_and_backward(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    tape = TapePage(page, studio_url)
    tape.wait_for_boxes(7)  # x, w, b; product, bias, relu, sum
    assert re.match(r"Step 1 of 8, forward: \w+", tape.position())
    facts = page.locator(".tp-facts").inner_text()
    assert "[4, 3] [3, 2]" in facts and "[4, 2]" in facts and "float32" in facts and "48" in facts
    assert page.locator(".tp-box.has-gradient").count() == 0
    tape.press("walk.next")
    tape.at(1)
    tape.press("walk.last")
    tape.at(7)
    assert "backward" in tape.position() and page.locator(".tp-box.has-gradient").count() == 7
    assert "lambda g" in "".join(page.locator(".tp-source mark").all_inner_texts())
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    tape.at(6)
    page.locator(".tp-picture").focus()
    page.keyboard.press("Home")
    tape.at(0)
    # the numbers of a parameter: read, changed, and as they were
    page.locator(".tp-chooser select").select_option(label="x [4, 3]")
    page.locator(".tp-cells").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert re.fullmatch(r"x\[1, 0\] = -?[\d.]+", page.locator(".tp-readout").inner_text())
    assert tape.t("walk.later") in page.locator(".tp-tables").inner_text()  # the gradient
    tape.press("walk.change")
    page.get_by_label("x[1, 0] =", exact=False).fill("25")
    assert axe(page) == []
    tape.press("walk.set")
    page.wait_for_selector('.tp-cells span:text-is("25")')
    tape.press("walk.own")
    page.wait_for_function("!document.querySelector('.tp-changes').innerText.includes('changed')")
    tape.press("walk.play")
    # Paused in the same moment: a step lasts about a second.
    page.wait_for_function("""() => {
        const walk = document.querySelector('.tp-walk');
        if (+walk.dataset.step < 2) return false;
        walk.querySelector('[data-do=play]').click();
        return true;
    }""")
    page.get_by_role("button", name=tape.t("walk.play"), exact=True).wait_for()
    stopped = page.locator(".tp-walk").get_attribute("data-step")
    page.wait_for_timeout(1500)
    assert page.locator(".tp-walk").get_attribute("data-step") == stopped
    assert axe(page) == []
    no_sideways(page)
    page.locator(".tp-walk").evaluate("walk => scrollTo(0, walk.getBoundingClientRect().top + scrollY - 60)")
    screenshot(page, "tape", full_page=False)
    screenshot(page, "tape-whole")

    tape.choose("model.gpt")
    page.wait_for_function("document.querySelectorAll('.tp-box').length > 46", timeout=OPENING_MS)
    late = int(slider.get_attribute("max")) - 5
    slider.fill(str(late))
    tape.at(late)
    assert page.locator(".tp-box.is-now").evaluate(
        "box => { const a = box.getBoundingClientRect(), b = box.closest('.tp-picture').getBoundingClientRect();"
        " return a.top >= b.top && a.bottom <= b.bottom && a.left >= b.left && a.right <= b.right; }"
    )
    screenshot(page, "tape-gpt")


def test_what_is_wrong_is_said_and_the_walk_stays(page: Any, studio_url: str) -> None:
    tape = TapePage(page, studio_url)
    for text, words in (
        ("x = randn([2, 3])\nrelu(x).sun()", "Line 2: sun is not defined here. Did you mean sum?"),
        ("x = randn([2, 3])\nx @ x", "The library raised an error."),
        ("__import__('os').getcwd()", "Line 1: __import__ is not defined here."),
        ("randn([3])", "the result does not depend on any parameter"),
    ):
        tape.write(text)
        page.wait_for_function(
            "words => document.querySelector('.tp-form [role=alert]')?.innerText.includes(words)", arg=words
        )
        assert page.locator(".tp-box").count() == 7  # the walk before
    tape.write("x = randn([3])\n(x * x).sum()")
    tape.wait_for_boxes(3)
    assert page.locator(".tp-form [role=alert]").count() == 0


def test_a_part_of_the_page_that_comes_late(page: Any, studio_url: str) -> None:
    """What begins when the page stands waits for its last button too."""
    late = []

    def hold(route: Any) -> None:
        late.append(route.request.url)
        time.sleep(2)
        route.continue_()

    for script in (Path(sys.prefix) / "share/jupyter/labextensions/@jupyter-widgets").rglob("*.js"):
        if "ButtonModel" in script.read_text("utf-8"):
            page.route(f"**/{script.name}*", hold)
    tape = TapePage(page, studio_url)
    tape.wait_for_boxes(7)
    assert late
    assert page.get_by_role("button", name=tape.t("run"), exact=True).is_enabled()


def test_phone_dark_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = phone
    tape = TapePage(page, studio_url, "zh")
    tape.choose("example.convolution")
    tape.wait_for_boxes(5)
    tape.press("walk.next")
    tape.at(1)
    assert "前向" in tape.position()
    words = " ".join(page.locator(f".tp-{part}").inner_text() for part in ("form", "controls", "legend"))
    foreign = {word.lower() for word in re.findall(r"[A-Za-z_]{3,}", words)} - set(NAMES.split())
    assert not foreign
    assert axe(page) == []
    no_sideways(page)
    frame = page.locator(".tp-picture").bounding_box()
    for box in page.locator(".tp-box").all():  # the whole graph is in sight
        inside = box.bounding_box()
        assert (
            inside["x"] >= frame["x"] - 1 and inside["x"] + inside["width"] <= frame["x"] + frame["width"] + 1
        )
    screenshot(page, "tape-phone-dark-zh")
    tape.write("x = randn([2, 3])\nx @ x")
    details = page.locator(".tp-form [role=alert] details")
    details.wait_for()
    expect(details.locator("code")).to_be_hidden()
    details.locator("summary").click()
    assert "matmul" in details.locator("code").inner_text()
    tape.choose("model.gpt")
    page.wait_for_selector('.tp-graph[data-scrolls="true"]', timeout=OPENING_MS)
    expect(page.locator(".tp-rest")).to_be_visible()  # what is not in sight is announced
