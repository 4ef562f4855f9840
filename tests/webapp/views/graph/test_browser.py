"""The Graph page in a real browser: see, move, click, upload, learn, count, stream; both languages, phone and dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from studio import i18n

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
# Allowed Latin letters on a Chinese page: names, units, and the node types of graphs, which are data.
NAMES = set(
    [
        "sampan",
        "english",
        "gcn",
        "networkx",
        "zachary",
        "knuth",
        "bitcoin",
        "otc",
        "dblp",
        "cora",
        "citeseer",
        "csv",
        "tsv",
        "txt",
        "utf",
        "ms",
        "author",
        "paper",
        "venue",
        "writes",
        "published",
        "in",
        "cites",
        "term",
        "contains",
        "github",
        "com",
        "snap",
        "stanford",
        "edu",
        "licence",
        "mit",
    ]
)


class GraphPage:
    """The page as a visitor handles it."""

    def __init__(self, page: Any, studio_url: str, lang: str = "en") -> None:
        self.page, self.lang = page, lang
        page.goto(studio_url + "studio/page/graph", wait_until="commit")
        page.wait_for_selector('.gr-view[data-nodes="34"]', timeout=OPENING_MS)
        page.wait_for_selector(".gr-count", timeout=OPENING_MS)

    def t(self, key: str, **values: object) -> str:
        return i18n.t(f"graph.{key}", self.lang, **values)

    def form(self, number: int) -> Any:
        return self.page.locator(".sx-form").nth(number)

    def choose(self, key: str, label: str, form: int = 0) -> None:
        self.form(form).get_by_label(self.t(key), exact=True).select_option(label=label)

    def press(self, key: str, form: int) -> None:
        self.form(form).get_by_role("button", name=self.t(key), exact=True).click()

    @property
    def view(self) -> Any:
        return self.page.locator(".gr-view").first

    def inked(self, number: int) -> int:
        """How many pixels of a view have a colour."""
        return int(
            self.page.evaluate(
                """number => new Promise(done => requestAnimationFrame(() => {
                    const view = document.querySelectorAll('.gr-view')[number];
                    const [sheet] = view.querySelectorAll('canvas');
                    view.querySelector('[data-move=reset]').click();
                    requestAnimationFrame(() => {
                        const copy = document.createElement('canvas');
                        copy.width = sheet.width; copy.height = sheet.height;
                        const flat = copy.getContext('2d');
                        flat.drawImage(sheet, 0, 0);
                        const bytes = flat.getImageData(0, 0, copy.width, copy.height).data;
                        let inked = 0;
                        for (let i = 3; i < bytes.length; i += 4) inked += bytes[i] > 0;
                        done(inked);
                    });
                }))""",
                number,
            )
        )


def test_a_graph_is_seen_and_its_messages_followed(
    page: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    graph = GraphPage(page, studio_url)
    assert graph.view.get_attribute("data-webgl") == "true"
    page.wait_for_function("!document.querySelector('.gr-card progress')")
    assert graph.inked(0) > 200
    frame = graph.view.locator(".gr-frame")
    frame.press("n")  # the first node
    page.wait_for_selector('.gr-sample[data-node="0"][data-layer="0"]')
    assert int(graph.view.get_attribute("data-marks")) > 10
    layer = page.get_by_label(graph.t("field.layer"), exact=True)
    layer.press("ArrowRight")
    page.wait_for_selector('.gr-sample[data-layer="1"]')
    first = int(page.locator(".gr-sample").get_attribute("data-messages"))
    layer.press("ArrowRight")
    page.wait_for_selector('.gr-sample[data-layer="2"]')
    assert 0 < int(page.locator(".gr-sample").get_attribute("data-messages")) < first
    page.get_by_role("heading", name=graph.t("heading.explore"), exact=True).evaluate(
        "it => it.scrollIntoView()"
    )
    screenshot(page, "graph", full_page=False)

    page.get_by_label(graph.t("field.node"), exact=True).fill("34")
    page.get_by_label(graph.t("field.node"), exact=True).press("Enter")
    page.wait_for_selector('.gr-sample[data-node="33"]')
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    before = int(graph.view.get_attribute("data-frames"))
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 40, steps=4)
    page.mouse.up()
    page.wait_for_function(f"+document.querySelector('.gr-view').dataset.frames > {before}")
    assert page.locator('.gr-sample[data-node="33"]').count() == 1  # moving chooses nothing

    own = [f"{a},{b}" for a, b in [("Ann", "Ben"), ("Ben", "Cem"), ("<i>Dora</i>", "Ann")]]
    field = page.locator("input[type=file]")
    field.set_input_files({"name": "own.csv", "mimeType": "text/csv", "buffer": "\n".join(own).encode()})
    page.wait_for_selector('.gr-view[data-nodes="4"][data-edges="3"]')
    page.get_by_label(graph.t("field.node"), exact=True).fill("dora")
    page.get_by_label(graph.t("field.node"), exact=True).press("Enter")
    page.wait_for_function("document.querySelector('.gr-sample')?.innerText.includes('<i>Dora</i>')")
    field.set_input_files({"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\nalone\n"})
    alert = graph.form(0).locator("[role=alert]")
    alert.wait_for()
    assert "Line 2" in alert.inner_text()
    field.set_input_files({"name": "big.csv", "mimeType": "text/csv", "buffer": b"a,b\n" * 1_100_000})
    page.wait_for_function("document.querySelector('.sx-form [role=alert]')?.innerText.includes('4,400,000')")
    assert axe(page) == []
    no_sideways(page)
    assert _stays_in_its_card(page)


def test_learning_counting_and_alarms(
    page: Any, studio_url: str, screenshot: Callable, no_sideways: Callable
) -> None:
    graph = GraphPage(page, studio_url)
    graph.choose("field.graph", graph.t("graph.made"), 1)
    graph.press("train", 1)
    page.wait_for_selector(".gr-view >> nth=1 >> css=.gr-frame", timeout=OPENING_MS)
    page.wait_for_function(
        "document.querySelectorAll('.gr-view')[1].dataset.nodes === '4000'", timeout=OPENING_MS
    )
    page.wait_for_selector('.sx-live .sx-status[data-state="done"]', timeout=OPENING_MS)
    right = page.locator('[data-figure="right"] .sp-value').inner_text()
    assert float(right.split()[0]) > 60

    path = page.get_by_label(graph.t("field.path"), exact=True)
    path.fill("author, paper, nothing")
    path.press("Enter")
    page.wait_for_function("document.querySelectorAll('.gr-count').length === 0")
    assert "cannot be walked" in page.locator(".gr-card [role=alert]").inner_text()
    path.fill("author, paper, author")
    path.press("Enter")
    page.wait_for_selector(".gr-count")
    page.get_by_role("button", name=graph.t("path.remove"), exact=True).click()
    page.wait_for_function("document.querySelector('.gr-path')?.innerText === 'author → paper'")

    graph.choose("field.stream", graph.t("stream.made_stream"), 3)
    graph.choose("field.rate", graph.t("rate", count=50), 3)  # slow: long enough to be cancelled
    graph.press("stream.start", 3)
    page.wait_for_selector(".gr-reason", timeout=OPENING_MS)
    page.wait_for_function("+[...document.querySelectorAll('.tr-chart')].at(-1).dataset.points > 3")
    graph.press("cancel", 3)
    page.wait_for_selector('.sx-live .sx-status[data-state="cancelled"]', timeout=OPENING_MS)
    said = page.locator(".gr-reason .sx-verdict").inner_text()
    assert re.match(r"Probability that #\d+ rates #\d+ negatively: \d+\.\d %\. ", said)
    no_sideways(page)
    screenshot(page, "graph-whole")


def test_twenty_thousand_edges_stay_movable(page: Any, studio_url: str) -> None:
    """Frames while the picture is dragged. The limit is generous: this browser draws without a graphics card, beside
    other work."""
    graph = GraphPage(page, studio_url)
    graph.choose("field.graph", graph.t("graph.made"))
    page.wait_for_selector('.gr-view[data-nodes="4000"][data-edges="20000"]', timeout=OPENING_MS)
    page.wait_for_function("!document.querySelector('.gr-card progress')", timeout=OPENING_MS)
    times = page.evaluate(
        """() => new Promise(done => {
            const frame = document.querySelector('.gr-frame'), sheet = frame.querySelector('canvas');
            const gl = sheet.getContext('webgl2'), pixel = new Uint8Array(4), times = [];
            const keys = ['ArrowLeft', '+', 'ArrowUp', '-', 'ArrowRight', '+', 'ArrowDown', '-'];
            const one = (before) => requestAnimationFrame(() => {
                gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // waits until it is drawn
                const now = performance.now();
                times.push(now - before);
                if (times.length === 40) return done(times);
                frame.dispatchEvent(new KeyboardEvent('keydown', { key: keys[times.length % keys.length], bubbles: true }));
                one(now);
            });
            one(performance.now());
        })"""
    )
    median = sorted(times)[len(times) // 2]
    print(f"20,000 edges: median frame {median:.0f} ms, worst {max(times):.0f} ms")
    assert median < 2000


def _stays_in_its_card(page: Any) -> bool:
    """The label of the file field is wrapped, not cut or beyond the edge."""
    fits = (
        "it => it.getBoundingClientRect().right <= it.closest('.sx-form').getBoundingClientRect().right - 16"
    )
    return bool(page.locator(".gr-upload label").evaluate(fits))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower()))


def test_phone_dark_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = phone
    graph = GraphPage(page, studio_url, "zh")
    page.locator(".gr-frame").first.press("n")
    page.wait_for_selector(".gr-sample")
    words = _words(page.locator(".sx-page").inner_text())
    people = page.get_by_label(graph.t("field.start"), exact=True).get_attribute("placeholder")
    listed = page.locator("[data-label]").evaluate_all("found => found.map(one => one.dataset.label)")
    names = NAMES | _words(" ".join([people, *listed]))  # of the graph's nodes: data, as they are
    assert words <= names, f"not Chinese: {sorted(words - names)}"
    assert axe(page) == []
    no_sideways(page)
    assert _stays_in_its_card(page)
    assert graph.inked(0) > 100
    screenshot(page, "graph-phone-zh-dark")
