"""Where shards run: in this process, or in processes of their own that answer through a socket.

A request is a list of calls (shard, method, arguments), all sent before any answer is awaited. A worker ends
when its parent closes the socket, also by dying.
"""

import multiprocessing
import pickle
import socket
import struct
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numba

from .shard import Shard
from .shard_files import ShardError

Call = tuple[int, str, tuple[Any, ...]]
_ERRORS: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError}


class InProcess:
    """All shards in this process. sent, received: bytes, none here."""

    def __init__(self, parts: int) -> None:
        self.shards = [Shard() for _ in range(parts)]
        self.sent = self.received = 0

    def request(self, calls: Sequence[Call]) -> list[Any]:
        return [getattr(self.shards[shard], method)(*given) for shard, method, given in calls]

    def close(self) -> None:
        self.shards = []


def serve(connection: Connection, numbers: Sequence[int], threads: int) -> None:
    """Answer for the shards `numbers` until the other end is closed: the whole life of a worker."""
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    shards = {number: Shard() for number in numbers}
    while True:
        try:
            calls = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        answers = []
        for shard, method, given in calls:
            try:
                answers.append(("", getattr(shards[shard], method)(*given)))
            except Exception as error:
                answers.append((type(error).__name__, str(error)))
        try:
            connection.send_bytes(pickle.dumps(answers, 5))
        except OSError:
            return


class Workers:
    """Processes that share the shards out; one caller at a time.

    timeout: seconds for which a worker may send or take nothing while it is waited for. After an error of one
    all are ended, and each later request raises ShardError. sent, received: bytes through the sockets so far.
    """

    def __init__(self, parts: int, workers: int, timeout: float) -> None:
        self.timeout, self.broken, self.sent, self.received = timeout, "", 0, 0
        context = multiprocessing.get_context("spawn")
        self.shards_of = [list(range(worker, parts, workers)) for worker in range(workers)]
        self.connections, self.processes = [], []
        threads = max(1, numba.get_num_threads() // workers)
        for numbers in self.shards_of:
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, numbers, threads), daemon=True)
            process.start()
            theirs.close()
            self._limit(ours)
            self.connections.append(ours)
            self.processes.append(process)

    def _limit(self, connection: Connection) -> None:
        """No read and no write of the socket may wait longer: each then raises BlockingIOError."""
        limit = struct.pack("ll", int(self.timeout), int(self.timeout % 1 * 1e6))
        with socket.socket(fileno=socket.dup(connection.fileno())) as end:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to the calls, in their order. Raises what a shard raised, or ShardError."""
        if self.broken:
            raise ShardError(f"{self.broken}; open the graph again")
        mine: list[list[int]] = [[] for _ in self.processes]
        for place, call in enumerate(calls):
            mine[call[0] % len(self.processes)].append(place)
        asked = [worker for worker, places in enumerate(mine) if places]
        for worker in asked:
            self._send(worker, pickle.dumps([calls[place] for place in mine[worker]], 5))
        answers: list[Any] = [None] * len(calls)
        for worker in asked:
            for place, answer in zip(mine[worker], self._receive(worker), strict=True):
                answers[place] = answer
        for (shard, _, _), (kind, value) in zip(calls, answers, strict=True):
            if kind:
                text = value if kind in ("ShardError", *_ERRORS) else f"shard {shard}: {kind}: {value}"
                raise _ERRORS.get(kind, ShardError)(text)
        return [value for _, value in answers]

    def _send(self, worker: int, message: bytes) -> None:
        try:
            self.connections[worker].send_bytes(message)
        except OSError as error:
            self._fail(worker, error)
        self.sent += len(message)

    def _receive(self, worker: int) -> Any:
        try:
            message = self.connections[worker].recv_bytes()
        except (EOFError, OSError) as error:
            self._fail(worker, error)
        self.received += len(message)
        return pickle.loads(message)

    def _fail(self, worker: int, error: Exception) -> NoReturn:
        process = self.processes[worker]
        if isinstance(error, BlockingIOError):
            why = f"did not answer within {self.timeout:g} s"
        else:
            process.join(5)
            why = f"ended with exit code {process.exitcode}"
        numbers = ", ".join(map(str, self.shards_of[worker]))
        self.broken = f"shard {numbers}: its worker process {process.pid} {why}"
        self._end()
        raise ShardError(f"{self.broken}; open the graph again") from error

    def _end(self) -> None:
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join(5)

    def close(self) -> None:
        """End the workers."""
        if not self.broken:
            self.broken = "ShardedGraph: it is closed"
            self._end()
