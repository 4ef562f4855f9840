"""Shards as actors of a Ray cluster, on any of its machines (extra `cluster`).

Ray places the actors. One more may wait with everything imported, and take the place of a shard whose actor
ended: a start of Ray's own takes seconds. Each listens at a port of its machine, which it tells through
Ray with a key of its own; requests go there, without a copy in Ray's object store.
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

from .assignments import NAMESPACE, Assignments, ray_module
from .calls import Answer, Call, Make, ShardError, answered, values
from .lines import AskedLines, Line, Lines
from .sockets import answer_clients

SPARE = "spare"  # in place of a shard's number
MOST_TRIED = 4  # actors one after another that end before they answer
Place = tuple[Any, bytes, int]  # ((host, port), key, number of the process)


class Failing:
    """In place of a shard that could not be opened: each call raises why."""

    def __init__(self, why: Answer) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        return values([(0, name, ())], [self._why])


class Holder:
    """The class of a Ray actor. It opens one shard, in `become`, and then serves it at a port."""

    def __init__(self, preload: str) -> None:
        importlib.import_module(preload)
        self._number = -1
        self._place: Place | None = None

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def become(self, make: Make, number: int, openings: Sequence[Call]) -> Place | None:
        """Open the shard, unless it is open here. None where this actor has another."""
        if self._place is None:
            shards = {number: make()}
            failed = [answer for answer in answered(shards, openings) if answer[0]]
            if failed:
                shards[number] = Failing(failed[0])
            key = secrets.token_bytes(32)
            listener = Listener((ray_module().util.get_node_ip_address(), 0), backlog=64)
            self._number, self._place = number, (listener.address, key, os.getpid())
            threading.Thread(target=answer_clients, args=(listener, shards, key), daemon=True).start()
        return self._place if number == self._number else None


class Actors:
    """One actor for each shard, and perhaps one that waits. Threads take turns.

    make: a function of a module, which makes a shard. openings: calls that an actor makes first, whenever it
    becomes a shard. name: clients that give the same one share the actors, which then outlive them until
    `close`; "" for actors of this client alone. timeout: seconds for which a shard may be silent, and for
    which one that is gone is waited for. preload: a module that loads what shards need; with it one more
    actor waits, otherwise one is started when it is needed. Ray must be started (`ray.init`), or is started
    here for this machine. A client must reach the ports of the cluster's machines.
    """

    def __init__(
        self,
        make: Make,
        parts: int,
        openings: Sequence[Call] = (),
        name: str = "",
        timeout: float = 60.0,
        preload: str = "",
    ) -> None:
        self.ray = ray = ray_module()
        if not ray.is_initialized():
            # Without this, Ray's processes wait for all others of a busy machine.
            equal = {"worker_niceness": 0}
            ray.init(include_dashboard=False, log_to_driver=False, namespace=NAMESPACE, _system_config=equal)
        self.parts, self.timeout, self._shared = parts, timeout, bool(name)
        self._make, self._openings, self._preload = make, openings, preload
        self._assigned = Assignments(name or secrets.token_hex(8))
        self._own: list[Any] = []  # Ray ends an actor of one client once that client has no handle of it
        for number in range(parts):
            turn, actor = self._assigned.last(str(number))
            with contextlib.suppress(ValueError):  # it has ended: the first request takes another
                self._ask(actor or self._new(str(number), turn + 1), number)
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
        """The number of each shard's process, on its own machine."""
        return [self._place(number)[2] for number in range(self.parts)]

    def spare(self) -> int:
        """The number of the process that waits, as soon as it does."""
        return int(self.ray.get(self._actor(self._spare()).process.remote(), timeout=self.timeout))

    def close(self) -> None:
        """End the actors."""
        for line in self._lines.lines:
            line.close()
        for actor in self._assigned.all():
            with contextlib.suppress(ValueError, self.ray.exceptions.RayError):  # it has ended
                self.ray.kill(self._actor(actor))
        self._assigned.clear()
        self._own = []

    def _new(self, what: str, turn: int) -> str:
        """Start an actor for a shard, or one that waits; the name of another, if that was assigned before."""
        name = f"{self._assigned.name}-{secrets.token_hex(8)}"
        lifetime = {"lifetime": "detached"} if self._shared else {}
        remote = self.ray.remote(num_cpus=0)(Holder).options(name=name, namespace=NAMESPACE, **lifetime)
        actor = remote.remote(self._preload or self._make.__module__)
        found = self._assigned.assign(what, turn, name)
        if found == name:
            self._own.append(actor)
        else:
            self.ray.kill(actor)
        return found

    def _actor(self, name: str) -> Any:
        """Raises ValueError for one that has ended."""
        return self.ray.get_actor(name, namespace=NAMESPACE)

    def _spare(self) -> str:
        """The name of the actor that waits, which is started where there is none."""
        turn, name = self._assigned.last(SPARE)
        if name and name not in self._assigned.of_shards():
            with contextlib.suppress(ValueError):  # it has ended
                self._actor(name)
                return name
        return self._new(SPARE, turn + 1)

    def _ask(self, name: str, number: int) -> Any:
        """Let an actor be a shard; Ray's reference to its place. Raises ValueError for one that has ended."""
        mine = [call for call in self._openings if call[0] == number]
        return self._actor(name).become.remote(self._make, number, mine)

    def _place(self, number: int) -> Place:
        """Where a shard answers, once it runs. Raises ConnectionError.

        Its actor is the last one that was assigned. When Ray says that it has ended, the one that waits is
        assigned next, once for all clients; so no two actors have the same shard.
        """
        errors, why = self.ray.exceptions, ""
        turn, name = self._assigned.last(str(number))
        for _ in range(MOST_TRIED):
            try:
                found: Place | None = self.ray.get(self._ask(name, number), timeout=self.timeout)
            except (ValueError, errors.ActorDiedError) as error:
                if getattr(error, "actor_init_failed", False):
                    raise BlockingIOError(str(error)) from error  # which a line does not try again
                found, why = None, str(error)
            except errors.RayError as error:
                raise ConnectionError(str(error)) from error
            if found is not None:
                if self._preload:
                    self._spare()  # starts while this shard answers
                return found
            turn += 1
            name = self._assigned.assign(str(number), turn, self._spare())
        raise ConnectionError(why)

    def _connector(self, number: int) -> Callable[[], Connection]:
        def connect() -> Connection:
            address, key, _ = self._place(number)
            return Client(address, authkey=key)

        return connect

    def _failure(self, number: int) -> Callable[[Exception], Exception]:
        return lambda error: ShardError(f"shard {number}: its actor does not answer: {error}")
