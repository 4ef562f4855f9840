"""A Redis server for the tests, from the machine's own package: unix socket only, nothing on the disk."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = ("--port", "0", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction")


class Server:
    """A redis-server that listens at `url`; `kill` is a power cut, `start` after it is an empty server at the same place."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, f"unix://{folder}/socket"
        self.start()

    def start(self, *options: str) -> None:
        with open(self.folder / "out", "ab") as output:
            command = ["redis-server", *SETTINGS, "--unixsocket", str(self.folder / "socket"), *options]
            self.process = subprocess.Popen(command, stdout=output, stderr=output, cwd=self.folder)
        deadline = time.monotonic() + 30
        while "ready to accept connections" not in self.said():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"redis-server did not start:\n{self.said()}")
            time.sleep(0.01)

    def said(self) -> str:
        return (self.folder / "out").read_text("utf-8", "replace")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def kill(self) -> None:
        self.stop()
        (self.folder / "socket").unlink(missing_ok=True)
        (self.folder / "out").unlink()


@contextmanager
def running() -> Iterator[Server]:
    folder = Path(
        tempfile.mkdtemp(prefix="sampan-redis-", dir="/tmp")
    )  # short: a socket's path has 107 bytes
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
