"""Adding a whole file: one of this machine, as `sampan data add` does, or one that came in a request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, BinaryIO

from .examine import examined
from .places import taken
from .store import Store

_PIECE = 1 << 20


async def add(store: Store, file: Path, name: str, words: dict[str, str]) -> dict[str, Any]:
    """The card of the new version. Raises Refusal, and OSError if the file cannot be read."""
    with file.open("rb") as stream:
        return await add_stream(store, stream, file.stat().st_size, file.name, name, words, {})


async def add_stream(
    store: Store,
    stream: BinaryIO,
    size: int,
    file_name: str,
    name: str,
    words: dict[str, str],
    more: dict[str, Any],
) -> dict[str, Any]:
    """As `add`, for the `size` bytes of a stream; `more` is added to the card."""
    names = await asyncio.to_thread(taken)
    incoming = await asyncio.to_thread(store.begin, name, size, names)
    try:
        while part := await asyncio.to_thread(stream.read, _PIECE):
            await asyncio.to_thread(incoming.write, part)
        await asyncio.to_thread(incoming.complete)
        found = await examined(incoming.path, file_name)
        return await asyncio.to_thread(store.keep, incoming, name, {**found, **more}, words)
    finally:
        incoming.discard()
