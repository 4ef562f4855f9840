"""What this process waits for: the collective, and since when. Another thread may read it.

`elastic/report.py` does.
"""

import time
from typing import NamedTuple

__all__ = ["Waiting", "for_others", "now"]


class Waiting(NamedTuple):
    """collective: its name. since: seconds of time.monotonic()."""

    collective: str
    since: float


_now: list[Waiting | None] = [None]


def now() -> Waiting | None:
    """What the process waits for, None while it computes."""
    return _now[0]


class for_others:
    """In the block this process waits for other processes in a collective. A class, because a generator's
    context manager takes five times as long, at each exchange."""

    __slots__ = ("before", "waiting")

    def __init__(self, collective: str) -> None:
        self.waiting, self.before = Waiting(collective, time.monotonic()), _now[0]

    def __enter__(self) -> None:
        _now[0] = self.waiting

    def __exit__(self, *_: object) -> None:
        _now[0] = self.before
