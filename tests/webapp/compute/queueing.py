"""A queue played through in time that the caller sets: for the tests of fair shares, and for their figures."""

from __future__ import annotations

from studio.compute import machine as machines
from studio.compute.lease import Ask, Lease, Place
from studio.compute.sql import SqlStore
from tests.webapp.compute.conftest import GIB, Clock


def thirty_sessions(seconds: float) -> list[Ask]:
    """Each asks for so much time. One person wants 12 sessions, nine others two each, and they come last."""
    people = ["greedy"] * 12 + [f"person {n}" for n in range(9)] * 2
    return [Ask(owner, "notebook", memory=GIB, seconds=seconds) for owner in people]


def play(
    store: SqlStore, clock: Clock, asks: list[Ask], length: float, look: float = 1.0
) -> list[tuple[str, float, float]]:
    """Everybody asks at once and again until served; sessions last `length` seconds.

    Returns (owner, seconds waited, first estimate of them) in the order of service; one looks every `look` seconds.
    """
    me, begun = machines.holder(1), clock.now
    waiting: dict[str, Ask] = {}
    estimates: dict[str, float] = {}
    for ask in asks:
        answer = store.take(ask, holder=me)
        id = answer.id if isinstance(answer, Lease) else answer.ticket
        estimates[id] = 0.0 if isinstance(answer, Lease) else answer.wait or 0.0
        if isinstance(answer, Place):
            waiting[id] = ask
        clock.now += 0.01
    served = [(lease.ask.owner, 0.0, 0.0) for lease in store.leases()]
    while waiting:
        clock.now += look
        for lease in store.leases():
            if clock.now - lease.granted >= length:
                store.release(lease.id)
        for id, ask in list(waiting.items())[::-1]:  # asking first in a round gives no advantage
            if isinstance(store.take(ask, id, me), Lease):
                served.append((ask.owner, clock.now - begun, estimates[id]))
                del waiting[id]
    return served
