"""Sessions for people: what runs, what it uses, how long it may run; and how to stop or extend one.

`Sessions` blocks only where a method is not `async`: from the server call those through `asyncio.to_thread`.
"""

from __future__ import annotations

import asyncio
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from studio import processes, runtime

from . import jobs, machine, record
from .lease import Lease, Store
from .meter import Meter, Reading

DAY_S = 86400.0
_LEFT_S = 60.0  # a record this old without a lease is left over


@dataclass(frozen=True)
class Session:
    """A lease with what runs under it. Times in seconds since 1970; `culled_at` is 0 unless the session is idle.

    `kernel` is its kernel's id in the server, `job` the id of its job; both empty if it was started elsewhere.
    """

    lease: Lease
    reading: Reading
    kernel: str = ""
    job: str = ""
    culled_at: float = 0.0

    @property
    def id(self) -> str:
        return self.lease.id

    def time_left(self) -> float:
        """Seconds, never below 0."""
        return max(0.0, self.lease.ends - time.time())


class Sessions:
    """All sessions of this machine. `kernels` is the server's kernel manager, where there is a server."""

    def __init__(self, store: Store, state: Path, kernels: Any = None) -> None:
        self.store = store
        self.state = state
        self.kernels = kernels
        self._meter = Meter()

    def running(self, owner: str | None = None) -> list[Session]:
        """The sessions of one owner, or of all; oldest first."""
        return [self._session(lease) for lease in self.store.leases(owner)]

    def standing(self) -> list[Session]:
        """All sessions, without their resource use, which takes time to measure."""
        return [self._session(lease, look=False) for lease in self.store.leases()]

    def find(self, beginning: str, owner: str | None = None) -> Session:
        """The session whose id begins with this text. LookupError unless it is exactly one."""
        found = [lease for lease in self.store.leases(owner) if lease.id.startswith(beginning)]
        if len(found) != 1 or not beginning:
            raise LookupError(f"{len(found)} sessions have an id that begins with {beginning!r}")
        return self._session(found[0])

    def extend(self, lease_id: str, seconds: float) -> Lease:
        """More wall time. Raises as `Store.extend`."""
        lease = self.store.extend(lease_id, seconds)
        self.note(lease_id, ends=lease.ends)
        return lease

    def note(self, lease_id: str, **values: Any) -> None:
        """Change the record that the session reads; no-op if the session is gone."""
        about = record.read(self.state, lease_id)
        if about is not None and replace(about, **values) != about:
            record.write(self.state, replace(about, **values))

    def sweep(self) -> None:
        """Remove the records that killed processes left of ended sessions."""
        standing = {lease.id for lease in self.store.leases()}
        for file in (self.state / "sessions").glob("*.json"):
            if file.stem not in standing and time.time() - file.stat().st_mtime > _LEFT_S:
                record.remove(self.state, file.stem)

    async def stop(self, session: Session) -> None:
        """Interrupt, then terminate, then kill; the lease is given back."""
        if session.job:
            try:
                await asyncio.to_thread(jobs.cancel, session.job)
                return
            except LookupError:  # its folder was deleted under it
                pass
        if not await self._stop_kernel(session.kernel):
            holder = session.lease.holder
            if holder is not None and machine.alive(holder) and holder.pid != os.getpid():
                await processes.end(holder.pid)
        await asyncio.to_thread(self.store.release, session.id)
        record.remove(self.state, session.id)

    def week(self, owner: str) -> list[tuple[float, float]]:
        """Seconds of leases on each of the last seven days, today last: (midnight UTC, seconds)."""
        today = time.time() // DAY_S * DAY_S
        days = [today - back * DAY_S for back in range(6, -1, -1)]
        spans = [(use.granted, use.ended) for use in self.store.uses(days[0], owner)]
        spans += [(lease.granted, time.time()) for lease in self.store.leases(owner)]
        return [
            (day, sum(max(0.0, min(end, day + DAY_S) - max(begin, day)) for begin, end in spans))
            for day in days
        ]

    def _session(self, lease: Lease, look: bool = True) -> Session:
        reading = Reading()
        if look and lease.holder is not None:
            reading = self._meter.read(lease.holder.pid, lease.device)
        about = record.read(self.state, lease.id)
        if about is None:
            return Session(lease, reading)
        return Session(lease, reading, about.kernel, about.job, about.culled_at)

    async def _stop_kernel(self, kernel: str) -> bool:
        """Through the server that runs it: if it were only killed, the server would restart it."""
        if not kernel:
            return False
        if self.kernels is not None:
            if kernel not in self.kernels:
                return False
            await self.kernels.shutdown_kernel(kernel)
            return True
        studio = await asyncio.to_thread(runtime.find, self.state)
        return studio is not None and await asyncio.to_thread(_ask_to_stop, studio, kernel)


def _ask_to_stop(studio: runtime.Running, kernel: str) -> bool:
    """False if that Studio does not know the kernel or does not answer."""
    request = urllib.request.Request(
        f"{studio.url}api/kernels/{kernel}",
        method="DELETE",
        headers={"Authorization": f"token {studio.token}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy: this is 127.0.0.1
    try:
        with opener.open(request, timeout=15) as reply:
            return bool(reply.status == 204)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
