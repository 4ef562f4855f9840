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

    def take(self, ask: Ask) -> list[str]:
        """Lend as many devices with free capacity as the request has places and return their ids; none of them if there
        are fewer."""
        memory = ask.places * ask.memory
        if memory > self._memory and ask.purpose != "grading":  # which is short, and waits for no session
            return []
        room = [id for id in suited(self._machine, ask) if self._lent.get(id, 0.0) + ask.share <= 1 + 1e-9]
        if len(room) < ask.places:
            return []
        # GPUs in use are filled first: whole ones stay whole.
        room.sort(key=lambda id: -self._lent.get(id, 0.0))
        for id in room[: ask.places]:
            self._lent[id] = self._lent.get(id, 0.0) + ask.share
        self._memory -= memory
        return room[: ask.places]


def turn(mine: Ticket, line: Iterable[Ticket], free: Free, now: float) -> list[str]:
    """The devices for ticket `mine` after all tickets before it in `line` got theirs; empty: not yet."""
    blocked: set[str] = set()
    for ticket in line:
        if ticket.id != mine.id and now - ticket.seen > AWAKE_S:
            continue
        devices = [] if lane(ticket.ask) in blocked else free.take(ticket.ask)
        if ticket.id == mine.id:
            return devices
        # no request overtakes: a whole GPU, or several places, would never become free if parts of them were lent on
        if not devices:
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
    """The estimated seconds until as many of the `devices` as it has places are free for this ticket: each session lasts as long as such
    sessions lasted on average (`typical`), and no longer than it may. None if nothing runs that could end.

    The elapsed time of a session is not subtracted: lengths vary from minutes to hours, so a session that has run
    long is not nearer to its end.
    """
    running = [(lease, device) for lease in leases for device in lease.devices if device in devices]
    ends = [min(max(0.0, x.ends - now), typical.get(x.ask.purpose, math.inf)) for x, _ in running]
    ends += [0.0] * len(set(devices) - {device for _, device in running})
    heapq.heapify(ends)
    for ticket in line:
        if len(ends) < ticket.ask.places:  # it does not block the others for ever: its quota check refused it
            continue
        begins = max(heapq.heappop(ends) for _ in range(ticket.ask.places))
        if ticket.id == mine.id:
            return begins
        lasts = min(ticket.ask.seconds, typical.get(ticket.ask.purpose, math.inf))
        for _ in range(ticket.ask.places):
            heapq.heappush(ends, begins + lasts)
    return None
