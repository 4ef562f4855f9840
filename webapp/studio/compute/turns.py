"""Scheduling: the order of the queue, the device for a request, and the estimated wait of the others."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping

from .lease import Ask, Kind, Lease, Purpose, Ticket
from .machine import Machine

# Short and interactive work goes first.
PRIORITY: dict[Purpose, int] = {"grading": 0, "page": 1, "notebook": 1, "job": 2}
SHORT_S = 600.0  # a job that requests no more gets the priority of interactive work
AGEING_S = 1800.0  # a request that waits this long moves up by one priority, so that none starves
AWAKE_S = 5.0  # a ticket that was not renewed for this long lets others pass

Person = tuple[str, Kind]


def priority(ask: Ask) -> int:
    short = ask.purpose == "job" and ask.seconds <= SHORT_S
    return PRIORITY["notebook"] if short else PRIORITY[ask.purpose]


def order(
    tickets: Iterable[Ticket], held: Mapping[Person, int], used: Mapping[Person, float], now: float
) -> list[Ticket]:
    """The queue in the order of service: by priority, then owners with fewer leases, then with less recent use,
    then by arrival.

    For an owner's second ticket, the first counts as a lease: so two people take turns, however many tickets one of
    them has.
    """
    before: Counter[tuple[Person, int]] = Counter()
    ranked: list[tuple[tuple[int, int, float, int], Ticket]] = []
    for ticket in sorted(tickets, key=lambda ticket: (ticket.asked, ticket.id)):
        person = (ticket.ask.owner, ticket.ask.kind)
        rank = max(0, priority(ticket.ask) - int((now - ticket.asked) // AGEING_S))
        holds = held.get(person, 0) + before[person, rank]
        before[person, rank] += 1
        ranked.append(((rank, holds, used.get(person, 0.0), len(ranked)), ticket))
    return [ticket for _, ticket in sorted(ranked, key=lambda pair: pair[0])]


def lane(ask: Ask) -> str:
    """Asks of one lane wait for one another. Grading has a slot of its own, so it does not wait behind sessions."""
    return "grading" if ask.purpose == "grading" else ask.kind


def suited(machine: Machine, ask: Ask) -> list[str]:
    """The devices that could ever serve it, in the order in which they are tried."""
    fit = [device for device in machine.devices if device.kind == ask.kind]
    kept = [device.id for device in fit if device.grading_only]
    rest = [device.id for device in fit if not device.grading_only]
    return kept + rest if ask.purpose == "grading" else rest


class Free:
    """The free part of each device, and free memory."""

    def __init__(self, machine: Machine, lent: Mapping[str, float], memory: int) -> None:
        """`lent`: the part of each device that is lent, by its id; `memory`: bytes that are lent."""
        self._machine = machine
        self._lent = dict(lent)
        self._memory = machine.promised - memory

    def take(self, ask: Ask) -> str | None:
        """Lend a device with free capacity and return its id; None if there is none."""
        if ask.memory > self._memory and ask.purpose != "grading":  # which is short, and waits for no session
            return None
        room = [id for id in suited(self._machine, ask) if self._lent.get(id, 0.0) + ask.share <= 1 + 1e-9]
        if not room:
            return None
        # GPUs in use are filled first: whole ones stay whole.
        best = max(room, key=lambda id: self._lent.get(id, 0.0))
        self._lent[best] = self._lent.get(best, 0.0) + ask.share
        self._memory -= ask.memory
        return best


def turn(mine: Ticket, line: Iterable[Ticket], free: Free, now: float) -> str | None:
    """The device for ticket `mine` after all tickets before it in `line` got theirs; None: not yet."""
    blocked: set[str] = set()
    for ticket in line:
        if ticket.id != mine.id and now - ticket.seen > AWAKE_S:
            continue
        device = None if lane(ticket.ask) in blocked else free.take(ticket.ask)
        if ticket.id == mine.id:
            return device
        # no request overtakes: a whole GPU would never become free if parts of it were lent on
        if device is None:
            blocked.add(lane(ticket.ask))
    raise LookupError(f"the ticket {mine.id!r} is not in the queue")


def wait(
    mine: Ticket,
    line: Iterable[Ticket],
    leases: Iterable[Lease],
    devices: list[str],
    typical: Mapping[Purpose, float],
    now: float,
) -> float | None:
    """The estimated seconds until one of the `devices` is free for this ticket: each session lasts as long as such
    sessions lasted on average (`typical`), and no longer than it may. None if nothing runs that could end.

    The elapsed time of a session is not subtracted: lengths vary from minutes to hours, so a session that has run
    long is not nearer to its end.
    """
    running = [lease for lease in leases if lease.device in devices]
    ends = [min(max(0.0, x.ends - now), typical.get(x.ask.purpose, math.inf)) for x in running]
    ends += [0.0] * len(set(devices) - {lease.device for lease in running})
    if not ends:
        return None
    heapq.heapify(ends)
    for ticket in line:
        if ticket.id == mine.id:
            break
        begins = heapq.heappop(ends)
        heapq.heappush(ends, begins + min(ticket.ask.seconds, typical.get(ticket.ask.purpose, math.inf)))
    return ends[0]
