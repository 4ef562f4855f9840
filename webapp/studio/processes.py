"""Child processes of the server: with a clean environment, and stopped together with their descendants."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import psutil

from .environment import ONE_THREAD, clean_environment

DRAIN_S = 2.0


async def start(
    command: Sequence[str],
    stdin: int = DEVNULL,
    longest_line: int = 65536,
    passed: Mapping[str, str] = MappingProxyType({}),
) -> Process:
    """Start a program without secrets in its environment, but for what is `passed`, with one compute thread and piped
    output. Cancelling leaves no process behind."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            env={**clean_environment(os.environ), **ONE_THREAD, **passed},
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            limit=longest_line,
        )
    )
    try:
        # Shielded: if it is cancelled half-way, asyncio (3.11) can wait for ever for the pipes of the abandoned
        # process.
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await stop(await starting)
        raise


async def stop(process: Process) -> None:
    """Kill it and its descendants, if it still runs; returns when it is gone."""
    if process.returncode is None:
        stop_tree(process.pid)
        await _gone(process)


async def _gone(process: Process) -> None:
    """Returns when a killed process is reaped. A detached descendant may still hold the pipes: do not wait long."""
    try:
        async with asyncio.timeout(DRAIN_S):
            await process.communicate()
    except TimeoutError:
        process._transport.close()  # type: ignore[attr-defined]  # no other way to give the pipes up


class Companion:
    """A persistent program that answers lines: started when first needed, restarted when it has ended.

    `words` is the end of its stderr, at most `most_words` characters. Starting and ending are serialised by a lock,
    so that a process started meanwhile is not lost. `passed` is for its environment, as in `start`.
    """

    def __init__(
        self,
        command: Sequence[str],
        longest_line: int,
        most_words: int,
        passed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._command, self._longest_line, self._most_words = command, longest_line, most_words
        self._passed = passed
        self._process: Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self.words = ""

    async def running(self) -> Process:
        """The process, started now if it is not running."""
        async with self._turn:
            if self._process is None or self._process.returncode is not None:
                await self._end()
                self._process = await start(self._command, PIPE, self._longest_line, self._passed)
                self.words = ""
                self._listening = asyncio.create_task(self._listen(self._process))
            return self._process

    async def _listen(self, process: Process) -> None:
        assert process.stderr is not None
        while part := await process.stderr.read(65536):
            self.words = (self.words + part.decode(errors="replace"))[-self._most_words :]

    async def last_words(self) -> str:
        """`words`, after the process has ended and its stderr was read."""
        if self._listening is not None:
            await asyncio.wait([self._listening], timeout=DRAIN_S)
        return self.words

    async def end(self) -> None:
        """End it and everything that it started."""
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        # Cleared first: if this is cancelled, no dead process may be taken for a running one.
        process, self._process = self._process, None
        listening, self._listening = self._listening, None
        lives = process is not None and process.returncode is None
        if process is not None and lives:
            stop_tree(process.pid)
        if listening is not None:
            listening.cancel()
            await asyncio.wait([listening])
        if process is not None and lives:
            await _gone(process)


async def end(pid: int, patience: float = 3.0) -> None:
    """Interrupt a process, ask it to end, then kill it; `patience` in seconds for each. No descendant is left."""
    family: list[psutil.Process] = []
    try:
        process = psutil.Process(pid)
        family = process.children(recursive=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and process.status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(0.05)
    except psutil.NoSuchProcess:  # it ended by itself; its children may still run
        for child in family:
            if child.is_running():
                stop_tree(child.pid)
    else:
        stop_tree(pid)


def stop_tree(pid: int) -> None:
    """Kill a process and all its descendants. A kernel has its own session, so killing the process group is not
    enough."""
    try:
        family = [psutil.Process(pid)]
        family += family[0].children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.send_signal(signal.SIGSTOP)  # so that none starts another meanwhile
        except psutil.NoSuchProcess:
            continue
    try:
        family += [child for child in family[0].children(recursive=True) if child not in family]
    except psutil.NoSuchProcess:
        family = family[1:]
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
