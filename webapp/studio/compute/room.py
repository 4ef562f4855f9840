"""Holds leases for kernels that are about to start: the place was granted, but the browser still loads the page."""

from __future__ import annotations

import asyncio
import time

from .lease import Ask, Lease, Place, Refused, Store

RENEW_S = 3.0  # a lease that no process uses must be renewed this often, or it is taken back
# From the redirect to the start of the kernel. On a small machine Lab may load for long before it requests one.
HELD_S = {"page": 20.0, "notebook": 60.0}


class WaitingRoom:
    """The tickets of this server. Call all methods in the event loop's thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._held: dict[str, Ask] = {}
        self._gone: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def look(self, ask: Ask, ticket: str | None = None) -> Lease | Place:
        """Request a place, or renew the request; a granted lease is held from then on. Raises as `Store.take`, and
        LookupError when the ticket's owner has left the queue."""
        if ticket in self._gone:
            raise LookupError(f"the ticket {ticket!r} was given up")
        answer = await asyncio.to_thread(self.store.take, ask, ticket)
        if ticket in self._gone:  # during our request, which put it in the queue again
            await asyncio.to_thread(self.store.leave, ticket)
            raise LookupError(f"the ticket {ticket!r} was given up")
        if isinstance(answer, Lease) and answer.holder is None and answer.id not in self._held:
            self._held[answer.id] = ask
            task = asyncio.create_task(self._hold(answer.id, ask))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return answer

    async def leave(self, ticket: str) -> None:
        """Leave the queue for good: later requests with this ticket fail."""
        self._gone.add(ticket)
        self._held.pop(ticket, None)
        await asyncio.to_thread(self.store.leave, ticket)

    def ticket(self, title: str) -> str | None:
        """The ticket of the notebook at this path whose kernel starts now. Each ticket is returned once."""
        for ticket, ask in self._held.items():
            if ask.purpose == "notebook" and ask.title == title:
                del self._held[ticket]
                return ticket
        return None

    async def _hold(self, ticket: str, ask: Ask) -> None:
        """Renew the lease until its kernel has it, or it times out."""
        end = time.monotonic() + HELD_S[ask.purpose]
        while time.monotonic() < end:
            await asyncio.sleep(RENEW_S)
            if ticket not in self._held:
                return
            try:
                answer = await asyncio.to_thread(self.store.take, ask, ticket)
            except Refused:  # the quota was used up meanwhile
                break
            if ticket in self._gone:  # during our request, which took the place again
                await asyncio.to_thread(self.store.leave, ticket)
                return
            if isinstance(answer, Place) or answer.holder is not None:
                break
        if self._held.pop(ticket, None):
            await asyncio.to_thread(self.store.leave, ticket)  # does nothing to a lease in use
