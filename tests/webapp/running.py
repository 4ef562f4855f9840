"""Starting a real `sampan studio` for a test, as a person would, and waiting for what it does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.free_port import free_ports

START_S = 60


def until(found: Callable[[], Any], seconds: float = 120.0) -> Any:
    """What `found` gives as soon as that is true."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, f"still nothing after {seconds} s"
        time.sleep(0.02)
    return result


def free_port() -> int:
    return free_ports(1)[0]


@dataclass
class Studio:
    """A running `sampan studio`."""

    process: subprocess.Popen[bytes]
    home: Path
    port: int
    token: str
    seconds: float  # from the command to the first answer
    log: Path  # a file: an unread pipe fills up and blocks the whole Studio
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}/"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"token {self.token}"}

    def stop(self) -> str:
        """Stop it as Ctrl-C does; returns what it had printed."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # it says where each of its threads stands
            self.process.wait()
            raise AssertionError(
                f"the Studio did not stop:\n{self.log.read_text(errors='replace')}"
            ) from None
        return self.log.read_text(errors="replace")


def studio_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "studio.cli", "studio", "--no-browser", *arguments]


def start_studio(home: Path, *arguments: str, **environment: str) -> Studio:
    """Starts a Studio in the workspace `home` and waits until it answers."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile("wb", prefix="studio-", suffix=".log", delete=False) as output:
        log = Path(output.name)
        process = subprocess.Popen(
            studio_command(*arguments),
            env={**os.environ, "SAMPAN_HOME": str(home), "PYTHONFAULTHANDLER": "1", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            # Tests that were started in the background ignore interrupts, and so would what they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    while time.monotonic() - began < START_S:
        if process.poll() is not None:
            raise AssertionError(f"the Studio ended at once: {log.read_text()}")
        for path in (home / ".studio").glob("studio-*.json"):
            entry = json.loads(path.read_text())
            if entry["pid"] == process.pid and _answers(entry["port"]):
                return Studio(process, home, entry["port"], entry["token"], time.monotonic() - began, log)
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"no Studio after {START_S} s: {log.read_text()}")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def memory_of(pid: int) -> bytes:
    """All memory that a process may write to. Needs root, or the same account."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(part, 16) for part in place.split("-"))
                with contextlib.suppress(OSError):  # given back meanwhile
                    memory.seek(start)
                    found.append(memory.read(end - start))
    return b"".join(found)
