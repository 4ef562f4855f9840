"""Workers in a ring: each sends to the next one and receives from the one before.

`all_reduce` sums vectors of all workers in 2 (W - 1) steps (Patarasuk and Yuan, "Bandwidth optimal all-reduce
algorithms for clusters of workstations", JPDC 2009): a link carries 2 (W - 1) / W of a vector, which is less
than two vectors for any number W of workers. No worker needs more than two links.

The workers are threads of one process (`run`), or processes (`ProcessLinks`). Values are buffers (torch
tensors).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import torch

from ..engine.errors import InvalidArgument
from .group import Group

__all__ = ["Links", "ProcessLinks", "ThreadLinks", "all_gather", "all_reduce", "run"]


class Links:
    """The two links of one worker: number `rank` of `world` workers.

    sent: the bytes of each message that it has sent to the next worker, in order.
    """

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        self.sent: list[int] = []

    @property
    def next(self) -> int:
        return (self.rank + 1) % self.world

    @property
    def previous(self) -> int:
        return (self.rank - 1) % self.world

    def send(self, values: torch.Tensor) -> None:
        """Send a buffer to the next worker. It is copied: the sender may change it afterwards."""
        self.sent.append(values.numel() * values.element_size())
        self._put(values.detach().clone())

    def receive(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        """The next message of the previous worker: a vector [count].

        Raises RuntimeError where another number or dtype was sent, or where nothing comes.
        """
        return self._take(count, dtype)

    def finish(self) -> None:
        """Wait until the last message has left: gloo loses one whose memory is freed before."""

    def _put(self, values: torch.Tensor) -> None:
        raise NotImplementedError

    def _take(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        raise NotImplementedError


class ThreadLinks(Links):
    """Links between threads of one process: a queue to the next worker, and one from the previous worker.

    timeout: seconds that `receive` waits.
    """

    def __init__(self, rank: int, queues: list[queue.Queue[Any]], timeout: float) -> None:
        super().__init__(rank, len(queues))
        self.timeout = timeout
        self._queues = queues

    def _put(self, values: torch.Tensor) -> None:
        self._queues[self.rank].put(values)

    def _take(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        here, there = f"worker {self.rank} of {self.world}", f"worker {self.previous}"
        try:
            values = self._queues[self.previous].get(timeout=self.timeout)
        except queue.Empty:
            raise RuntimeError(f"{here}: nothing came from {there} in {self.timeout:g} s") from None
        if values is None:
            raise _Stopped(f"{here}: another worker has failed")
        if values.numel() != count or values.dtype != dtype:
            expected, got = f"{count} numbers of {dtype}", f"{values.numel()} of {values.dtype}"
            raise RuntimeError(f"{here}: expected {expected} from {there}, got {got}")
        return values

    def close(self) -> None:
        """Let the next worker stop waiting."""
        self._queues[self.rank].put(None)


class _Stopped(RuntimeError):
    """A worker stops because another one has failed."""


class ProcessLinks(Links):
    """Links between processes that `init_parallel_env` has connected; `traffic` counts their messages too.

    group: the processes of the ring, in its order; None for all. Raises RuntimeError before
    init_parallel_env, and InvalidArgument where this process is not in the group.
    """

    def __init__(self, group: Group | None = None) -> None:
        from . import collective, wire  # these import torch.distributed, which threads do not need

        members = collective.ready("ProcessLinks", group)
        if members is None:
            raise InvalidArgument("group: expected a group that this process is in")
        super().__init__(members.rank, members.nranks)
        self._wire, self._group = wire, members
        self._on_the_way: Any = None

    def finish(self) -> None:
        if self._on_the_way is not None:
            self._on_the_way.wait()
            self._on_the_way = None

    def _put(self, values: torch.Tensor) -> None:
        self.finish()
        if values.numel():
            self._on_the_way = self._wire.send(values, self.next, self._group, sync=False)

    def _take(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        values = torch.empty(count, dtype=dtype)
        if count:
            self._wire.receive(values, self.previous, self._group)
        return values


def all_reduce(values: torch.Tensor, links: Links, wire: torch.dtype | None = None) -> None:
    """Let a vector [n] become the sum of the vectors of all workers, in place. Every worker calls it.

    The vector is cut into W chunks (`tensor_split`: the first n % W have one number more). In step s a worker
    r sends chunk r - s and adds what it receives to chunk r - s - 1; after W - 1 steps its chunk r + 1 is
    complete. In W - 1 further steps the complete chunks go round.

    wire: the dtype in which numbers travel, None for that of `values`. Sums are computed in the dtype of
    `values`. The result is the same, bit for bit, at all workers.
    """
    world, rank = links.world, links.rank
    chunks, dtype = values.tensor_split(world), wire or values.dtype
    for step in range(world - 1):
        links.send(chunks[(rank - step) % world].to(dtype))
        chunk = chunks[(rank - step - 1) % world]
        chunk += links.receive(len(chunk), dtype)
    if world > 1:  # the others get this chunk in `dtype`
        complete = chunks[(rank + 1) % world]
        complete.copy_(complete.to(dtype))
    for step in range(world - 1):
        links.send(chunks[(rank + 1 - step) % world].to(dtype))
        chunk = chunks[(rank - step) % world]
        chunk.copy_(links.receive(len(chunk), dtype))
    links.finish()


def all_gather(values: torch.Tensor, links: Links) -> list[torch.Tensor]:
    """The vectors [n] of all workers, in the order of their ranks. All have the same length and dtype."""
    found = {links.rank: values}
    for step in range(links.world - 1):
        links.send(found[(links.rank - step) % links.world])
        found[(links.rank - step - 1) % links.world] = links.receive(len(values), values.dtype)
    links.finish()
    return [found[rank] for rank in range(links.world)]


def run(world: int, work: Callable[[ThreadLinks], Any], timeout: float = 60.0) -> list[Any]:
    """Call `work(links)` in a thread for each of `world` workers; returns their results by rank.

    timeout: seconds that a worker waits for a message. Raises InvalidArgument for a `world` below 1, and the
    first error of a worker: the others then stop at their next `receive`.
    """
    if world < 1:
        raise InvalidArgument(f"world: expected at least 1 worker, got {world}")
    queues: list[queue.Queue[Any]] = [queue.Queue() for _ in range(world)]
    links = [ThreadLinks(rank, queues, timeout) for rank in range(world)]
    results: list[Any] = [None] * world
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            results[rank] = work(links[rank])
        except BaseException as error:  # raised again below, in the caller's thread
            errors.append(error)
            for each in links:
                each.close()

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((error for error in errors if not isinstance(error, _Stopped)), errors[0])
    return results
