"""A connection to a process that holds shards, and requests over several of them."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from . import messages
from .calls import Answer, Call, values

AGAIN = 0.02  # seconds between attempts to connect


def limit(connection: Connection, seconds: float) -> None:
    """No read and no write may wait longer: each then raises BlockingIOError."""
    given = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    with socket.socket(fileno=socket.dup(connection.fileno())) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, given)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, given)


class Sent:
    """A request on one line. answers: None until they have arrived."""

    def __init__(self, message: Sequence[memoryview]) -> None:
        self.message, self.until = message, 0.0
        self.answers: list[Answer] | None = None


class Line:
    """One request at a time is on its way: before another is sent, the answer is read. Were it not, both ends
    could wait for room in the other's buffer.

    connect: a new connection, in place of a lost one too. patience: seconds for which a lost connection is
    made again, then, or with 0 at once, `failure` makes the error to raise.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        failure: Callable[[Exception], Exception],
        timeout: float,
        patience: float,
    ) -> None:
        self._connect, self._failure = connect, failure
        self.timeout, self.patience = timeout, patience
        self.connection: Connection | None = None
        self._open: Sent | None = None
        self.sent = self.received = 0

    def send(self, message: Sequence[memoryview]) -> Sent:
        """Send a request, after the answer of the last one has been read."""
        self.read()
        self._open = sent = Sent(message)
        try:
            self._write(message)
        except OSError as error:
            self._again(error)
        return sent

    def read(self) -> None:
        """Read the answer that is on its way, if one is."""
        while self._open is not None:
            try:
                assert self.connection is not None
                answers, size = messages.read(self.connection)
            except (EOFError, OSError) as error:
                self._again(error)
                continue
            self.received += size
            self._open.answers, self._open = answers, None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def _write(self, message: Sequence[memoryview]) -> None:
        if self.connection is None:
            self.connection = self._connect()
            limit(self.connection, self.timeout)
        messages.write(self.connection, message)
        self.sent += messages.size(message)

    def _again(self, error: Exception) -> None:
        """Connect once more and repeat the request."""
        assert self._open is not None
        self._open.until = self._open.until or time.monotonic() + self.patience  # of all losses together
        while not isinstance(error, BlockingIOError) and time.monotonic() < self._open.until:
            self.close()
            self.connection = None
            try:
                return self._write(self._open.message)
            except (EOFError, OSError) as another:
                error = another
                time.sleep(AGAIN)
        self._open = None
        raise self._failure(error) from error


class Lines:
    """Requests to shards of which each line has some: shard s is on line s % lines."""

    def __init__(self, parts: int, lines: Sequence[Line]) -> None:
        self.parts, self.lines, self.lock = parts, lines, threading.RLock()

    @property
    def sent(self) -> int:
        return sum(line.sent for line in self.lines)

    @property
    def received(self) -> int:
        return sum(line.received for line in self.lines)

    def ask(self, calls: Sequence[Call]) -> AskedLines:
        """Send the calls of each line as one message."""
        mine: dict[int, list[int]] = {}
        for place, call in enumerate(calls):
            mine.setdefault(call[0] % len(self.lines), []).append(place)
        with self.lock:
            sent = {
                number: self.lines[number].send(messages.packed([calls[place] for place in places]))
                for number, places in mine.items()
            }
        return AskedLines(self, calls, mine, sent)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """`ask`, then `wait`."""
        with self.lock:
            return self.ask(calls).wait()


class AskedLines:
    """A request over several lines."""

    def __init__(
        self, lines: Lines, calls: Sequence[Call], mine: dict[int, list[int]], sent: dict[int, Sent]
    ) -> None:
        self._lines, self._calls, self._mine, self._sent = lines, calls, mine, sent

    def wait(self) -> list[Any]:
        """The answers, in the order of the calls. Raises what a shard raised, or ShardError."""
        answers: list[Answer] = [("ShardError", "the connection was lost before the answer")] * len(
            self._calls
        )
        with self._lines.lock:
            for number, sent in self._sent.items():
                if sent.answers is None:
                    self._lines.lines[number].read()
                if sent.answers is not None:
                    for place, answer in zip(self._mine[number], sent.answers, strict=True):
                        answers[place] = answer
        return values(self._calls, answers)
