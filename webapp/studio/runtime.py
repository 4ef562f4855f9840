"""Which Studio is running: a small file per port, valid only while its process runs."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

# psutil derives a start time from the boot time, which moves a little when the clock is set.
_SAME_START_S = 2.0


@dataclass(frozen=True)
class Running:
    """A Studio that listens: `url` without the token; `started` is the process's start, in seconds since 1970."""

    pid: int
    started: float
    port: int
    url: str
    token: str

    @property
    def address(self) -> str:
        """The address with the token."""
        return f"{self.url}studio?token={self.token}"

    def lives(self) -> bool:
        """Whether the process still runs; a new process that got the same number does not count."""
        try:
            process = psutil.Process(self.pid)
            return (
                abs(process.create_time() - self.started) < _SAME_START_S
                and process.status() != psutil.STATUS_ZOMBIE
            )
        except psutil.NoSuchProcess:
            return False

    def answers(self, timeout: float) -> bool:
        """Whether it replies to a request within `timeout` seconds."""
        request = urllib.request.Request(
            f"{self.url}studio/health", headers={"Authorization": f"token {self.token}"}
        )
        # No proxy: this is 127.0.0.1, whatever the environment sets for other hosts.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False


def this_process(port: int, url: str, token: str) -> Running:
    return Running(os.getpid(), psutil.Process().create_time(), port, url, token)


def _file(state: Path, port: int) -> Path:
    return state / f"studio-{port}.json"


def write(state: Path, running: Running) -> None:
    """Write it atomically, readable only by its owner, because it contains the token."""
    write_atomically(_file(state, running.port), json.dumps(asdict(running)).encode())


def remove(state: Path, running: Running) -> None:
    _file(state, running.port).unlink(missing_ok=True)


def find(state: Path) -> Running | None:
    """The Studio of this workspace that runs now, if any. Files of processes that are gone are removed."""
    for path in sorted(state.glob("studio-*.json")):
        try:
            running = Running(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError):  # foreign or of another version: ignored
            path.unlink(missing_ok=True)
            continue
        if running.lives():
            return running
        path.unlink(missing_ok=True)
    return None


def write_atomically(path: Path, content: bytes) -> None:
    """Write `path` atomically, with mode 0600."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
