"""Checksums, computed once for each state of a file."""

import json
import os
import tempfile
from pathlib import Path

from ..serialization import sha256_of
from . import places


def verify(path: Path, expected: str) -> None:
    """ValueError unless the file has this sha256. A file whose size and time are unchanged is not read
    again."""
    state = path.stat()
    key = f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}"
    known = _load()
    if known.get(key) == expected:
        return
    found = sha256_of(path)
    if found != expected:
        advice = "It is damaged or another version; remove it and fetch it again."
        raise ValueError(
            f"{path} is not the file its card describes: sha256 {found}, expected {expected}. {advice}"
        )
    _store(known | {key: found})


def _ledger() -> Path:
    return places.cache() / "verified.json"


def _load() -> dict[str, str]:
    try:
        known = json.loads(_ledger().read_text())
    except (OSError, ValueError):  # absent or damaged: every file is read again
        return {}
    return known if isinstance(known, dict) else {}


def _store(known: dict[str, str]) -> None:
    ledger = _ledger()
    temporary = None
    try:
        ledger.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=ledger.parent, prefix="verified", suffix=".tmp")
        with os.fdopen(handle, "w") as stream:
            json.dump(known, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, ledger)
    except OSError:  # disk full or read-only: the data is valid, only not cached
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
