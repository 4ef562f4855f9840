"""Idle sessions are culled, with a warning that can be answered, and sessions end when their time is up."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from sqlalchemy.exc import SQLAlchemyError

import sampan
from studio.compute import here, machine, record
from studio.compute.culling import Culler, Patience
from studio.compute.lease import Ask, Lease
from studio.compute.sessions import Session, Sessions
from studio.paths import JUPYTER_SHARE
from studio.server.kernels import StudioKernels

pytestmark = pytest.mark.servers

PATIENCE = Patience(idle=100, idle_open=300, warning=20, page=1000, unseen=180, start=60)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    monkeypatch.setenv("JUPYTER_PATH", str(JUPYTER_SHARE))
    yield tmp_path
    here.store().close()


class Server:
    """The parts of a server that culling has to do with, all of them real."""

    def __init__(self) -> None:
        specs = StudioKernels(allowed_kernelspecs={"sampan"}, ensure_native_kernel=False)
        self.kernels = AsyncMappingKernelManager(kernel_spec_manager=specs, default_kernel_name="sampan")
        self.sessions = Sessions(here.store(), here.state(), self.kernels)
        self.culler = Culler(self.sessions, self.kernels, PATIENCE)

    async def start(self, **environment: str) -> Session:
        kernel = await self.kernels.start_kernel(env={**os.environ, **environment})
        return next(session for session in self.sessions.standing() if session.kernel == kernel)

    async def quiet(self, session: Session) -> float:
        """Computes something, and waits until the kernel has nothing more to say; when it was last used."""
        kernel = self.kernels.get_kernel(session.kernel)
        client = kernel.client()
        client.start_channels()
        await client.wait_for_ready(timeout=30)  # type: ignore[misc]
        client.execute("1")
        while (await client.get_shell_msg(timeout=30))["msg_type"] != "execute_reply":  # type: ignore[misc]
            pass  # answers to "are you ready?"
        client.stop_channels()
        end = time.monotonic() + 30
        while kernel.execution_state != "idle":  # type: ignore[attr-defined]
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
        return float(kernel.last_activity.timestamp())  # type: ignore[attr-defined]

    def busy(self, session: Session) -> None:
        """From now on, whatever its kernel has said before and is still on the way."""
        self.kernels.stop_watching_activity(session.kernel)
        self.kernels.get_kernel(session.kernel).execution_state = "busy"  # type: ignore[attr-defined]

    def about(self, session: Session) -> record.Record | None:
        return record.read(here.state(), session.id)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        await server.kernels.shutdown_all(now=True)


def run(test: Callable[[Server], Any]) -> None:
    async def go() -> None:
        async with serving() as server:
            await test(server)

    asyncio.run(go())


def test_an_idle_kernel_is_warned_kept_and_then_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(server: Server) -> None:
        session = await server.start(JPY_SESSION_NAME="one.ipynb")
        used = await server.quiet(session)
        await server.culler.look(used + 70)
        about = server.about(session)
        assert about is not None and about.culled_at == 0
        await server.culler.look(used + 90)
        about = server.about(session)
        assert about is not None and about.culled_at == pytest.approx(used + 100, abs=9)

        monkeypatch.setenv("SAMPAN_SESSION", str(record.path(here.state(), session.id)))
        sampan.session.keep()
        kept = record.kept(here.state(), session.id)
        assert kept > used
        await server.culler.look(kept + 70)
        about = server.about(session)
        assert about is not None and about.culled_at == 0

        server.kernels.notify_connect(session.kernel)  # a tab is open: it takes longer
        await server.culler.look(kept + 150)
        assert session.kernel in server.kernels
        server.kernels.notify_disconnect(session.kernel)
        await server.culler.look(kept + 110)
        assert session.kernel not in server.kernels
        assert server.about(session) is None and here.store().leases() == []

    run(test)


def test_time_and_age_are_up_whoever_works(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(server: Server) -> None:
        notebook = await server.start(JPY_SESSION_NAME="one.ipynb")
        page = await server.start(SCRIPT_NAME="/studio/page/train")
        for session in (notebook, page):
            await server.quiet(session)
            server.busy(session)
        assert page.lease.ask.purpose == "page" and page.lease.ask.title == "train"
        server.kernels.notify_connect(page.kernel)
        await server.culler.look(page.lease.granted + 990)
        assert len(server.sessions.standing()) == 2
        await server.culler.look(page.lease.granted + 1001)  # a page has a hard age
        assert [session.id for session in server.sessions.standing()] == [notebook.id]
        longer = server.sessions.extend(notebook.id, 600)
        about = server.about(notebook)
        assert about is not None and about.ends == longer.ends == notebook.lease.ends + 600
        await server.culler.look(longer.ends - 1)
        assert server.sessions.standing()
        await server.culler.look(longer.ends + 1)
        assert server.sessions.standing() == []

    run(test)


def test_a_page_that_no_browser_shows_gives_its_place_back() -> None:
    async def test(server: Server) -> None:
        notebook = await server.start(JPY_SESSION_NAME="one.ipynb")
        page = await server.start(SCRIPT_NAME="/studio/page/train")
        used = max([await server.quiet(notebook), await server.quiet(page)])
        server.kernels.notify_connect(page.kernel)
        await server.culler.look(used + 20)
        server.kernels.notify_disconnect(page.kernel)  # the network, for a minute
        await server.culler.look(used + 30)
        server.kernels.notify_connect(page.kernel)
        await server.culler.look(used + 35)
        server.kernels.notify_disconnect(page.kernel)  # the browser, for good, in the middle of training
        for session in (notebook, page):
            server.busy(session)
        await server.culler.look(used + 40)
        await server.culler.look(used + 215)
        assert len(server.sessions.standing()) == 2
        await server.culler.look(used + 225)
        assert [session.id for session in server.sessions.standing()] == [notebook.id]

    run(test)


def test_a_server_stops_though_its_store_is_gone(home: Path) -> None:
    async def test(server: Server) -> None:
        session = await server.start(JPY_SESSION_NAME="one.ipynb")
        pid = server.kernels.get_kernel(session.kernel).provisioner.pid  # type: ignore[attr-defined]
        here.store().close()  # or its open connection would go on with the removed file
        shutil.rmtree(home)
        with pytest.raises(SQLAlchemyError):
            here.store().release(session.id)
        await asyncio.wait_for(server.kernels.shutdown_all(now=True), 20)
        assert session.kernel not in server.kernels and not psutil.pid_exists(pid)

    run(test)


def test_the_end_of_what_no_kernel_runs() -> None:
    async def test(server: Server) -> None:
        store = here.store()
        process = await asyncio.create_subprocess_exec("sleep", "600")
        elsewhere = store.take(
            Ask("ann", "notebook", memory=1 << 20, seconds=10), holder=machine.holder(process.pid)
        )
        ours = store.take(Ask("ann", "notebook", memory=1 << 20), holder=machine.holder(os.getpid()))
        grading = store.take(
            Ask("ann", "grading", memory=1 << 20, seconds=10), holder=machine.holder(os.getpid())
        )
        assert isinstance(elsewhere, Lease) and isinstance(ours, Lease) and isinstance(grading, Lease)
        now = elsewhere.granted
        await server.culler.look(now + 60)
        assert len(store.leases()) == 3  # its owner has a minute to end it
        await server.culler.look(now + 71)  # then the process ends, not only its lease
        assert await asyncio.wait_for(process.wait(), 60) != 0
        assert [lease.id for lease in store.leases()] == [ours.id, grading.id]
        await server.culler.look(now + 131)  # a start that came to nothing
        assert [lease.id for lease in store.leases()] == [grading.id]
        store.release(grading.id)

    run(test)
