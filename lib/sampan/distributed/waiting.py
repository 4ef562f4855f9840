"""What a thread of this process waits for: the collective, and since when. Another thread may read it.

`elastic/report.py` does. A thread that saves a checkpoint exchanges values while another one trains.
"""

import time
from threading import get_ident
from typing import NamedTuple

__all__ = ["Waiting", "for_others", "now"]


class Waiting(NamedTuple):
    """collective: its name. since: seconds of time.monotonic()."""

    collective: str
    since: float


_now: dict[int, Waiting] = {}  # by thread


def now(thread: int | None = None) -> Waiting | None:
    """What a thread waits for, by default this one; None while it computes."""
    return _now.get(get_ident() if thread is None else thread)


class for_others:
    """In the block this thread waits for other processes in a collective. A class, because a generator's
    context manager takes five times as long, at each exchange."""

    __slots__ = ("before", "thread", "waiting")

    def __init__(self, collective: str) -> None:
        self.thread, self.waiting = get_ident(), Waiting(collective, time.monotonic())
        self.before = _now.get(self.thread)

    def __enter__(self) -> None:
        _now[self.thread] = self.waiting

    def __exit__(self, *_: object) -> None:
        if self.before is None:
            del _now[self.thread]
        else:
            _now[self.thread] = self.before
