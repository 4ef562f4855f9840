"""The Train page in a real browser, on real digits: train, watch, compare, draw, cancel, go wrong, both languages."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from studio import i18n, kept_runs
from tests.webapp.running import Studio

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
TRAINING_MS = 120_000
SEVEN = [(0.3, 0.2), (0.7, 0.2), (0.62, 0.4), (0.54, 0.6), (0.48, 0.82)]
ONE = [(0.5, 0.15), (0.5, 0.4), (0.5, 0.65), (0.5, 0.87)]
# Allowed Latin letters on a Chinese page: names.
NAMES = [
    "sampan",
    "softmax",
    "mnist",
    "uci",
    "mlp",
    "lenet",
    "sgd",
    "momentum",
    "adam",
    "adamw",
    "cpu",
    "cuda",
    "cc",
    "by",
    "sa",
    "archive.ics.uci.edu",
    "yann.lecun.com",
    "english",
]


@pytest.fixture(autouse=True)
def no_kept_runs(studio: Studio) -> None:
    """A visitor who has not trained yet: all tests share one workspace."""
    shutil.rmtree(kept_runs.folder(studio.home), ignore_errors=True)


class TrainPage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page = page
        self.lang = lang
        began = time.monotonic()
        page.goto(studio_url + "studio/page/train", wait_until="commit")
        page.wait_for_selector(".tr-form select", timeout=OPENING_MS)
        self.seconds_to_form = time.monotonic() - began
        page.wait_for_selector(".tr-form .mod-primary:not([disabled])", timeout=OPENING_MS)
        self.seconds_to_start = time.monotonic() - began
        self.choose("dataset", i18n.t("train.dataset.digits", lang))

    def choose(self, field: str, label: str) -> None:
        self.page.get_by_label(i18n.t(f"train.field.{field}", self.lang), exact=True).select_option(
            label=label
        )

    def choose_optimizer(self, name: str, rate: str) -> None:
        """The rate follows the optimizer, as long as the visitor has not typed one."""
        self.choose("optimizer", name)
        self.page.wait_for_function(
            f"document.querySelector('.tr-field-learning_rate input').value === '{rate}'"
        )

    def fill(self, field: str, text: str) -> None:
        self.page.get_by_label(i18n.t(f"train.field.{field}", self.lang), exact=True).fill(text)
        self.page.keyboard.press("Tab")

    def press(self, key: str) -> None:
        self.page.get_by_role("button", name=i18n.t(f"train.{key}", self.lang), exact=True).click()

    def wait_for(self, run: int, state: str) -> None:
        self.page.wait_for_selector(f'.tr-runs tr[data-run="{run}"]', timeout=TRAINING_MS)
        self.page.wait_for_selector(
            f'.tr-runs tr[data-run="{run}"][data-state="{state}"]', timeout=TRAINING_MS
        )

    def train(self, run: int) -> None:
        self.press("start")
        self.wait_for(run, "done")

    def figure(self, name: str) -> str:
        return str(self.page.locator(f'[data-figure="{name}"] .sp-value').inner_text())

    def points(self) -> int:
        return int(self.page.locator(".tr-chart").first.get_attribute("data-points") or 0)

    def corners(self, shape: list[tuple[float, float]]) -> list[tuple[float, float]]:
        canvas = self.page.locator(".tr-pad canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in shape]

    def draw(self, shape: list[tuple[float, float]]) -> None:
        first, *rest = self.corners(shape)
        mouse = self.page.mouse
        mouse.move(*first)
        mouse.down()
        for corner in rest:
            mouse.move(*corner, steps=6)
        mouse.up()

    def expect_digit(self, digit: int) -> None:
        """The answer to the whole drawing: the pad sends at most every 150 ms, and once at the end."""
        self.page.wait_for_timeout(600)
        self.page.wait_for_selector(f'.tr-prediction[data-digit="{digit}"]')
        bars = self.page.locator(".tr-bars li")
        shares = bars.evaluate_all("all => all.map(bar => +bar.dataset.p)")
        assert len(shares) == 10 and abs(sum(shares) - 1) < 0.01
        assert max(range(10), key=shares.__getitem__) == digit


def test_train_compare_look_draw(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    train = TrainPage(page, studio_url)
    print(f"Train page: form after {train.seconds_to_form:.1f} s, Start after {train.seconds_to_start:.1f} s")
    assert "real data" in page.locator(".tr-about").inner_text()
    assert train.points() == 0

    # Training may be over before a question from here is answered: the page itself notes what it showed.
    page.evaluate("""() => {
        window.points = []; window.shares = []; window.answers = [];
        const note = () => {
            points.push(+document.querySelector(".tr-chart").dataset.points);
            shares.push(document.querySelector(".tr-status progress")?.value ?? 0);
            if (!document.querySelector('.tr-status[data-state="running"]')) return;
            answers.push(document.querySelector(".tr-bars")?.innerText ?? "");
        };
        new MutationObserver(note).observe(document.body, {subtree: true, childList: true, attributes: true});
    }""")
    train.draw(ONE)
    train.fill("epochs", "240")  # some seconds: the bars move a few times
    train.press("start")
    train.wait_for(1, "done")
    points, shares, answers = page.evaluate("[points, shares, answers]")
    assert len(set(answers) - {""}) > 1, "the bars did not move while it trained"
    assert len(set(points) - {0}) > 1  # drawn while it trained, and not only at its end
    assert any(0 < share < 1 for share in shares)
    assert page.locator(".tr-status progress").evaluate("e => e.value") == 1
    assert float(train.figure("test_accuracy").rstrip(" %")) > 95
    assert float(train.figure("loss")) < 0.5

    train.choose_optimizer("SGD", rate="0.1")
    train.fill("epochs", "10")
    train.train(2)
    assert page.locator(".tr-runs tbody tr").count() == 2
    legend = page.locator(".tr-legend").first.locator("li")
    expect(legend.nth(0)).to_have_text("Run 1")
    expect(legend.nth(1)).to_have_text("Run 2")
    expect(page.locator(".tr-chart polyline.is-test")).to_have_count(4)  # two runs on two charts

    page.get_by_role("button", name="Show: Run 1").click()
    page.wait_for_selector('.tr-runs button[aria-pressed="true"][data-key="show-1"]')
    page.wait_for_function("document.querySelector('.tr-results').innerText.includes('Run 1')")
    matrix = page.locator(".tr-matrix td[title]")
    assert matrix.count() == 100
    assert sum(int(text) for text in matrix.all_inner_texts() if text.isdigit()) == 360
    pictures = page.locator(".tr-mistakes img")
    assert 0 < pictures.count() <= 12
    assert all(pictures.evaluate_all("all => all.map(e => e.naturalWidth === 8)"))
    assert all(
        re.fullmatch(r"A \d, predicted as \d", alt) for alt in pictures.evaluate_all("a => a.map(e => e.alt)")
    )

    train.expect_digit(1)
    assert page.locator(".tr-units").evaluate("e => [e.dataset.units, e.dataset.active]") == ["32", "32"]
    page.get_by_role("button", name="Draw a spiral").click()
    page.wait_for_selector('.tr-prediction[data-unlike="true"]')
    assert "none of these" in page.locator(".tr-prediction .sp-notice").inner_text()
    page.get_by_role("button", name="Clear").click()
    page.wait_for_selector(".tr-prediction", state="detached")
    train.draw(SEVEN)
    train.expect_digit(7)
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    screenshot(page, "train", full_page=False)
    screenshot(page, "train-whole")

    example = page.get_by_role("button", name="Use a test image")
    example.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("/Right|Wrong/.test(document.querySelector('.tr-answer').innerText)")
    assert axe(page) == []
    no_sideways(page)

    page.get_by_role("button", name="Remove: Run 1").click()
    page.wait_for_selector('.tr-runs tr[data-run="1"]', state="detached")
    page.wait_for_function("document.querySelector('.tr-results').innerText.includes('Run 2')")
    expect(page.locator(".tr-chart polyline.is-test")).to_have_count(2)

    page.reload(wait_until="commit")  # the runs and the settings are there again
    page.wait_for_selector('.tr-runs tr[data-run="2"][data-state="done"]', timeout=OPENING_MS)
    assert page.locator(".tr-runs tbody tr").count() == 1
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("10")
    expect(page.get_by_label("Learning rate", exact=True)).to_have_value("0.1")
    expect(page).to_have_url(re.compile("optimizer=SGD"))
    train.draw(SEVEN)
    train.expect_digit(7)


def test_wrong_values_and_a_rate_that_diverges(
    page: Any, studio_url: str, screenshot: Callable, axe: Callable
) -> None:
    train = TrainPage(page, studio_url)
    for field, text in (("learning_rate", "fast"), ("batch_size", "0"), ("epochs", "2.5")):
        good = page.get_by_label(i18n.t(f"train.field.{field}", "en"), exact=True).input_value()
        train.fill(field, text)
        train.press("start")
        alert = page.locator(".tr-form [role=alert]")
        alert.wait_for()
        assert text in alert.inner_text() and i18n.t(f"train.field.{field}", "en") in alert.inner_text()
        train.fill(field, good)
        alert.wait_for(state="detached")
    assert page.locator(".tr-runs tr").count() == 0

    train.choose_optimizer("SGD", rate="0.1")
    train.fill("learning_rate", "1e30")
    train.press("start")
    train.wait_for(1, "failed")
    notice = page.locator(".tr-live [role=alert]").inner_text()
    assert re.search(r"epoch 1, step \d+", notice, re.I)
    assert "1e+30" in notice and "smaller learning rate, for example 0.01" in notice
    assert axe(page) == []
    screenshot(page, "train-diverged", full_page=False)

    train.fill("learning_rate", "0.1")
    train.fill("epochs", "3")
    train.train(2)
    assert float(train.figure("test_accuracy").rstrip(" %")) > 60
    assert page.locator(".tr-live [role=alert]").count() == 0


def test_cancel(page: Any, studio_url: str) -> None:
    train = TrainPage(page, studio_url)
    train.choose("model", i18n.t("train.model.lenet", "en"))
    train.fill("epochs", "500")
    train.press("start")
    page.wait_for_function("+document.querySelector('.tr-chart').dataset.points > 0", timeout=TRAINING_MS)
    left = page.locator(".tr-state")
    page.wait_for_function(
        "/about .* left/.test(document.querySelector('.tr-state').innerText)", timeout=TRAINING_MS
    )
    assert "of 500" in left.inner_text()
    train.press("cancel")
    train.wait_for(1, "cancelled")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    cancelled = re.search(r"Cancelled in epoch (\d+) of 500", left.inner_text())
    assert cancelled and int(cancelled[1]) < 500  # training did not run to its end
    frame, remove = page.locator(".tr-runs"), page.get_by_role("button", name="Remove: Run 1")
    outer, inner = frame.bounding_box(), remove.bounding_box()  # at 1280 pixels
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
    assert frame.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_phone_finger_dark_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = phone
    train = TrainPage(page, studio_url, "zh")
    train.fill("epochs", "40")
    train.train(1)
    finger = page.context.new_cdp_session(page)
    corners = train.corners(SEVEN)
    path = [
        (a[0] + (b[0] - a[0]) * k / 5, a[1] + (b[1] - a[1]) * k / 5)
        for a, b in itertools.pairwise(corners)
        for k in range(6)
    ]
    for i, (x, y) in enumerate(path):
        kind = "touchMove" if i else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    train.expect_digit(7)
    no_sideways(page)
    heights = page.locator(".tr-actions button").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert heights and max(heights) < 40, "a button's words stand below each other"
    assert axe(page) == []
    words = set(re.findall(r"[a-z][a-z.]+", page.locator(".tr-page").inner_text().lower()))
    assert words <= set(NAMES), f"not Chinese: {sorted(words - set(NAMES))}"
    screenshot(page, "train-phone-zh-dark")
