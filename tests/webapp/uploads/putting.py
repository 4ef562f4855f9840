"""Puts a file into a store as an upload does, with the examination in this process."""

from __future__ import annotations

import io
from typing import Any

from studio.uploads import examine
from studio.uploads.store import Store

WORDS = {"title": "Notes", "licence": "CC0"}


def put(store: Store, content: bytes, file: str, name: str = "notes") -> dict[str, Any]:
    """The card of the new version."""
    incoming = store.begin(name, len(content), set())
    try:
        incoming.write(content)
        found = examine.examine(io.BytesIO(content), file)
        return store.keep(incoming, name, found, WORDS)
    finally:
        incoming.discard()
