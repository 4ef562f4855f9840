"""Starts every kernel of the Studio with a lease, a clean environment and limits.

Lab, Voilà, nbclient and grading all start kernels through the kernelspec, and so through this one place. Where
Jupyter ends or restarts a kernel, the server holds the lease until the next process has it, so that no other
process can take it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from jupyter_client.connect import KernelConnectionInfo, LocalPortCache
from jupyter_client.provisioning import LocalProvisioner
from sqlalchemy.exc import SQLAlchemyError
from tornado import web
from traitlets import Enum, Float

from studio import identity
from studio.environment import clean_environment

from . import here, machine, record
from .binding import environment_of, full, limits_of
from .cgroup import Cgroup
from .lease import Ask, Lease, Place, Purpose, Refused, Store
from .ports import AccountPorts
from .zygote.client import NotReady, Spawn

_LOOK_S = 0.3  # between two checks of the queue


class NoSession(web.HTTPError):
    """503 with the reason and the estimated wait; Lab, Voilà, our pages and the command line show it."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(503, f"{refusal.sentence}\n{refusal.sentence_zh}", reason=refusal.sentence)
        self.sentence, self.sentence_zh = refusal.sentence, refusal.sentence_zh


class SessionProvisioner(LocalProvisioner):
    """LocalProvisioner under a lease. Settings are in kernel.json or in the server's configuration."""

    wait_s = Float(3.0, config=True, help="how long a start waits for a free place before it answers 503")
    memory_gb = Float(4.0, config=True, help="memory of a session, in GiB, where the machine has it")
    hours = Float(8.0, config=True, help="wall time of a notebook's session")
    page_hours = Float(2.0, config=True, help="wall time of a page's session")
    kind = Enum(
        ["auto", "cpu", "gpu"],
        "auto",
        config=True,
        help="auto: notebooks get a part of a GPU where there is one, pages a place on the CPU",
    )
    gpu_share = Float(0.25, config=True, help="the part of a GPU's memory that a session gets")

    lease: Lease | None = None
    of_a_page = False  # known even after the lease has ended
    _cgroup: Cgroup | None = None
    _runs = False  # the kernel itself is the lease's holder
    _looking: asyncio.Task[None] | None = None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        before = dict(kwargs.get("env") or os.environ)
        await self._have_a_lease(before)
        assert self.lease is not None
        if not LocalPortCache.initialized():
            AccountPorts.instance()  # which `super` asks for ports
        try:
            prepared = await super().pre_launch(**kwargs)
            # After super(), which fills in the environment of the kernelspec.
            environment = clean_environment(prepared.get("env") or os.environ)
            environment.update(environment_of(self.lease, here.state()))
            if "QUERY_STRING" in environment:
                environment["QUERY_STRING"] = _without_ticket(environment["QUERY_STRING"])
            prepared["env"] = environment
        except BaseException:
            await self._give_back()
            raise
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        assert self.lease is not None
        lease = self.lease
        try:
            record.write(here.state(), record.of(lease, kernel=self.kernel_id or ""))
            limits = limits_of(lease)
            self._cgroup = limits.cgroup(lease.id)
            if not await self._forked(cmd, kwargs):

                def prepare() -> None:
                    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as zygote/child.py for its kernels
                    limits.apply()

                await super().launch_kernel(cmd, **kwargs, preexec_fn=prepare)
            assert self.pid is not None
            if self._cgroup is not None:
                self._cgroup.add(self.pid)
            await asyncio.to_thread(here.store().bind, lease.id, machine.holder(self.pid))
            self._runs = True
            self._watch(self.pid)
        except BaseException:
            await self.kill()
            await self._give_back()
            raise
        return self.connection_info

    async def poll(self) -> int | None:
        status = await super().poll()
        if status is not None and self._runs:
            self._runs = False
            await self._hold()
        return status

    def _watch(self, pid: int) -> None:
        """Detect its death at once: Jupyter checks every few seconds, and until then its lease could be taken."""
        if not hasattr(os, "pidfd_open"):
            return
        loop, end = asyncio.get_running_loop(), os.pidfd_open(pid)

        async def look() -> None:
            try:
                await self.poll()
            except (SQLAlchemyError, OSError):
                # Nothing awaits this task. The lease is returned anyway once its process is gone.
                self.log.exception("keeping the lease of a session that ended failed")

        def died() -> None:
            loop.remove_reader(end)
            os.close(end)
            self._looking = loop.create_task(look())

        loop.add_reader(end, died)

    async def cleanup(self, restart: bool = False) -> None:
        if self._cgroup is not None:
            self._cgroup.kill()
        if not restart:
            try:
                await self._give_back()
            except (SQLAlchemyError, OSError):
                # A server that stops must not hang here: the lease is returned anyway once its process is gone.
                self.log.exception("giving back a session's lease failed")
        await super().cleanup(restart)

    async def _forked(self, cmd: list[str], kwargs: dict[str, Any]) -> bool:
        """Start it from the warm process if one is ready."""
        assert self.lease is not None
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        spawn = Spawn(
            what="kernel",
            argv=arguments,
            env=kwargs["env"],
            cwd=str(kwargs.get("cwd") or Path.cwd()),
            limits=limits_of(self.lease),
            output=None,
        )
        try:
            self.process: Any = await here.zygote().spawn(spawn)
        except NotReady as reason:
            self.log.info("A kernel starts without the warm process: %s", reason)
            return False
        self.pid = self.pgid = self.process.pid
        self.cwd = spawn.cwd
        return True

    async def _have_a_lease(self, environment: dict[str, str]) -> None:
        """The lease of the previous process, or a new one."""
        if self.lease is not None and await self._hold():
            return
        ticket = None if self.lease is not None else _ticket(environment)
        self.lease = await self._granted(self._ask(environment), ticket)
        self.of_a_page = self.lease.ask.purpose == "page"

    async def _granted(self, ask: Ask, ticket: str | None) -> Lease:
        """Waits only briefly, because the caller cannot show progress meanwhile. Raises NoSession."""
        end, current = time.monotonic() + self.wait_s, ticket
        try:
            while True:
                answer = await _finish(asyncio.to_thread(self._take, ask, current), here.store())
                if isinstance(answer, Lease):
                    return answer
                current = answer.ticket
                if time.monotonic() > end:
                    if current != ticket:  # only this function knows the ticket
                        await asyncio.to_thread(here.store().leave, current)
                    raise full(answer)
                await asyncio.sleep(_LOOK_S)
        except Refused as refusal:
            raise NoSession(refusal) from refusal

    def _take(self, ask: Ask, ticket: str | None) -> Lease | Place:
        return here.store().take(ask, ticket, machine.holder(os.getpid()))

    async def _hold(self) -> bool:
        """Hold the lease in this process until the next one runs. False if it was taken back."""
        if self.lease is None:
            return False
        try:
            await asyncio.to_thread(here.store().bind, self.lease.id, machine.holder(os.getpid()))
        except LookupError:
            return False
        return True

    async def _give_back(self) -> None:
        lease, self.lease = self.lease, None
        if lease is not None:
            await asyncio.to_thread(here.store().release, lease.id)
            record.remove(here.state(), lease.id)
        if self._cgroup is not None:
            await asyncio.to_thread(self._cgroup.remove)
            self._cgroup = None

    def ask(self, purpose: Purpose, title: str) -> Ask:
        """The request of a page (`title` is its name) or a notebook (its path)."""
        ours = here.store().machine
        real = any(device.id.startswith("gpu:") for device in ours.devices)
        gpu = self.kind == "gpu" or (self.kind == "auto" and purpose == "notebook" and real)
        return Ask(
            owner=identity.local().name,
            purpose=purpose,
            title=title,
            kind="gpu" if gpu else "cpu",
            share=self.gpu_share if gpu else 1.0,
            memory=min(int(self.memory_gb * 2**30), ours.slot_memory),  # so that no slot waits for memory
            seconds=3600 * (self.page_hours if purpose == "page" else self.hours),
        )

    def _ask(self, environment: dict[str, str]) -> Ask:
        """The request if there is no ticket: Voilà names the page, Lab the notebook."""
        page = environment.get("SCRIPT_NAME", "").rstrip("/").rpartition("/")[2]
        return (
            self.ask("page", page) if page else self.ask("notebook", environment.get("JPY_SESSION_NAME", ""))
        )


async def _finish(granting: Any, store: Store) -> Lease | Place:
    """Wait for a thread that may return a lease; if cancelled meanwhile, give the lease back."""
    task: asyncio.Task[Lease | Place] = asyncio.ensure_future(granting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        answer = await task
        if isinstance(answer, Lease):
            await asyncio.to_thread(store.release, answer.id)
        raise


def _ticket(environment: dict[str, str]) -> str | None:
    """The ticket of our waiting page: Voilà passes the query string, others an environment variable."""
    query = parse_qs(environment.get("QUERY_STRING", ""))
    return query.get("ticket", [None])[-1] or environment.get("SAMPAN_TICKET") or None


def _without_ticket(query: str) -> str:
    return urlencode([(k, v) for k, values in parse_qs(query).items() if k != "ticket" for v in values])
