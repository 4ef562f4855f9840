"""Shards behind addresses: each in a process that was started elsewhere and serves many clients.

Both ends prove to each other that they know the same key, before anything that was sent is read
(`multiprocessing.connection`). The environment variable SAMPAN_SHARD_KEY has it, as it must on several
machines; without it a file in the home folder has it, which this user alone may read.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from . import messages
from .calls import Call, ShardError, answered
from .lines import AskedLines, Line, Lines

KEY = "SAMPAN_SHARD_KEY"


def shared_key() -> bytes:
    """The key of this user's shards and clients."""
    if given := os.environ.get(KEY):
        return given.encode()
    path = Path.home() / ".cache" / "sampan" / "shard.key"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mine = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_hex(32).encode())
    try:
        os.link(mine, path)  # whole, and not where one is there
    except FileExistsError:
        pass  # another process was first: its key is the one
    finally:
        mine.unlink()
    return path.read_bytes()


def address_of(endpoint: str) -> tuple[str, int]:
    """ "127.0.0.1:8000" as (host, port). Raises ValueError."""
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"endpoint: expected host:port, such as 127.0.0.1:8000, got {endpoint!r}")
    return host, int(port)


def knows(connection: Connection, key: bytes) -> bool:
    """Whether the other end proves that it has the key; else the connection is closed.

    `Listener.accept` with a key does this too, but then a connection that says nothing keeps all others
    waiting.
    """
    try:
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
    except (AuthenticationError, EOFError, OSError):  # another key, none, or gone
        connection.close()
        return False
    return True


def answer_clients(listener: Listener, shards: Mapping[int, Any], key: bytes) -> None:
    """Answer any number of clients that have the key, each in a thread of its own, until the listener is
    closed. Calls take turns. listener: without a key."""
    turns = threading.Lock()

    def converse(connection: Connection) -> None:
        if not knows(connection, key):
            return
        with connection:
            while True:
                try:
                    calls, _ = messages.read(connection)
                    with turns:
                        answers = answered(shards, calls)
                    messages.write(connection, messages.packed(answers))
                except (EOFError, OSError):
                    return

    while True:
        try:
            client = listener.accept()
        except ConnectionError:
            continue  # the client closed the connection before it was accepted
        except OSError:
            return  # closed
        threading.Thread(target=converse, args=(client,), daemon=True).start()


def serve_shard(endpoint: str, number: int, shard: Any, ended: Callable[[], bool], poll: float = 0.1) -> None:
    """Answer any number of clients until `ended()`, which is asked each `poll` seconds. Calls take turns.

    Raises OSError where the port is in use.
    """
    try:
        key, listener = shared_key(), Listener(address_of(endpoint), backlog=64)
    except OSError as error:
        raise OSError(
            error.errno, f"shard {number}: cannot listen on {endpoint}: {error.strerror}"
        ) from error
    waiting = threading.Event()
    with listener:
        threading.Thread(target=answer_clients, args=(listener, {number: shard}, key), daemon=True).start()
        while not ended():
            waiting.wait(poll)


class Sockets:
    """Shard n is at endpoints[n], "host:port". Threads take turns.

    timeout: seconds for which a shard may be silent during a request. patience: seconds for which a shard
    that cannot be reached, or went away, is tried again before ShardError.
    """

    def __init__(self, endpoints: Sequence[str], timeout: float = 60.0, patience: float = 60.0) -> None:
        self.parts, self.endpoints = len(endpoints), list(endpoints)
        key = shared_key()

        def connect(endpoint: str) -> Callable[[], Connection]:
            return lambda: Client(address_of(endpoint), authkey=key)

        def failure(number: int) -> Callable[[Exception], Exception]:
            return lambda error: ShardError(
                f"shard {number} at {endpoints[number]} does not answer: {type(error).__name__}: {error}"
            )

        lines = [Line(connect(e), failure(n), timeout, patience) for n, e in enumerate(endpoints)]
        self._lines = Lines(self.parts, lines)

    @property
    def sent(self) -> int:
        return self._lines.sent

    @property
    def received(self) -> int:
        return self._lines.received

    def ask(self, calls: Sequence[Call]) -> AskedLines:
        return self._lines.ask(calls)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to the calls, in their order. Raises what a shard raised, or ShardError."""
        return self._lines.request(calls)

    def close(self) -> None:
        """Leave the shards; they go on."""
        for line in self._lines.lines:
            line.close()
