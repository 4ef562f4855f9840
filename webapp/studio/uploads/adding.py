"""Adding a file of this machine, as `sampan data add` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .examine import examined
from .places import taken
from .store import Store

_PIECE = 1 << 20


async def add(store: Store, file: Path, name: str, words: dict[str, str]) -> dict[str, Any]:
    """The card of the new version. Raises Refusal, and OSError if the file cannot be read."""
    with file.open("rb") as stream:
        incoming = store.begin(name, file.stat().st_size, taken())
        try:
            while part := stream.read(_PIECE):
                incoming.write(part)
            incoming.complete()
            found = await examined(incoming.path, file.name)
            return store.keep(incoming, name, found, words)
        finally:
            incoming.discard()
