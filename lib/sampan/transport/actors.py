"""Shards as actors of a Ray cluster, on any of its machines (extra `cluster`).

Ray places the actors and starts a killed one again, elsewhere if need be. Each listens at a port of its
machine, which it tells through Ray with a key of its own; requests go there, without a copy in Ray's object
store.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from .calls import Answer, Call, Make, ShardError, answered, values
from .lines import AskedLines, Line, Lines
from .sockets import answer_clients

NAMESPACE = "sampan"


def ray_module() -> Any:
    """The module `ray`. Raises ImportError without the extra."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(
            "shards in a cluster need Ray, which the extra cluster has: pip install 'sampan[cluster]'"
        ) from error


class Failing:
    """In place of a shard that could not be opened: each call raises why."""

    def __init__(self, why: Answer) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        return values([(0, name, ())], [self._why])


class Holder:
    """What an actor runs: one shard, and the port where it answers."""

    def __init__(self, make: Make, number: int, openings: Sequence[Call]) -> None:
        shards = {number: make()}
        failed = [answer for answer in answered(shards, openings) if answer[0]]
        if failed:
            shards[number] = Failing(failed[0])
        host = ray_module().util.get_node_ip_address()
        key = secrets.token_bytes(32)
        listener = Listener((host, 0), backlog=64, authkey=key)
        self._place = listener.address, key, os.getpid()
        threading.Thread(target=answer_clients, args=(listener, shards), daemon=True).start()

    def place(self) -> tuple[Any, bytes, int]:
        """((host, port), key, number of this process)."""
        return self._place


class Actors:
    """One actor for each shard. Threads take turns.

    make: a function of a module, which makes a shard. openings: calls that an actor makes first, whenever
    it is started. name: clients that give the same one share the actors, which then outlive them until
    `close`; "" for actors of this client alone. timeout: seconds for which a shard may be silent, and for
    which one that is gone is waited for. Ray must be started (`ray.init`), or is started here for this
    machine. A client must reach the ports of the cluster's machines.
    """

    def __init__(
        self, make: Make, parts: int, openings: Sequence[Call] = (), name: str = "", timeout: float = 60.0
    ) -> None:
        self.ray = ray = ray_module()
        if not ray.is_initialized():
            # Without this, Ray's processes wait for all others of a busy machine.
            equal = {"worker_niceness": 0}
            ray.init(include_dashboard=False, log_to_driver=False, namespace=NAMESPACE, _system_config=equal)
        self.parts, self.timeout = parts, timeout
        holder = ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)(Holder)
        self.actors = []
        for number in range(parts):
            mine = [call for call in openings if call[0] == number]
            shared = {"name": f"{name}-{number}", "lifetime": "detached", "get_if_exists": True}
            options = {"namespace": NAMESPACE, **shared} if name else {}
            self.actors.append(holder.options(**options).remote(make, number, mine))
        lines = [Line(self._connector(n), self._failure(n), timeout, timeout) for n in range(parts)]
        self._lines = Lines(parts, lines)

    @property
    def sent(self) -> int:
        return self._lines.sent

    @property
    def received(self) -> int:
        return self._lines.received

    def ask(self, calls: Sequence[Call]) -> AskedLines:
        """Send the calls of each shard as one message."""
        return self._lines.ask(calls)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to the calls, in their order. Raises what a shard raised, or ShardError."""
        return self._lines.request(calls)

    def processes(self) -> list[int]:
        """The number of each actor's process, on its own machine."""
        return [self._place(number)[2] for number in range(self.parts)]

    def close(self) -> None:
        """End the actors."""
        for line in self._lines.lines:
            line.close()
        for actor in self.actors:
            with contextlib.suppress(self.ray.exceptions.RayError):  # it has ended
                self.ray.kill(actor)
        self.actors = []

    def _place(self, number: int) -> tuple[Any, bytes, int]:
        """Where an actor answers, once it runs. Raises ConnectionError."""
        try:
            found: tuple[Any, bytes, int] = self.ray.get(
                self.actors[number].place.remote(), timeout=self.timeout
            )
        except self.ray.exceptions.RayError as error:
            raise ConnectionError(str(error)) from error
        return found

    def _connector(self, number: int) -> Callable[[], Connection]:
        def connect() -> Connection:
            address, key, _ = self._place(number)
            return Client(address, authkey=key)

        return connect

    def _failure(self, number: int) -> Callable[[Exception], Exception]:
        return lambda error: ShardError(f"shard {number}: its actor does not answer: {error}")
