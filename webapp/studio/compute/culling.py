"""Culling: idle sessions end after a warning, and every session ends when its time is up.

Runs in the server. A kernel counts as used while it computes, when it sent a message, or when "keep" was pressed.
Jupyter's own culler is off: it ends a kernel without a warning, or never while a tab is open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from dataclasses import dataclass
from typing import Any

from . import machine, record
from .sessions import Session, Sessions
from .settings import number

log = logging.getLogger(__name__)
MINUTE = 60.0


@dataclass(frozen=True)
class Patience:
    """In seconds: how long a session may be idle before it is stopped, with a tab open and without; how long before
    that it is warned; how old a page may become, extended or not, and how long it is kept when no browser shows it
    (a page that is opened again gets a new kernel); how long a kernel may take to start; how long others (a job's
    supervisor, another server) have to end what they run; the interval of the checks."""

    idle: float = 20 * MINUTE
    idle_open: float = 60 * MINUTE
    warning: float = 5 * MINUTE
    page: float = 4 * 60 * MINUTE
    unseen: float = 3 * MINUTE
    start: float = 60.0
    others: float = 60.0
    look: float = 5.0

    @classmethod
    def from_environment(cls) -> Patience:
        """SAMPAN_IDLE_MINUTES without a tab; three times as long with one."""
        minutes = number("SAMPAN_IDLE_MINUTES", least=1)
        if minutes is None:
            return cls()
        idle = minutes * MINUTE
        return cls(idle=idle, idle_open=3 * idle, warning=min(cls.warning, idle / 2))


class Culler:
    """Culls the sessions of this machine; `kernels` is the server's kernel manager."""

    def __init__(self, sessions: Sessions, kernels: Any, patience: Patience | None = None) -> None:
        self.sessions = sessions
        self.kernels = kernels
        self.patience = patience or Patience.from_environment()
        self._ending: set[str] = set()
        self._alone: dict[
            str, float
        ] = {}  # since when a lease that we hold has had no kernel, or a page no browser

    async def run(self) -> None:
        """Loop forever. An error with one session does not stop the others."""
        while True:
            await asyncio.sleep(self.patience.look)
            try:
                await self.look()
            except Exception:
                log.exception("checking sessions failed")

    async def look(self, now: float | None = None) -> None:
        """One pass: warn sessions, and end those that are due."""
        now = time.time() if now is None else now
        standing = await asyncio.to_thread(self.sessions.standing)
        self._alone = {id: since for id, since in self._alone.items() if any(s.id == id for s in standing)}
        await asyncio.gather(*(self._look_at(session, now) for session in standing))
        await asyncio.to_thread(self.sessions.sweep)

    async def _look_at(self, session: Session, now: float) -> None:
        if (
            session.id in self._ending or session.lease.ask.purpose == "grading"
        ):  # which has limits of its own
            return
        kernel = self._kernel(session)
        why, culled_at = self._over(session, kernel, now), 0.0
        if kernel is not None and not why:
            idle_until = self._idle_until(session, kernel, now)
            why = "it was idle" if now >= idle_until else ""
            culled_at = 0.0 if now < idle_until - self.patience.warning else idle_until
        if why:
            log.info("session %s (%s) ends: %s", session.id, session.lease.ask.title, why)
            await self._end(session)
        else:
            await asyncio.to_thread(
                self.sessions.note, session.id, culled_at=culled_at, ends=session.lease.ends
            )

    def _kernel(self, session: Session) -> Any:
        """The manager of its kernel, None where it is not a kernel of this server."""
        if not session.kernel or session.kernel not in self.kernels:
            return None
        return self.kernels.get_kernel(session.kernel)

    def _over(self, session: Session, kernel: Any, now: float) -> str:
        """Why a session must end, independently of its user; "" if it need not."""
        lease = session.lease
        if now > lease.ends + (self.patience.others if kernel is None else 0.0):
            return "its time is up"
        if lease.ask.purpose == "page" and now > lease.granted + self.patience.page:
            return "a page may not be open this long"
        if kernel is None and lease.holder == machine.holder(os.getpid()):
            # It is starting, or Jupyter gave up after it died too often.
            since = self._alone.setdefault(session.id, now)
            return "its kernel did not start" if now - since > self.patience.start else ""
        if lease.ask.purpose == "page" and self._started(kernel) and not self._connections(session):
            since = self._alone.setdefault(session.id, now)
            return "no browser shows it" if now - since > self.patience.unseen else ""
        self._alone.pop(session.id, None)
        return ""

    @staticmethod
    def _started(kernel: Any) -> bool:
        return hasattr(kernel, "last_activity")

    def _connections(self, session: Session) -> int:
        return int(self.kernels.kernel_model(session.kernel)["connections"])

    def _idle_until(self, session: Session, kernel: Any, now: float) -> float:
        """When it will be stopped if it stays idle."""
        if not self._started(kernel):
            return now + self.patience.idle
        model = self.kernels.kernel_model(session.kernel)
        patience = self.patience.idle_open if self._connections(session) else self.patience.idle
        if model["execution_state"] == "busy":
            return now + patience
        used = (session.lease.granted, kernel.last_activity.timestamp())
        return max(*used, record.kept(self.sessions.state, session.id)) + patience

    async def _end(self, session: Session) -> None:
        self._ending.add(session.id)
        try:
            await self.sessions.stop(session)
        finally:
            self._ending.discard(session.id)
