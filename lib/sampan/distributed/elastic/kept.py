"""The state of a training run in memory that outlives its processes, and on disk.

A copy is one file, written under another name and then renamed, so that a process that is killed while it
writes leaves the copy before it. Memory is a folder of the system's memory file system (/dev/shm) on each
machine: the processes of a machine that stays up find it there after all of them were killed. For a machine
that goes down there are the copies of the other machines, and the disk.
"""

import contextlib
import os
import shutil
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...serialization import replacing, save_with_checksum

SUFFIX = ".safetensors"
MEMORY = "SAMPAN_ELASTIC_MEMORY"  # the folder for copies in memory
KEPT = 2  # copies in a folder: the newest, and the one before it in case that cannot be read


def memory_root() -> Path:
    """The folder in memory: what SAMPAN_ELASTIC_MEMORY says, or /dev/shm; the disk's temporary folder where
    there is no such memory."""
    if os.environ.get(MEMORY):
        return Path(os.environ[MEMORY])
    root = Path("/dev/shm")
    return root if root.is_dir() and os.access(root, os.W_OK) else Path(tempfile.gettempdir())


def memory_folder(job: str) -> Path:
    """The folder in memory of the job with this name."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in job)
    return memory_root() / f"sampan-{os.getuid()}-{name}"


def machine() -> str:
    """The same for processes that share their memory folder, and only for those."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    root = memory_root()
    root.mkdir(parents=True, exist_ok=True)
    started = boot.read_text().strip() if boot.exists() else ""
    return f"{socket.gethostname()} {started} {os.stat(root).st_dev} {root.resolve()}"


class Copies:
    """The last copies of a state in a folder, each named by its step."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def steps(self) -> list[int]:
        """The steps of the copies, newest first."""
        names = [
            path.name.removeprefix("step-").removesuffix(SUFFIX)
            for path in self.folder.glob(f"step-*{SUFFIX}")
        ]
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step}{SUFFIX}"

    def write(self, step: int, state: dict[str, Any]) -> None:
        """Write a copy, then remove those before the last two. Raises OSError; the older copies are then
        untouched."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        save_with_checksum(state, self.path(step))
        self._forget()

    def take(self, copy: IO[bytes], step: int) -> None:
        """Write the content of an open file as the copy of a step, and close it. Raises OSError, as
        `write`."""
        try:
            with copy:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                with replacing(self.path(step)) as written:
                    shutil.copyfileobj(copy, written, 1 << 20)
        except OSError as error:  # that of a full disk does not name the file
            raise OSError(error.errno, os.strerror(error.errno or 0), str(self.path(step))) from error
        self._forget()

    def _forget(self) -> None:
        """Remove old copies, and what processes that were killed while they wrote have left."""
        left = [
            path
            for path in self.folder.glob(".step-*.tmp")
            if not _alive(path.name.split(".")[-2].split("-")[0])
        ]
        for path in [*left, *map(self.path, self.steps()[KEPT:])]:
            with contextlib.suppress(FileNotFoundError):  # another process of the machine was quicker
                path.unlink()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):  # another user's process, or no number: not ours to remove
        return True
    return True


class Background:
    """One task at a time in a thread; what it raises becomes a warning in the thread that waits for it."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, task: Callable[[], None]) -> None:
        """Begin, after the task before has ended."""
        self.wait()

        def run() -> None:
            try:
                task()
            except OSError as error:  # a full disk must not end a run whose memory holds the state
                self._error = error

        self._thread = threading.Thread(target=run, name="sampan-elastic", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the task has ended. Warns where it failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            text = f"elastic: the state could not be written to the disk, the copy before it stays: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
