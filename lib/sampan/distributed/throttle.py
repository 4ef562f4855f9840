"""A slower network for this process: a delay before each message.

A program without special rights cannot slow a network device down. So the sender waits: bytes / rate seconds
before it starts an exchange, in the thread that calls the collective, for the bytes that `traffic` counts as
`wire`. Values and their order stay as they are. What a real network would send while the process computes is
not overlapped here.
"""

import time

from ..engine.errors import InvalidArgument

__all__ = ["limit", "pause", "rate"]

SLICE_S = 0.05  # the longest sleep: a new limit holds for what is left of a message
_rate: list[float | None] = [None]


def limit(bytes_per_second: float | None) -> None:
    """Send at most so many bytes in a second; None: as fast as the network is."""
    if bytes_per_second is not None and not bytes_per_second > 0:
        raise InvalidArgument(f"limit: bytes_per_second: expected more than 0, got {bytes_per_second!r}")
    _rate[0] = bytes_per_second


def rate() -> float | None:
    """The limit in bytes per second, None without one."""
    return _rate[0]


def pause(wire: int) -> None:
    """Wait as long as sending `wire` bytes takes at the limit."""
    left, before = float(wire), time.monotonic()
    while left > 0 and (now := _rate[0]) is not None:
        time.sleep(min(SLICE_S, left / now))
        after = time.monotonic()
        left, before = left - (after - before) * now, after
