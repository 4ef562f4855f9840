"""The server's side of scoring: starts the scorer when a submission arrives, and again if it ends too early."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from typing import Any

from studio import processes

from .store import Store

LOOK_S = 1.0
MOST_WAIT_S = 30.0  # between starts of a scorer that ends at once
log = logging.getLogger(__name__)


class Queue:
    """`wake` after each submission, and once at the start for those of an earlier server."""

    def __init__(self, store: Store) -> None:
        self.store = store
        program = (sys.executable, "-m", "studio.competitions.scorer", str(store.folder))
        # The scorer takes its places from the same store. Learners' code runs in its sandbox, without this variable.
        passed = {"SAMPAN_STORE": os.environ["SAMPAN_STORE"]} if "SAMPAN_STORE" in os.environ else {}
        self._scorer = processes.Companion(program, 65536, 4000, passed=passed)
        self._arrived = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[Any] | None = None

    def wake(self) -> None:
        """Call it in the event loop."""
        self._arrived.set()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._until_empty())

    def expect(self) -> None:
        """Starts the scorer when a submission is likely, so that its imports are over when it arrives."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._scorer.running())

    async def _until_empty(self) -> None:
        wait = LOOK_S
        while await asyncio.to_thread(self.store.pending):
            process = await self._scorer.running()
            assert process.stdin is not None
            process.stdin.write(b"\n")
            self._arrived.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), wait)
            if process.returncode is None:
                wait = LOOK_S
            else:
                log.error(
                    "the scorer has ended with %s: %s", process.returncode, await self._scorer.last_words()
                )
                await asyncio.sleep(wait)
                wait = min(2 * wait, MOST_WAIT_S)

    async def close(self) -> None:
        """Ends the scorer; what it was scoring waits for the next one."""
        for task in (self._watch, self._starting):
            if task is not None:
                task.cancel()
        await self._scorer.end()
