"""A real Studio and a real browser for the tests of the web application.

`studio` starts `sampan studio` as a person would, once for all tests, in a workspace of its own. `page` is a
browser page that is already logged in; when its test ends, the test fails if the page asked any host but
127.0.0.1 for anything, logged an error, or got an answer of 400 or above that the test did not announce:

    def test_something(page, studio_url):
        page.goto(studio_url + "studio/courses")
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.webapp.running import Studio, free_port, start_studio

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
CHROMIUM_FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fixtures see whether their test failed: `new_page` then prints what its pages showed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright keeps an event loop in this thread, under which asyncio.run refuses to work."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One Studio for all tests, with a secret in its environment that no kernel may see."""
    person = tmp_path_factory.mktemp("person")
    started = start_studio(
        person / "sampan",
        *("--port", str(free_port())),
        HOME=str(person),
        MY_CLOUD_TOKEN="do-not-tell",
        SAMPAN_CPU_SLOTS="16",  # notebooks that one test has opened keep their places; the next ones need some too
    )
    yield started
    started.stop()


@pytest.fixture(scope="session")
def studio_url(studio: Studio) -> str:
    """http://127.0.0.1:<port>/ without the token; `page` has logged in already."""
    return studio.url


@pytest.fixture(scope="session")
def launch_chromium() -> Iterator[Callable[..., Any]]:
    """`launch_chromium(*more_flags)`: a browser of its own; the caller closes it."""
    from playwright.sync_api import expect, sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    flags = list(CHROMIUM_FLAGS)
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses its sandbox to root
    expect.set_options(timeout=30_000)  # a page may be late on a busy machine
    with sync_playwright() as playwright:
        yield lambda *more: playwright.chromium.launch(executable_path=path, args=[*flags, *more])


@pytest.fixture(scope="session")
def browser(launch_chromium: Callable[..., Any]) -> Iterator[Any]:
    chromium = launch_chromium()
    yield chromium
    chromium.close()


class Watch:
    """What a page did that it should not have."""

    def __init__(self) -> None:
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.refused: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect(self, pattern: str) -> None:
        """Announce an answer of 400 or above, as a pattern over "404 http://...", or a console error."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        # Chromium logs "Failed to load resource" for each refusal, without the address: the refusal counts.
        errors = [error for error in self.errors if "Failed to load resource" not in error]
        seen = [f"asked a foreign host: {url}" for url in self.foreign] + self.refused + errors
        return [line for line in seen if not any(pattern.search(line) for pattern in self._expected)]

    def attach(self, context: Any) -> None:
        def gate(route: Any) -> None:
            if re.match(r"(https?|wss?)://127\.0\.0\.1[:/]", route.request.url):
                route.continue_()
            else:
                self.foreign.append(route.request.url)
                route.abort()

        context.route("**/*", gate)
        context.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("response", self._answer)

    def _answer(self, response: Any) -> None:
        if response.status >= 400:
            self.refused.append(f"{response.status} {response.url}")


@pytest.fixture
def new_page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """`new_page(logged_in=True, at=<another Studio>, **context_options)`: watched pages; `page.watch.expect(...)`
    announces a refusal."""
    opened: list[tuple[Any, Watch]] = []

    def make(logged_in: bool = True, at: Studio | None = None, **options: Any) -> Any:
        there = at or request.getfixturevalue("studio")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        watch = Watch()
        watch.attach(context)
        opened.append((context, watch))
        page = context.new_page()
        page.watch = watch
        # JupyterLab asks for a kernel if a notebook is there before the list of kernels.
        page.add_locator_handler(
            page.locator(".jp-Dialog", has_text=re.compile("Select Kernel|选择内核")),
            lambda dialog: dialog.locator(".jp-mod-accept").click(),
        )
        if logged_in:
            context.request.get(f"{there.url}studio?token={there.token}")  # sets the cookie, loads nothing
        return page

    yield make
    if request.node.stash.get(FAILED, False):
        for left in (left for context, _ in opened for left in context.pages):
            print(f"--- {left.url}\n{left.inner_text('body')[:4000]}")
    for context, _ in opened:
        for left in context.pages:
            left.goto(
                "about:blank"
            )  # as a person leaves: a page that computes gives its place back; closing does not tell it
        context.close()
    unexpected = [line for _, watch in opened for line in watch.unexpected()]
    assert not unexpected, "\n".join(unexpected)


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """A logged-in page, 1280 x 900, English."""
    return new_page(locale="en-US")


@pytest.fixture
def phone(new_page: Callable[..., Any]) -> Any:
    """A logged-in page on a telephone, 390 x 844, Chinese and dark."""
    screen = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    return new_page(**screen, locale="zh-CN", color_scheme="dark")


@pytest.fixture
def screenshot() -> Callable[..., Path]:
    """`screenshot(page, name)` writes build/screenshots/<name>.png."""

    def take(page: Any, name: str, full_page: bool = True) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, full_page=full_page)
        return path

    return take


def accessibility_problems(page: Any) -> list[str]:
    """axe-core's violations on the page as it stands: rule, help text and the elements."""
    import axe_playwright_python

    # A colour on its way from one to another may have too little contrast for a moment.
    page.evaluate(
        "document.getAnimations().forEach(a => isFinite(a.effect.getComputedTiming().endTime) && a.finish())"
    )
    script = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
    page.evaluate(script)  # not a script element: the page's own policy stays in force
    result = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']})"
    )  # details of what passes take a quarter
    return [
        f"{violation['id']}: {violation['help']}: {[node['target'] for node in violation['nodes']][:4]}"
        for violation in result["violations"]
    ]


@pytest.fixture
def axe() -> Callable[[Any], list[str]]:
    """`assert axe(page) == []`."""
    return accessibility_problems


@pytest.fixture
def no_sideways() -> Callable[[Any], None]:
    """`no_sideways(page)`: nothing makes the page wider than its window."""

    def check(page: Any) -> None:
        width, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= window, f"the page is {width} px wide in a window of {window} px"

    return check


@pytest.fixture
def visitor(studio: Studio) -> Iterator[requests.Session]:
    """A browser without a screen: logged in by the address that was printed, cookies from then on."""
    with requests.Session() as session:
        session.trust_env = False
        reply = session.get(f"{studio.url}studio", params={"token": studio.token})
        assert reply.ok
        yield session
