"""The queue and the Sessions page in a real browser, at a Studio with one place and a simulated GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.webapp.running import Studio, free_port, start_studio, until

pytestmark = pytest.mark.browser

NARROW = {"width": 390, "height": 844}
OPENING_MS = 90_000
# A job that reports its progress and then waits until it is ended.
JOB = """
import time
from sampan import session
for step in range(1, 41):
    session.progress(step, 80, loss=2.0 / step, accuracy=1 - 1 / step)
print("half of <b>it</b> is done", flush=True)
(session.artefacts() / "weights.txt").write_text("1 2 3")
time.sleep(600)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    person = tmp_path_factory.mktemp("small")
    started = start_studio(
        person / "sampan",
        *("--port", str(free_port())),
        HOME=str(person),
        SAMPAN_CPU_SLOTS="1",
        SAMPAN_SIMULATED_GPUS="1",
    )
    yield started
    started.stop()


@pytest.fixture
def api(small: Studio) -> Iterator[requests.Session]:
    """Jupyter's own API; afterwards no kernel is left."""
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(small.headers)
        yield session
        for kernel in session.get(f"{small.url}api/kernels").json():
            session.delete(f"{small.url}api/kernels/{kernel['id']}")


def start_notebook(api: requests.Session, small: Studio, name: str = "mine.ipynb") -> str:
    """Opens a notebook as Lab does; returns its kernel's id."""
    asked = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "sampan"}}

    def started() -> requests.Response | None:
        reply = api.post(f"{small.url}api/sessions", json=asked)
        # 503: the page of the test before has its place for some seconds more.
        assert reply.status_code in (201, 503), reply.text
        return reply if reply.status_code == 201 else None

    return str(until(started, 60).json()["kernel"]["id"])


PRESS = """(shown, name) => {
    const text = shown.innerText;
    const button = [...shown.querySelectorAll("button")].find((one) => one.textContent.includes(name));
    button?.click();
    return button ? text : "";
}"""


def keep_idle(record: Path, shown: Any, button: str, look: Callable[[], Any]) -> str:
    """Writes into the record that the session is idle, `look`s, and presses the button; gives what was `shown` then.

    The server finds within seconds that the session is not idle, and takes the notice back. So the text is read and
    the button pressed in one step, and all of it is done again until the server has heard.
    """
    kept = record.with_suffix(".keep")

    def pressed() -> str:
        about = {**json.loads(record.read_text()), "culled_at": time.time() + 200}
        new = record.with_suffix(".new")
        new.write_text(json.dumps(about))
        new.replace(record)  # in one step, as the Studio does: it reads the file at any moment
        look()
        text: str = shown.evaluate(PRESS, button)
        end = time.monotonic() + 5
        while text and not kept.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return text if kept.exists() else ""

    return str(until(pressed))


def test_two_visitors_wait_for_one_place(
    new_page: Callable[..., Any],
    small: Studio,
    api: requests.Session,
    screenshot: Any,
    axe: Any,
    no_sideways: Any,
) -> None:
    kernel = start_notebook(api, small)
    first = new_page(at=small, locale="en-US")
    first.goto(f"{small.url}studio")
    first.get_by_role("link", name="Open Tape").click()
    first.wait_for_url(re.compile(r"/studio/open/page/tape\?ticket=\w{32}$"))
    first.get_by_text("1st of 1", exact=True).wait_for()
    second = new_page(at=small, locale="zh-CN", viewport=NARROW, color_scheme="dark")
    second.goto(f"{small.url}studio/open/page/tape")
    second.get_by_text("第 2 位，共 2 位").wait_for()
    first.evaluate("window.stayed = true")
    first.get_by_text("1st of 2", exact=True).wait_for()  # live
    for page, name in ((first, "queue-en-wide-light"), (second, "queue-zh-narrow-dark")):
        no_sideways(page)
        assert axe(page) == []
        screenshot(page, name)
    assert not re.search(r"[\u4e00-\u9fff]", first.locator("main").inner_text())

    place = second.url
    second.reload()
    second.get_by_text("第 2 位，共 2 位").wait_for()  # the same place as before
    assert second.url == place

    assert first.evaluate("window.stayed")
    first.get_by_role("button", name="Leave the queue").click()
    first.wait_for_url("**/studio")
    second.get_by_text("第 1 位，共 1 位").wait_for()
    assert second.url == place

    assert api.delete(f"{small.url}api/kernels/{kernel}").status_code == 204
    second.wait_for_url("**/studio/page/tape**", wait_until="commit", timeout=OPENING_MS)
    line = second.locator(".sp-status")
    line.get_by_text("剩余").wait_for(timeout=OPENING_MS)
    assert "CPU" in line.inner_text() and "ticket" not in second.url
    second.locator("#content .jupyter-widgets").first.wait_for(timeout=OPENING_MS)
    no_sideways(second)
    screenshot(second, "status-line-zh-narrow-dark")


def test_the_queue_without_scripts(
    new_page: Callable[..., Any], small: Studio, api: requests.Session
) -> None:
    start_notebook(api, small)
    page = new_page(at=small, locale="en-US", java_script_enabled=False)
    page.goto(f"{small.url}studio/open/page/tape")
    page.get_by_text("1st of 1", exact=True).wait_for()
    place = page.url
    with page.expect_navigation(timeout=30_000):  # it looks again by itself
        pass
    assert page.url == place and page.get_by_text("1st of 1", exact=True).count() == 1
    page.get_by_role("button", name="Stop mine.ipynb").click()  # one's own session frees the place
    page.wait_for_url("**/studio/page/tape?ticket=*", timeout=30_000, wait_until="commit")


def test_a_free_place_costs_no_look(small: Studio, api: requests.Session) -> None:
    address = f"{small.url}studio/open/page/tape"

    def asked() -> str:
        reply = api.get(address, allow_redirects=False)
        assert reply.status_code == 302
        return str(reply.headers["Location"])

    def leave(where: str) -> None:
        data = {"ticket": where.partition("ticket=")[2]}
        assert api.post(address, data=data, allow_redirects=False).status_code == 303

    def opened() -> str:
        """Where it leads at once; nothing while the page of the test before still has the place."""
        where = asked()
        if re.fullmatch(r"/studio/page/tape\?ticket=\w{32}", where):
            return where
        leave(where)
        return ""

    page, queue = until(opened), asked()
    ticket = queue.partition("ticket=")[2]
    assert queue == f"/studio/open/page/tape?ticket={ticket}"  # the place is held for the one before
    for where in (page, queue):
        leave(where)


@pytest.mark.parametrize(
    "path", ["page/nothing", "lab/nothing.ipynb", "lab/../x.ipynb", "lab/.studio/x.ipynb", "lab/readme.txt"]
)
def test_only_what_is_there_can_be_waited_for(small: Studio, api: requests.Session, path: str) -> None:
    assert api.get(f"{small.url}studio/open/{path}").status_code == 404


def test_no_place_outside_the_queue(
    new_page: Callable[..., Any], small: Studio, api: requests.Session, screenshot: Any, axe: Any
) -> None:
    start_notebook(api, small)
    page = new_page(at=small, locale="en-US")
    page.watch.expect(r"503 .*/studio/page/tape")
    page.goto(f"{small.url}studio/page/tape")
    assert "All places are in use" in page.locator("main").inner_text()
    assert axe(page) == []
    screenshot(page, "no-place")
    page.get_by_role("link", name="Wait in the queue").click()
    page.get_by_text("1st of 1", exact=True).wait_for()
    page.get_by_role("button", name="Leave the queue").click()
    page.wait_for_url("**/studio")
    refused = api.post(
        f"{small.url}api/sessions",
        json={"path": "b.ipynb", "name": "b.ipynb", "type": "notebook", "kernel": {"name": "sampan"}},
        headers={"Accept-Language": "zh"},
    )
    assert refused.status_code == 503 and refused.json()["message"].startswith("现在没有空位")


def test_a_kernel_on_the_sessions_page(
    new_page: Callable[..., Any],
    small: Studio,
    api: requests.Session,
    screenshot: Any,
    axe: Any,
    no_sideways: Any,
) -> None:
    (small.home / "mine.ipynb").write_text(
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}'
    )
    page = new_page(at=small, locale="en-US")
    page.goto(f"{small.url}studio/sessions")
    page.get_by_text("No session is running.").wait_for()
    kernel = start_notebook(api, small)
    card = page.locator(".sp-session", has_text="mine.ipynb")
    card.wait_for()  # live
    assert {"Notebook", "CPU"} <= set(card.locator(".sp-tag").all_inner_texts())
    memory = card.locator(".sp-stat", has_text="Memory").locator("dd")
    until(lambda: re.fullmatch(r"[1-9]\d* MB", memory.inner_text()))
    page.evaluate("window.stayed = true")
    assert card.get_by_text("7 h 5", exact=False).count() == 1
    extend = card.get_by_role("button", name="Extend by one hour")
    extend.focus()
    page.keyboard.press("Enter")
    card.get_by_text("8 h 5", exact=False).wait_for()
    assert page.evaluate("document.activeElement.textContent").startswith("Extend by one hour")  # focus stays
    assert axe(page) == []
    screenshot(page, "sessions-en-wide-light")

    record = next((small.home / ".studio" / "sessions").glob("*.json"))

    assert "Idle: it will be stopped in 3 min" in keep_idle(record, card, "Keep it", page.reload)

    narrow = new_page(at=small, locale="zh-CN", viewport=NARROW, color_scheme="dark")
    narrow.goto(f"{small.url}studio/sessions?who=everyone")
    narrow.locator(".sp-session", has_text="mine.ipynb").wait_for()
    no_sideways(narrow)
    assert axe(narrow) == []
    screenshot(narrow, "sessions-zh-narrow-dark")

    card.get_by_role("link", name="Open in the workbench").wait_for()
    card.get_by_role("button", name="Stop").click()
    page.get_by_text("No session is running.").wait_for()
    assert kernel not in [entry["id"] for entry in api.get(f"{small.url}api/kernels").json()]


def test_the_keep_button_in_the_status_line_of_lab(
    new_page: Callable[..., Any], small: Studio, api: requests.Session, screenshot: Any
) -> None:
    (small.home / "mine.ipynb").write_text(
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}'
    )
    kernel = start_notebook(api, small)
    page = new_page(at=small, locale="zh-CN")
    page.goto(f"{small.url}lab/tree/mine.ipynb", wait_until="commit")
    line = page.locator(".sampan-session")
    line.get_by_text("剩余").wait_for(timeout=OPENING_MS)
    record = next((small.home / ".studio" / "sessions").glob("*.json"))
    assert not record.with_suffix(".keep").exists()
    button = line.get_by_role("button", name="保留")

    assert "空闲：" in keep_idle(record, line, "保留", lambda: page.wait_for_timeout(500))
    button.wait_for(state="detached")  # the server has heard it, and the line was drawn again
    assert api.delete(f"{small.url}api/kernels/{kernel}").status_code == 204


def start_job(small: Studio, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(JOB)
    code = (
        "import sys; from studio.compute import jobs; from studio.compute.lease import Ask; from studio import identity;"
        "jobs.start(sys.argv[1], ask=Ask(identity.local().name, 'job', 'train.py', kind='gpu'))"
    )
    environment = {
        **os.environ,
        "SAMPAN_HOME": str(small.home),
        "SAMPAN_SIMULATED_GPUS": "1",
        "SAMPAN_CPU_SLOTS": "1",
    }
    subprocess.run([sys.executable, "-c", code, str(script)], env=environment, check=True)


def test_a_job_with_its_curves(
    new_page: Callable[..., Any],
    small: Studio,
    tmp_path: Path,
    screenshot: Any,
    axe: Any,
    no_sideways: Any,
) -> None:
    start_job(small, tmp_path)
    page = new_page(at=small, locale="en-US", viewport=NARROW)
    page.goto(f"{small.url}studio/sessions")
    card = page.locator(".sp-session[id^='job-']")
    card.locator(".sp-tag", has_text="Running").wait_for(timeout=60_000)
    card.locator(".sp-curve").nth(1).wait_for(timeout=60_000)
    assert "GPU 0, simulated" in card.inner_text()
    until(lambda: card.get_by_role("progressbar").get_attribute("value") == "0.500")
    card.get_by_text("End of the log").click()
    card.get_by_text("half of <b>it</b> is done").wait_for()
    no_sideways(page)
    assert axe(page) == []
    screenshot(page, "sessions-job-narrow")
    with page.expect_download() as download:
        card.get_by_role("link", name="weights.txt").click()
    assert Path(download.value.path()).read_text() == "1 2 3"
    card.get_by_role("button", name="Cancel").click()
    card.locator(".sp-tag", has_text="Cancelled").wait_for(timeout=60_000)
    card.get_by_text("half of <b>it</b> is done").wait_for()  # what was opened stays open
    card.get_by_role("button", name="Remove").click()
    card.wait_for(state="detached")
