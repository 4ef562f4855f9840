"""The file beside each running session that says what it may use; the session itself reads it (`sampan.session`).

It is the only way from the server into a session: no token, no socket. The way back is one empty file, which
`keep()` touches.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from studio.runtime import write_atomically

from .lease import Lease


@dataclass(frozen=True)
class Record:
    """`ends` and `culled_at` in seconds since 1970, `memory` in bytes. `culled_at` is 0 unless the session is idle."""

    id: str
    owner: str
    purpose: str
    title: str
    device: str
    share: float
    memory: int
    granted: float
    ends: float
    kernel: str = ""  # the kernel's id in the server, if it is one
    job: str = ""
    culled_at: float = 0.0


def of(lease: Lease, kernel: str = "", job: str = "") -> Record:
    """The record of a lease for the session that runs under it."""
    ask = lease.ask
    return Record(
        id=lease.id,
        owner=ask.owner,
        purpose=ask.purpose,
        title=ask.title,
        device=lease.device,
        share=ask.share,
        memory=ask.memory,
        granted=lease.granted,
        ends=lease.ends,
        kernel=kernel,
        job=job,
    )


def path(state: Path, lease_id: str) -> Path:
    """The path of a session's record."""
    return state / "sessions" / f"{lease_id}.json"


def write(state: Path, record: Record) -> Path:
    """Write it atomically; returns its path."""
    file = path(state, record.id)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(asdict(record)).encode())
    return file


def read(state: Path, lease_id: str) -> Record | None:
    """The record of a session, None when there is none."""
    try:
        return Record(**json.loads(path(state, lease_id).read_text("utf-8")))
    except FileNotFoundError:
        return None


def keep(state: Path, lease_id: str) -> None:
    """Like `sampan.session.keep()` from inside: do not cull the session although it is idle."""
    path(state, lease_id).with_suffix(".keep").touch()


def kept(state: Path, lease_id: str) -> float:
    """When `keep()` was last called, in seconds since 1970; 0 if never."""
    try:
        return path(state, lease_id).with_suffix(".keep").stat().st_mtime
    except FileNotFoundError:
        return 0.0


def remove(state: Path, lease_id: str) -> None:
    """No-op if it is gone already."""
    file = path(state, lease_id)
    file.unlink(missing_ok=True)
    file.with_suffix(".keep").unlink(missing_ok=True)
