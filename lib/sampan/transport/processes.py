"""Shards in processes of their own, which this process starts; they answer through a socket.

A worker ends when its parent closes the socket, also by dying.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numba

from . import messages
from .calls import Call, Make, ShardError, answered
from .lines import AskedLines, Line, Lines
from .threads import use_threads

MOST_FAILED = 3
GUARD = 'see its traceback; a script that starts processes does so below `if __name__ == "__main__":`'


def serve(connection: Connection, preload: str, threads: int) -> None:
    """The life of a worker: import a module, be told which shards it has, answer until the other end is
    closed."""
    try:
        if preload:
            importlib.import_module(preload)
        (make, numbers, openings), _ = messages.read(connection)
        use_threads(threads)
        shards = {number: make() for number in numbers}
        failed = [answer for answer in answered(shards, openings) if answer[0]]
        while True:
            calls, _ = messages.read(connection)
            answers = [failed[0]] * len(calls) if failed else answered(shards, calls)
            messages.write(connection, messages.packed(answers))
    except (EOFError, OSError):
        return


class Workers:
    """Processes that share the shards out. Threads take turns.

    make: a function of a module, which makes a shard. openings: calls that a process makes first, whenever
    it is started. timeout: seconds for which a worker may send or take nothing while it is waited for.
    patience: 0: after an error of one worker all are ended, and each later request raises ShardError;
    otherwise another process takes the shards of one that died, and gets the request again, for this many
    seconds. It is ready by then: it was forked from a process that has imported the library, and has
    imported `preload`, a module that loads what shards need.
    """

    def __init__(
        self,
        make: Make,
        parts: int,
        workers: int,
        timeout: float,
        openings: Sequence[Call] = (),
        patience: float = 0.0,
        preload: str = "",
    ) -> None:
        self.parts, self.timeout, self.patience, self.broken = parts, timeout, patience, ""
        self._make, self._openings = make, openings
        self._context: Any = multiprocessing.get_context("forkserver" if patience else "spawn")
        if patience:
            self._context.set_forkserver_preload([__name__, make.__module__])
        self._preload = preload
        self._spare: tuple[Any, Connection] | None = None
        self.shards_of = [list(range(worker, parts, workers)) for worker in range(workers)]
        self._threads = max(1, numba.get_num_threads() // workers)
        self.processes: list[Any] = [None] * workers
        self._failed = [0] * workers  # processes one after another that ended with an error of their own
        lines = [Line(self._starter(n), self._failure(n), timeout, patience) for n in range(workers)]
        self._lines = Lines(parts, lines)
        for worker, line in enumerate(lines):
            line.connection = self._start(worker)

    @property
    def sent(self) -> int:
        return self._lines.sent

    @property
    def received(self) -> int:
        return self._lines.received

    def ask(self, calls: Sequence[Call]) -> AskedLines:
        if self.broken:
            raise ShardError(f"{self.broken}; open it again")
        return self._lines.ask(calls)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to the calls, in their order. Raises what a shard raised, or ShardError."""
        if self.broken:
            raise ShardError(f"{self.broken}; open it again")
        return self._lines.request(calls)

    def close(self) -> None:
        """End the workers."""
        if not self.broken:
            self.broken = "it is closed"
            self._end()

    def _starter(self, worker: int) -> Any:
        return lambda: self._start(worker)

    def _failure(self, worker: int) -> Any:
        return lambda error: self._fail(worker, error)

    def _start(self, worker: int) -> Connection:
        """A new process for the shards of a worker, in place of one that died."""
        before = self.processes[worker]
        if before is not None:
            before.join(5)  # its socket closes a moment before its exit code is known
            self._failed[worker] = self._failed[worker] + 1 if (before.exitcode or 0) > 0 else 0
            if self._failed[worker] == MOST_FAILED:
                raise self._fail(worker, EOFError())
            before.kill()
            before.join(5)
        numbers = self.shards_of[worker]
        mine = [call for call in self._openings if call[0] in numbers]
        process, ours = self._spare or self._process()
        self._spare = None
        self.processes[worker] = process
        messages.write(ours, messages.packed((self._make, numbers, mine)))
        if self.patience and None not in self.processes:
            self._spare = self._process()
        return ours

    def _process(self) -> tuple[Any, Connection]:
        """A process that waits for its shards, and our end of its socket."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=serve, args=(theirs, self._preload, self._threads), daemon=True
        )
        process.start()
        theirs.close()
        return process, ours

    def _fail(self, worker: int, error: Exception) -> ShardError:
        process = self.processes[worker]
        if isinstance(error, BlockingIOError):
            why = f"did not answer within {self.timeout:g} s"
        else:
            process.join(60)
            why = f"ended with exit code {process.exitcode}"
            if self._failed[worker] == MOST_FAILED:
                why += f", as {MOST_FAILED - 1} before it: {GUARD}"
        numbers = ", ".join(map(str, self.shards_of[worker]))
        self.broken = f"shard {numbers}: its worker process {process.pid} {why}"
        self._end()
        return ShardError(f"{self.broken}; open it again")

    def _end(self) -> None:
        processes = list(self.processes)
        if self._spare is not None:
            processes.append(self._spare[0])
            self._spare[1].close()
        for line in self._lines.lines:
            line.close()
        for process in processes:
            process.kill()
        for process in processes:
            process.join(5)
