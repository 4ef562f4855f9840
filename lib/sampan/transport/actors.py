"""Shards as actors of a Ray cluster, on any of its machines (extra `cluster`).

Ray starts a killed actor again, elsewhere if need be, and repeats the calls that it had not answered.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Sequence
from typing import Any

from .calls import Answer, Asked, Call, Make, ShardError, answered, array_bytes, values

BY_STORE = 100_000  # bytes of arrays from which a message goes through the cluster's store, without a copy
NAMESPACE = "sampan"


def ray_module() -> Any:
    """The module `ray`. Raises ImportError without the extra."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(
            "shards in a cluster need Ray, which the extra cluster has: pip install 'sampan[cluster]'"
        ) from error


class Holder:
    """What an actor runs: one shard."""

    def __init__(self, make: Make, number: int, openings: Sequence[Call]) -> None:
        self.shards = {number: make()}
        self.failed = [answer for answer in answered(self.shards, openings) if answer[0]]

    def call(self, calls: Sequence[Call]) -> list[Answer]:
        """An answer for each call."""
        return [self.failed[0]] * len(calls) if self.failed else answered(self.shards, calls)

    def process(self) -> int:
        """The number of this process."""
        import os

        return os.getpid()


class Actors:
    """One actor for each shard. Threads take turns.

    make: a function of a module, which makes a shard. openings: calls that an actor makes first, whenever
    it is started. name: clients that give the same one share the actors, which then outlive them until
    `close`; "" for actors of this client alone. timeout: seconds to wait for an answer, a restart included.
    Ray must be started (`ray.init`), or is started here for this machine.
    """

    def __init__(
        self, make: Make, parts: int, openings: Sequence[Call] = (), name: str = "", timeout: float = 60.0
    ) -> None:
        self.ray = ray = ray_module()
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, namespace=NAMESPACE)
        self.parts, self.timeout, self.sent, self.received = parts, timeout, 0, 0
        self._lock = threading.RLock()
        holder = ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)(Holder)
        self.actors = []
        for number in range(parts):
            mine = [call for call in openings if call[0] == number]
            shared = {"name": f"{name}-{number}", "lifetime": "detached", "get_if_exists": True}
            options = {"namespace": NAMESPACE, **shared} if name else {}
            self.actors.append(holder.options(**options).remote(make, number, mine))

    def ask(self, calls: Sequence[Call]) -> Asked:
        """Send the calls of each shard as one message."""
        mine: dict[int, list[int]] = {}
        for place, call in enumerate(calls):
            mine.setdefault(call[0], []).append(place)
        with self._lock:
            sent = {}
            for shard, places in mine.items():
                message: Any = [calls[place] for place in places]
                size = array_bytes(message)
                self.sent += size
                # An object of the store is mapped by the actor; a large argument would be copied and pickled.
                message = self.ray.put(message) if size >= BY_STORE else message
                sent[shard] = self.actors[shard].call.remote(message)
        return _AskedActors(self, calls, mine, sent)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to the calls, in their order. Raises what a shard raised, or ShardError."""
        return self.ask(calls).wait()

    def processes(self) -> list[int]:
        """The number of each actor's process, on its own machine."""
        return self.ray.get([actor.process.remote() for actor in self.actors], timeout=self.timeout)

    def close(self) -> None:
        """End the actors."""
        for actor in self.actors:
            with contextlib.suppress(self.ray.exceptions.RayError):  # it has ended
                self.ray.kill(actor)
        self.actors = []


class _AskedActors:
    """A request to several actors."""

    def __init__(
        self, home: Actors, calls: Sequence[Call], mine: dict[int, list[int]], sent: dict[int, Any]
    ) -> None:
        self._home, self._calls, self._mine, self._sent = home, calls, mine, sent

    def wait(self) -> list[Any]:
        answers: list[Any] = [None] * len(self._calls)
        for shard, reference in self._sent.items():
            try:
                found = self._home.ray.get(reference, timeout=self._home.timeout)
            except self._home.ray.exceptions.RayError as error:
                raise ShardError(f"shard {shard}: its actor does not answer: {error}") from error
            self._home.received += array_bytes([value for _, value in found])
            for place, answer in zip(self._mine[shard], found, strict=True):
                answers[place] = answer
        return values(self._calls, answers)
