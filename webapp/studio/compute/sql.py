"""The store of leases and queue in a database: SQLite by default, PostgreSQL by its address.

Every call that changes something is one short transaction, and they come one after another: SQLite's own lock
(`begin immediate`), an advisory lock in PostgreSQL. Whether processes still run is looked up before, outside it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Row,
    Select,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from . import machine as machines
from . import opening, turns
from .lease import Ask, Holder, Kind, Lease, Place, Purpose, Ticket, Use
from .machine import Machine
from .quota import Quota, week
from .schema import lease as leases
from .schema import ticket as tickets
from .schema import use as uses

UNBOUND_S = 10.0  # an unused lease is taken back this long after its last request
TICKET_S = 30.0  # a ticket that is not renewed is dropped
SEEN_EVERY_S = 60.0  # how often `seen` is updated while a holder is alive
AWAY_S = 600.0  # a holder on another machine that was not seen for so long counts as gone
LOOKING = 0.25  # the share of time that checking processes may take
RECENT_S = 86400.0  # past use that counts for the order of the queue
HISTORY_S = 7 * 86400.0  # sessions from which the length of others is estimated
# Old use is deleted: quota, chart and estimates look back a week. A day more for a
# machine of another time zone, or whose clock was set.
KEPT_S = 8 * 86400.0
FORGET_EVERY_S = 3600.0

ASK = tuple(field.name for field in fields(Ask))


class SqlStore:
    """`lease.Store` on a database. Safe for threads and for any number of processes; open it after a fork, not before.

    Open one in each process: it holds the engine with its connections. `close()` when it is no longer needed.
    """

    def __init__(
        self,
        url: str | None = None,
        machine: Machine | None = None,
        quota: Quota | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.machine = machine or machines.this_machine()
        self.quota = quota or Quota.from_environment()
        self._clock = clock
        self._boot = machines.boot()
        self._next_look = 0.0
        self._next_forgetting = 0.0
        self._engine = opening.open_engine(opening.address(url))
        self._reader = opening.reader(self._engine)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> SqlStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What changes something

    def take(self, ask: Ask, ticket: str | None = None, holder: Holder | None = None) -> Lease | Place:
        self.quota.check(ask, self.machine)
        self._look()
        now = self._clock()
        with self._engine.begin() as c:
            row = _first(c, ticket) if ticket else None
            if row is not None and row.owner != ask.owner:
                raise ValueError(f"the ticket {ticket!r} does not belong to {ask.owner!r}")
            if row is not None and row.boot == self._boot and (holder is None or row.pid is None):
                return self._redeem(c, row, holder, now)
            id = ticket if ticket and row is None else uuid.uuid4().hex
            if self._left(c, ask, now) <= 0:
                c.execute(delete(tickets).where(tickets.c.id == id))
                over = self.quota.over(ask.kind, now)
            else:
                return self._grant(c, ask, id, holder, now)
        raise over

    def bind(self, lease: str, holder: Holder, by: Holder | None = None) -> None:
        with self._engine.begin() as c:
            row = _first(c, lease)
            if row is None:
                raise LookupError(f"there is no lease {lease!r}: it was taken back")
            before = _lease(row).holder
            # the last: a process may pass on its own lease
            free = (None, holder, by or machines.holder(os.getpid()))
            if before not in free and machines.alive(before):
                raise ValueError(f"the lease {lease!r} is used by process {before.pid}, which still runs")
            self._redeem(c, row, holder, self._clock())

    def release(self, lease: str) -> None:
        with self._engine.begin() as c:
            self._end(c, leases.c.gang == lease, literal(self._clock(), Double))

    def leave(self, ticket: str) -> None:
        with self._engine.begin() as c:
            c.execute(delete(tickets).where(tickets.c.id == ticket))
            self._end(c, (leases.c.gang == ticket) & leases.c.pid.is_(None), literal(self._clock(), Double))

    def extend(self, lease: str, seconds: float) -> Lease:
        if not seconds > 0:
            raise ValueError(f"seconds must be more than 0, got {seconds!r}")
        now = self._clock()
        with self._engine.begin() as c:
            row = _first(c, lease)
            if row is None:
                raise LookupError(f"there is no lease {lease!r}: it was given back")
            ask = _ask(row)
            if self._left(c, ask, now) <= 0:
                raise self.quota.over(ask.kind, now)
            wanted = max(row.ends, now) + seconds
            ends = min(wanted, row.granted + self.quota.longest)
            if ends <= row.ends:
                raise self.quota.too_long(wanted - row.granted)
            c.execute(update(leases).where(leases.c.gang == lease).values(ends=ends))
            self._hold_to_quota(c, ask, now)
            return _one(c, lease)

    # What only looks

    def owner(self, id: str) -> str | None:
        """Whose lease or ticket this is; None if there is none. It takes nothing back: a lease whose process has just ended
        can still be bound again."""
        with self._reader.connect() as c:
            for table in (leases, tickets):
                row = c.execute(select(table.c.owner).where(table.c.id == id)).first()
                if row is not None:
                    return str(row.owner)
        return None

    def leases(self, owner: str | None = None) -> list[Lease]:
        self._look()
        return _gangs(self._all(select(leases).order_by(leases.c.granted, leases.c.id), owner))

    def queue(self, owner: str | None = None) -> list[Ticket]:
        self._look()
        now = self._clock()
        with self._reader.connect() as c:
            line = self._in_order(c, self._waiting(c, now), now)
        return [ticket for ticket in line if owner in (None, ticket.ask.owner)]

    def uses(self, since: float, owner: str | None = None) -> list[Use]:
        found = select(uses).where(uses.c.ended > since).order_by(uses.c.ended)
        return [Use(row.id, _ask(row), row.device, row.granted, row.ended) for row in self._all(found, owner)]

    def used(self, owner: str, since: float, kind: Kind = "cpu") -> float:
        self._look()
        with self._reader.connect() as c:
            return self._used(c, since, self._clock(), owner).get((owner, kind), 0.0)

    def left(self, owner: str, kind: Kind = "cpu") -> float | None:
        hours = self.quota.hours(kind)
        return None if hours is None else max(0.0, hours * 3600 - self.used(owner, week(self._clock()), kind))

    # Steps of a transaction

    def _redeem(self, c: Connection, row: Row[Any], holder: Holder | None, now: float) -> Lease:
        """Renew an existing lease, or give it another holder."""
        values = {"seen": now, **_columns(holder)}
        c.execute(update(leases).where(leases.c.gang == row.id).values(values))
        return _one(c, row.id)

    def _grant(self, c: Connection, ask: Ask, id: str, holder: Holder | None, now: float) -> Lease | Place:
        """The lease, else the place in the queue; the ticket is in the queue from then on."""
        waiting = self._waiting(c, now)
        mine = next((ticket for ticket in waiting if ticket.id == id), None)
        if mine is not None and mine.ask.owner != ask.owner:
            raise ValueError(f"the ticket {id!r} does not belong to {ask.owner!r}")
        if mine is None:
            waiting.append(mine := Ticket(id, ask, asked=now, seen=now))
        line = self._in_order(c, waiting, now)
        devices = turns.turn(mine, line, self._free(c), now)
        if not devices:
            self._wait(c, mine, now)
            return self._place(c, mine, line, now)
        c.execute(delete(tickets).where(tickets.c.id == id))
        values = {"gang": id, "boot": self._boot, **asdict(ask)}
        values |= {"granted": now, "ends": now + ask.seconds, "seen": now, **_columns(holder)}
        for number, device in enumerate(devices):
            row = f"{id}.{number}" if number else id
            c.execute(insert(leases).values({**values, "id": row, "device": device}))
        self._hold_to_quota(c, ask, now)
        return _one(c, id)

    def _wait(self, c: Connection, mine: Ticket, now: float) -> None:
        """Keep the ticket in the queue, and drop tickets that are not renewed."""
        c.execute(delete(tickets).where(tickets.c.boot == self._boot, tickets.c.seen < now - TICKET_S))
        values = {"boot": self._boot, "seen": now}
        if not c.execute(update(tickets).where(tickets.c.id == mine.id).values(values)).rowcount:
            c.execute(insert(tickets).values(id=mine.id, **asdict(mine.ask), asked=now, **values))

    def _place(self, c: Connection, mine: Ticket, line: list[Ticket], now: float) -> Place:
        lane = [ticket for ticket in line if turns.lane(ticket.ask) == turns.lane(mine.ask)]
        here = (leases.c.boot == self._boot) & (leases.c.kind == mine.ask.kind)
        running = _gangs(c.execute(select(leases).where(here).order_by(leases.c.id)).all())
        lasted = (
            select(uses.c.purpose, func.avg(uses.c.ended - uses.c.granted))
            .where(uses.c.kind == mine.ask.kind, uses.c.ended > now - HISTORY_S)
            .group_by(uses.c.purpose)
        )
        typical: dict[Purpose, float] = {row[0]: row[1] for row in c.execute(lasted)}
        devices = turns.suited(self.machine, mine.ask)
        wait = turns.wait(mine, lane, running, devices, typical, now)
        return Place(mine.id, lane.index(mine), len(lane), wait)

    def _waiting(self, c: Connection, now: float) -> list[Ticket]:
        """The queue of this machine."""
        found = select(tickets).where(tickets.c.boot == self._boot, tickets.c.seen >= now - TICKET_S)
        return [Ticket(row.id, _ask(row), row.asked, row.seen) for row in c.execute(found)]

    def _in_order(self, c: Connection, waiting: list[Ticket], now: float) -> list[Ticket]:
        """The queue in the order of service."""
        if len(waiting) < 2:
            return waiting
        count = select(leases.c.owner, leases.c.kind, func.count()).group_by(leases.c.owner, leases.c.kind)
        held: dict[turns.Person, int] = {(row[0], row[1]): row[2] for row in c.execute(count)}
        return turns.order(waiting, held, self._used(c, now - RECENT_S, now), now)

    def _free(self, c: Connection) -> turns.Free:
        lent = (
            select(leases.c.device, func.sum(leases.c.share), func.sum(leases.c.memory))
            .where(leases.c.boot == self._boot)
            .group_by(leases.c.device)
        )
        rows = c.execute(lent).all()
        return turns.Free(self.machine, {row[0]: row[1] for row in rows}, sum(int(row[2]) for row in rows))

    def _used(
        self, c: Connection, since: float, now: float, owner: str | None = None
    ) -> Mapping[turns.Person, float]:
        """Seconds used since then, of all owners or of one, without grading."""
        total: dict[turns.Person, float] = {}
        for table, ended in ((uses, uses.c.ended), (leases, None)):
            begun = case((table.c.granted > since, table.c.granted), else_=since)
            spent = func.sum(((now if ended is None else ended) - begun) * table.c.share)
            found = select(table.c.owner, table.c.kind, spent).where(table.c.purpose != "grading")
            if ended is not None:
                found = found.where(ended > since)
            if owner is not None:
                found = found.where(table.c.owner == owner)
            for name, kind, seconds in c.execute(found.group_by(table.c.owner, table.c.kind)):
                total[name, kind] = total.get((name, kind), 0.0) + max(0.0, seconds)
        return total

    def _left(self, c: Connection, ask: Ask, now: float) -> float:
        """Seconds of quota; infinite if there is no quota."""
        hours = self.quota.hours(ask.kind)
        if hours is None or ask.purpose == "grading":
            return float("inf")
        return hours * 3600 - self._used(c, week(now), now, ask.owner).get((ask.owner, ask.kind), 0.0)

    def _hold_to_quota(self, c: Connection, ask: Ask, now: float) -> None:
        """All sessions of this kind that this person has end when the quota is used up: two sessions use it up in
        half the time."""
        left = self._left(c, ask, now)
        if left == float("inf"):
            return
        theirs = (leases.c.owner == ask.owner) & (leases.c.kind == ask.kind) & (leases.c.purpose != "grading")
        at_once = c.execute(select(func.sum(leases.c.share)).where(theirs)).scalar_one()
        end = now + max(0.0, left) / at_once
        c.execute(update(leases).where(theirs, leases.c.ends > end).values(ends=end))

    def _end(self, c: Connection, which: ColumnElement[bool], ended: ColumnElement[float]) -> None:
        """Remove leases and record their use."""
        columns = [uses.c.id, *(uses.c[name] for name in ASK), uses.c.device, uses.c.granted]
        gone = select(*(leases.c[column.name] for column in columns), ended).where(which)
        c.execute(insert(uses).from_select([*columns, uses.c.ended], gone))
        c.execute(delete(leases).where(which))
        if time.monotonic() > self._next_forgetting:
            self._next_forgetting = time.monotonic() + FORGET_EVERY_S
            c.execute(delete(uses).where(uses.c.ended < self._clock() - KEPT_S))

    # Looking after processes

    def _look(self) -> None:
        """Take back the leases of processes that are gone, and leases that no process has used.

        Skipped if the last check was so recent that checking would take more than a small share of the time.
        """
        begun = time.monotonic()
        if begun < self._next_look:
            return
        now = self._clock()
        with self._reader.connect() as c:
            columns = (leases.c.id, leases.c.boot, leases.c.pid, leases.c.started, leases.c.seen)
            rows = c.execute(select(*columns)).all()
        gone, live = [], []
        for row in rows:
            if row.boot != self._boot or row.pid is None:
                if now - row.seen > (UNBOUND_S if row.boot == self._boot else AWAY_S):
                    gone.append(row)
            elif not machines.alive(Holder(row.pid, row.started)):
                gone.append(row)
            elif now - row.seen > SEEN_EVERY_S:
                live.append(row.id)
        if gone or live:
            with self._engine.begin() as c:
                for row in gone:
                    # Unless it was bound again, or renewed, meanwhile.
                    same = (leases.c.id == row.id) & (leases.c.seen == row.seen)
                    same &= leases.c.pid.is_(None) if row.pid is None else leases.c.pid == row.pid
                    # A holder that was checked all the time has died just now; when another one ended is unknown.
                    lately = row.pid is not None and now - row.seen < 2 * SEEN_EVERY_S
                    self._end(c, same, literal(now, Double) if lately else leases.c.seen)
                if live:
                    c.execute(update(leases).where(leases.c.id.in_(live)).values(seen=now))
        pause = (time.monotonic() - begun) / LOOKING
        self._next_look = time.monotonic() + min(
            pause, 1.0
        )  # one slow look must not put off the next for long

    def _all(self, found: Select[Any], owner: str | None) -> list[Row[Any]]:
        if owner is not None:
            found = found.where(found.selected_columns.owner == owner)
        with self._reader.connect() as c:
            return list(c.execute(found))


def open_store(url: str | None = None) -> SqlStore:
    """The store at `url`, else at SAMPAN_STORE, else in the workspace's state folder, for this machine."""
    return SqlStore(url)


def _ask(row: Row[Any]) -> Ask:
    return Ask(**{name: getattr(row, name) for name in ASK})


def _columns(holder: Holder | None) -> dict[str, float]:
    return {} if holder is None else {"pid": holder.pid, "started": holder.started}


def _lease(row: Row[Any], others: Iterable[str] = ()) -> Lease:
    holder = None if row.pid is None else Holder(row.pid, row.started)
    return Lease(row.gang, _ask(row), row.device, row.granted, row.ends, holder, tuple(others))


def _gangs(rows: Iterable[Row[Any]]) -> list[Lease]:
    """The leases of these rows, in the order of their first rows."""
    found: dict[str, list[Row[Any]]] = {}
    for row in rows:
        found.setdefault(row.gang, []).append(row)
    return [_lease(first, (row.device for row in rest)) for first, *rest in found.values()]


def _rows(lease: str) -> Select[Any]:
    """The rows of a lease, one for each device."""
    return select(leases).where(leases.c.gang == lease).order_by(leases.c.id)


def _first(c: Connection, lease: str) -> Row[Any] | None:
    return c.execute(_rows(lease)).first()


def _one(c: Connection, lease: str) -> Lease:
    """The lease with this id, which exists."""
    return _gangs(c.execute(_rows(lease)).all())[0]
