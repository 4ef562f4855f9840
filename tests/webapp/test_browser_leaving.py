"""Pages that are left while they load, whose kernel dies, whose server is away: places come back, nothing false is said."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from playwright.sync_api import expect

from studio import i18n
from studio.compute.lease import Lease
from studio.compute.sql import open_store
from tests.webapp.running import Studio, start_studio, until

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
STANDS = ".tp-walk[data-step]"  # the Tape page, alive


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A Studio whose kernels no other test starts or ends."""
    home = tmp_path_factory.mktemp("leaving")
    started = start_studio(home / "sampan", HOME=str(home), SAMPAN_CPU_SLOTS="2")
    yield started
    started.stop()


@pytest.fixture
def api(own: Studio) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(own.headers)
        yield session


def kernels(own: Studio, api: requests.Session) -> list[str]:
    return [kernel["id"] for kernel in api.get(f"{own.url}api/kernels").json()]


def leases(own: Studio) -> list[Lease]:
    with open_store(f"sqlite:///{own.home}/.studio/compute.sqlite3") as store:
        return store.leases()


@pytest.mark.parametrize("moment", ["commit", "domcontentloaded"])
def test_left_before_it_stands(
    new_page: Callable[..., Any], own: Studio, api: requests.Session, moment: str
) -> None:
    """While the page is being sent, and when all of it is there but the scripts that show it."""
    page = new_page(at=own)
    page.route("**/static/voila.js", lambda _: None)  # never comes
    page.goto(f"{own.url}studio/page/tape", wait_until=moment)
    assert len(kernels(own, api)) == 1
    page.goto("about:blank")
    # Left before its script has run, it says nothing: the server waits three minutes for a page to come.
    until(lambda: kernels(own, api) == [] and leases(own) == [], 240)


def test_loaded_again_and_again(new_page: Callable[..., Any], own: Studio, api: requests.Session) -> None:
    """More often than there are places."""
    page = new_page(at=own)
    page.goto(f"{own.url}studio/page/tape", wait_until="commit")
    for _ in range(4):
        until(lambda: len(kernels(own, api)) < 2, 240)
        page.reload(wait_until="commit")
    page.wait_for_selector(STANDS, timeout=OPENING_MS)
    until(lambda: len(kernels(own, api)) == 1)
    page.goto("about:blank")
    until(lambda: kernels(own, api) == [] and leases(own) == [])


def test_leaving_twice_at_once_is_no_error(own: Studio, api: requests.Session) -> None:
    kernel = api.post(f"{own.url}api/kernels", json={"name": "sampan"}).json()["id"]

    def leave() -> int:
        return requests.post(f"{own.url}voila/api/shutdown/{kernel}", headers=own.headers).status_code

    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(leave) for _ in range(4)]
        assert [answer.result() for answer in answers] == [204] * 4
    assert leave() == 204  # gone already
    assert kernel not in kernels(own, api)


def test_a_page_whose_kernel_died_says_so_and_gives_its_place_back(
    new_page: Callable[..., Any], own: Studio, api: requests.Session, axe: Any
) -> None:
    """Jupyter would start the kernel again, empty: the page would wait for ever for what it was promised."""
    page = new_page(at=own, locale="en-US")
    page.watch.expect("Kernel doesn't exist|404|WebSocket")
    page.goto(f"{own.url}studio/page/tape", wait_until="commit")
    page.wait_for_selector(STANDS, timeout=OPENING_MS)
    (lease,) = leases(own)
    assert lease.holder is not None
    os.kill(lease.holder.pid, signal.SIGKILL)
    page.get_by_text(i18n.t("sessions.ended", "en")).wait_for()
    until(lambda: kernels(own, api) == [] and leases(own) == [])
    assert axe(page) == []


def test_a_kernel_that_dies_while_its_page_is_made(own: Studio, api: requests.Session) -> None:
    def killed() -> bytes:
        with api.get(
            f"{own.url}studio/page/tape", headers={"Accept-Language": "en"}, stream=True, timeout=60
        ) as reply:
            pieces = reply.iter_content(None)
            html = next(pieces)  # all that stands above the cells; the kernel is only just starting
            (lease,) = leases(own)
            assert lease.holder is not None and lease.holder.pid != own.process.pid
            os.kill(lease.holder.pid, signal.SIGKILL)
            html += b"".join(pieces)
        until(lambda: kernels(own, api) == [] and leases(own) == [])
        return html

    # On a busy machine a page may be complete before the kill.
    pages = (killed() for _ in range(5))
    assert any(i18n.t("frame.page_failed", "en") in html.decode() for html in pages)


def test_a_server_that_is_away_is_told_until_it_is_back(page: Any, studio_url: str, axe: Any) -> None:
    page.watch.expect("ERR_FAILED")
    page.goto(f"{studio_url}studio/sessions")
    away = page.get_by_text(i18n.t("frame.away", "en"))
    expect(away).to_be_hidden()
    page.route("**/sessions/live*", lambda route: route.abort())
    away.wait_for()
    assert axe(page) == []
    page.unroute("**/sessions/live*")
    away.wait_for(state="hidden")


def test_a_server_in_trouble_loses_nobody_their_page(page: Any, studio_url: str) -> None:
    """Loaded again, a page that computes would lose its kernel."""
    page.watch.expect("^500 .*/sessions/live")
    page.goto(f"{studio_url}studio/sessions")
    page.evaluate("window.same = true")
    page.route("**/sessions/live*", lambda route: route.fulfill(status=500, body="trouble"))
    page.get_by_text(i18n.t("frame.away", "en")).wait_for()
    assert page.evaluate("window.same") and "trouble" not in page.content()


def test_logged_out_is_the_login_and_not_a_piece_of_the_page(page: Any, studio_url: str) -> None:
    page.goto(f"{studio_url}studio/sessions")
    page.context.clear_cookies()
    page.wait_for_url("**/login?next=*sessions")
    assert page.locator("main").count() == 1
