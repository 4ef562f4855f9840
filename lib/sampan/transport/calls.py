"""Calls of shards, their answers, and the transport that needs no other process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

Call = tuple[int, str, tuple[Any, ...]]  # shard, method, arguments
Answer = tuple[str, Any]  # the name of an error's class and its text, or "" and the value
Make = Callable[[], Any]  # makes a shard


class ShardError(RuntimeError):
    """A shard, or a part of one, that is missing, damaged, of another whole, or does not answer."""


_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (ShardError, ValueError, TypeError, MemoryError, FileNotFoundError, OSError)
}


class Asked(Protocol):
    """A request that was sent."""

    def wait(self) -> list[Any]:
        """The answers, in the order of the calls. Raises what a shard raised, or ShardError."""


class Transport(Protocol):
    """Carries calls to shards 0 to parts - 1.

    Calls of one shard are made in the order in which they were asked for. A request to a shard that died is
    sent again once it is back, so a method that changes something must recognise what it has already done.
    sent, received: bytes of requests and answers so far, 0 where nothing leaves the process.
    """

    parts: int

    @property
    def sent(self) -> int: ...

    @property
    def received(self) -> int: ...

    def ask(self, calls: Sequence[Call]) -> Asked:
        """Send the calls and return without waiting for the answers. Arrays that are given must not change
        until they are there."""

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """`ask`, then `wait`."""

    def close(self) -> None:
        """End the shards that this transport has started."""


def answered(shards: Mapping[int, Any], calls: Sequence[Call]) -> list[Answer]:
    """Make the calls, also those after one that fails: an answer for each."""
    answers: list[Answer] = []
    for shard, method, given in calls:
        try:
            answers.append(("", getattr(shards[shard], method)(*given)))
        except Exception as error:
            known = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS]
            answers.append(
                (known[0] if known else type(error).__name__, getattr(error, "reason", str(error)))
            )
    return answers


def values(calls: Sequence[Call], answers: Sequence[Answer]) -> list[Any]:
    """What the shards answered. Raises the first error: one of Python's few common ones, or ShardError."""
    for (shard, _, _), (kind, value) in zip(calls, answers, strict=True):
        if kind:
            text = value if kind in _ERRORS else f"shard {shard}: {kind}: {value}"
            raise _ERRORS.get(kind, ShardError)(text)
    return [value for _, value in answers]


def array_bytes(value: Any) -> int:
    """The bytes of all arrays in nested lists, tuples and dictionaries."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return 0
    return sum(map(array_bytes, value))


class Done:
    """A request whose answers are here."""

    def __init__(self, calls: Sequence[Call], answers: Sequence[Answer]) -> None:
        self._calls, self._answers = calls, answers

    def wait(self) -> list[Any]:
        return values(self._calls, self._answers)


class InProcess:
    """All shards in this process; threads take turns. openings: calls that are made first."""

    def __init__(self, make: Make, parts: int, openings: Sequence[Call] = ()) -> None:
        self.parts, self.sent, self.received = parts, 0, 0
        self.shards, self._lock = [make() for _ in range(parts)], threading.RLock()
        self.request(openings)

    def ask(self, calls: Sequence[Call]) -> Asked:
        with self._lock:
            return Done(calls, answered(dict(enumerate(self.shards)), calls))

    def request(self, calls: Sequence[Call]) -> list[Any]:
        return self.ask(calls).wait()

    def close(self) -> None:
        self.shards = []
