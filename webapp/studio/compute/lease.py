"""Requests and leases as plain values, shared by every store and every caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, get_args

if TYPE_CHECKING:
    from .machine import Machine

Kind = Literal["cpu", "gpu"]
Purpose = Literal["grading", "page", "notebook", "job"]


@dataclass(frozen=True)
class Ask:
    """A request. `memory` in bytes, `seconds` of wall time, `share` of one GPU's memory (0 to 1).

    `places` devices, with `memory` for each, are granted together or not at all: of two programs that wait for two devices
    each, neither ever holds one that the other needs.
    Raises ValueError for what no machine could grant.
    """

    owner: str
    purpose: Purpose
    title: str = ""  # shown to people: a notebook's path, a page's name, a script
    kind: Kind = "cpu"
    share: float = 1.0
    memory: int = 2 << 30
    seconds: float = 4 * 3600.0
    places: int = 1

    def __post_init__(self) -> None:
        if not self.owner:
            raise ValueError("owner must be a person's name, got ''")
        if self.purpose not in get_args(Purpose):
            raise ValueError(f"purpose must be one of {', '.join(get_args(Purpose))}, got {self.purpose!r}")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        if not 0 < self.share <= 1:
            raise ValueError(f"share is a part of one GPU, above 0 and at most 1, got {self.share!r}")
        if self.kind == "cpu" and self.share != 1:
            raise ValueError(f"a CPU slot is not divided: share must be 1, got {self.share!r}")
        if self.memory <= 0:
            raise ValueError(f"memory must be more than 0 bytes, got {self.memory!r}")
        if not self.seconds > 0:
            raise ValueError(f"seconds must be more than 0, got {self.seconds!r}")
        if type(self.places) is not int or self.places < 1:
            raise ValueError(f"places must be a whole number of at least 1, got {self.places!r}")
        if self.places > 1 and self.share != 1:
            raise ValueError(f"several places are whole devices: share must be 1, got {self.share!r}")


@dataclass(frozen=True)
class Holder:
    """The process that uses a lease; `started` distinguishes it from a later one with the same number
    (`machine.holder`)."""

    pid: int
    started: float


@dataclass(frozen=True)
class Lease:
    """A lease. Times are seconds since 1970. `device` is "cpu:3" (a slot), "gpu:0", or "sim:0" (simulated).

    `others` are the further devices of a request for several places. `id` is that of the ticket, if there was one. After `ends` it stays until its holder is gone; culling ends that
    process.
    """

    id: str
    ask: Ask
    device: str
    granted: float
    ends: float
    holder: Holder | None = None
    others: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        return (self.device, *self.others)

    @property
    def simulated(self) -> bool:
        return self.device.startswith("sim:")


@dataclass(frozen=True)
class Place:
    """A place in the queue: `ahead` others come first, `wait` is the estimate in seconds (None: unknown)."""

    ticket: str
    ahead: int
    of: int
    wait: float | None


@dataclass(frozen=True)
class Ticket:
    """One entry of the queue, as pages show it."""

    id: str
    ask: Ask
    asked: float
    seen: float


@dataclass(frozen=True)
class Use:
    """The record of one device of an ended lease. `seconds` is weighted by the share of the GPU."""

    id: str
    ask: Ask
    device: str
    granted: float
    ended: float

    @property
    def seconds(self) -> float:
        return (self.ended - self.granted) * self.ask.share


class Refused(Exception):
    """A request that waiting cannot satisfy, with the reason in both languages."""

    def __init__(self, sentence: str, sentence_zh: str) -> None:
        super().__init__(sentence)
        self.sentence, self.sentence_zh = sentence, sentence_zh


class OverQuota(Refused):
    """This person has used up the hours of this week; the message says when there are new ones."""


class Impossible(Refused, ValueError):
    """This machine can never grant that: no such device, more memory than it has, longer than is allowed."""


class Store(Protocol):
    """The interface to leases and queue: `sql.SqlStore` on a database, `remote.HttpStore` at the service of a class. Every
    call is one short transaction and blocks: from the server always through `asyncio.to_thread`. Each first takes back
    the leases of processes that are gone."""

    @property
    def machine(self) -> Machine:
        """What there is to lease."""
        ...

    def take(self, ask: Ask, ticket: str | None = None, holder: Holder | None = None) -> Lease | Place:
        """The lease if a device is free and the queue before you is empty, else the place in the queue. Call again
        with the ticket every second or two: a ticket not renewed for 5 s lets others pass, and after 30 s it is
        dropped (a later call starts again at the end). A ticket that was granted meanwhile returns its lease, which
        stays for 10 s after each such call until it is bound; if the lease has a holder, it is in use already. With
        a `holder` the lease is bound to that process at once, and a ticket that was redeemed before is ignored: of
        two callers with one ticket, the second makes a new request. Raises `OverQuota`, and `Impossible` (a
        ValueError) for what this machine can never grant."""
        ...

    def bind(self, lease: str, holder: Holder, by: Holder | None = None) -> None:
        """The process that now uses the lease (a restart binds again). LookupError: no such lease (it was taken
        back); ValueError: another process uses it and still runs. The process that asks, `by` (this one by default), may
        hand on a lease that it holds itself."""
        ...

    def release(self, lease: str) -> None:
        """Gives it back and records its use. No-op if it is gone already."""
        ...

    def leave(self, ticket: str) -> None:
        """Leave the queue; a granted lease that no process uses is given back too."""
        ...

    def extend(self, lease: str, seconds: float) -> Lease:
        """More wall time: as much as quota and the longest time allow. LookupError: no such lease. Raises
        `OverQuota` and `Impossible` if that is zero."""
        ...

    def leases(self, owner: str | None = None) -> list[Lease]:
        """All leases, oldest first."""
        ...

    def queue(self, owner: str | None = None) -> list[Ticket]:
        """The waiting requests, in the order in which they would be served."""
        ...

    def uses(self, since: float, owner: str | None = None) -> list[Use]:
        """Leases that ended since then, oldest first (those that still run are in `leases`)."""
        ...

    def used(self, owner: str, since: float, kind: Kind = "cpu") -> float:
        """Seconds since then that count towards the quota of this kind, leases that run included."""
        ...

    def left(self, owner: str, kind: Kind = "cpu") -> float | None:
        """Seconds of this week's quota that are left; None: there is no quota."""
        ...
