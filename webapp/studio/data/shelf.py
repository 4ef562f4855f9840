"""What the server knows of data sets: it asks a process that has the library (`look.py`), and keeps the answers."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from studio import processes
from studio.runtime import write_atomically

PROGRAM = (sys.executable, "-m", "studio.data.look")
MAX_LINE_BYTES = 32_000_000
MAX_WORDS = 2_000
LIMIT_S = 90.0  # for one answer
IDLE_S = 60.0  # after which the process is ended
CARDS_S = 60.0  # for which the cards are kept: data may be added meanwhile


class LookError(RuntimeError):
    """A question without an answer; the message is for the log."""


class Shelf:
    """Cards and looks. A look is kept in `folder` under the version of its data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._companion = processes.Companion(PROGRAM, MAX_LINE_BYTES, MAX_WORDS)
        self._turn = asyncio.Lock()
        self._idle: asyncio.Task[None] | None = None
        self._cards: tuple[float, list[dict[str, Any]]] | None = None
        self._working: dict[str, asyncio.Task[Any]] = {}

    def cards(self) -> list[dict[str, Any]] | None:
        """All cards; None while they are read. Raises LookError if they cannot be."""
        if self._cards is not None and time.monotonic() - self._cards[0] < CARDS_S:
            return self._cards[1]
        found: list[dict[str, Any]] | None = self._later("cards", {"ask": "cards"})
        if found is None:
            return self._cards and self._cards[1]
        self._cards = time.monotonic(), found
        return found

    def look(self, card: dict[str, Any]) -> list[dict[str, Any]] | None:
        """The blocks of a data set; None while they are made. Raises LookError if they cannot be."""
        kept = self.folder / f"{card['name']}-{card['version']}.json"
        try:
            blocks: list[dict[str, Any]] = json.loads(kept.read_text("utf-8"))
            return blocks
        except (OSError, ValueError):  # not there yet, or damaged: it is made again
            found: list[dict[str, Any]] | None = self._later(
                card["name"], {"ask": "look", "name": card["name"]}
            )
        if found is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, json.dumps(found).encode())
        return found

    def _later(self, key: str, question: dict[str, Any]) -> Any:
        """The answer if it has come, else None, and it is being asked for."""
        task = self._working.get(key)
        if task is None:
            self._working[key] = asyncio.create_task(self._ask(question))
            return None
        if not task.done():
            return None
        del self._working[key]
        return task.result()

    async def _ask(self, question: dict[str, Any]) -> Any:
        async with self._turn:
            try:
                async with asyncio.timeout(LIMIT_S):
                    process = await self._companion.running()
                    assert process.stdin is not None and process.stdout is not None
                    process.stdin.write(json.dumps(question).encode() + b"\n")
                    line = await process.stdout.readline()
            except (TimeoutError, ValueError) as error:  # ValueError: a line that is too long
                await self._companion.end()
                raise LookError(f"{question}: no answer ({error!r})") from error
            if not line.endswith(b"\n"):
                raise LookError(f"{question}: {await self._companion.last_words()}")
            self._restart_clock()
        reply = json.loads(line)
        if "error" in reply:
            raise LookError(f"{question}: {reply['error']}")
        return reply["answer"]

    def _restart_clock(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.create_task(self._end_when_idle())

    async def _end_when_idle(self) -> None:
        await asyncio.sleep(IDLE_S)
        async with self._turn:
            await self._companion.end()

    async def close(self) -> None:
        """Ends the process."""
        if self._idle is not None:
            self._idle.cancel()
        await self._companion.end()
