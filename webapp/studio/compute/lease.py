"""What is asked of the machine and what was granted: plain values, shared by every store and every caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["cpu", "gpu"]
Purpose = Literal["grading", "page", "notebook", "job"]
# Short and interactive work goes first; within one priority the queue is in order of arrival and fair by person.
PRIORITY: dict[Purpose, int] = {"grading": 0, "page": 1, "notebook": 1, "job": 2}


@dataclass(frozen=True)
class Ask:
    """What somebody wants. `memory` in bytes, `seconds` of wall time, `share` of one GPU's memory (0 to 1)."""

    owner: str
    purpose: Purpose
    title: str = ""  # what people know it by: a notebook's path, a page's name, a script
    kind: Kind = "cpu"
    share: float = 1.0
    memory: int = 2 << 30
    seconds: float = 4 * 3600.0


@dataclass(frozen=True)
class Holder:
    """The process that uses a lease; `started` tells it from a later one with the same number."""

    pid: int
    started: float


@dataclass(frozen=True)
class Lease:
    """What was granted. Times are seconds since 1970. `device` is "cpu:3" (a slot), "gpu:0", or "sim:0" (simulated)."""

    id: str
    ask: Ask
    device: str
    granted: float
    ends: float
    holder: Holder | None = None

    @property
    def simulated(self) -> bool:
        return self.device.startswith("sim:")


@dataclass(frozen=True)
class Place:
    """A place in the queue: `ahead` others come first, `wait` is the estimate in seconds (None: cannot tell)."""

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


class OverQuota(Exception):
    """This person has used up the hours of this week; `sentence` and `sentence_zh` say so, and when it eases."""

    def __init__(self, sentence: str, sentence_zh: str) -> None:
        super().__init__(sentence)
        self.sentence, self.sentence_zh = sentence, sentence_zh


class Store(Protocol):
    """The one way to leases and queue. Direct client: `sql.SqlStore`. Every call is one short transaction and blocks:
    from the server always through `asyncio.to_thread`. Each first takes back what belongs to processes that are gone."""

    def take(self, ask: Ask, ticket: str | None = None) -> Lease | Place:
        """The lease when a device is free and nobody is before you, else the place in the queue. Call again with
        the ticket to move on: a ticket that is not asked for in 30 s is dropped. A ticket that was granted meanwhile
        returns its lease. Raises `OverQuota`, and `ValueError` for what this machine can never give."""
        ...

    def bind(self, lease: str, holder: Holder) -> None:
        """The process that now uses the lease (a restart binds again). LookupError: no such lease (it was taken back)."""
        ...

    def release(self, lease: str) -> None:
        """Gives it back; its use is booked. Nothing happens when it is gone already."""
        ...

    def leave(self, ticket: str) -> None:
        """Out of the queue."""
        ...

    def extend(self, lease: str, seconds: float) -> Lease:
        """More wall time, within quota and the longest that is allowed."""
        ...

    def leases(self, owner: str | None = None) -> list[Lease]: ...

    def queue(self, owner: str | None = None) -> list[Ticket]: ...

    def used(self, owner: str, since: float) -> float:
        """Seconds of leases since then, those that run included."""
        ...
