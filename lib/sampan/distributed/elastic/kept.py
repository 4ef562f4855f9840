"""The state of a training run in memory that outlives its processes, and on disk.

A copy is one file, written under another name and then renamed, so that a process that is killed while it
writes leaves the copy before it. Memory is a folder of the system's memory file system (/dev/shm) on each
machine: the processes of a machine that stays up find it there after all of them were killed. The disk holds
for a machine that goes down.
"""

import contextlib
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...serialization import load, replacing, save_with_checksum

SUFFIX = ".safetensors"
KEPT = 2  # copies in a folder: the newest, and the one before it in case that cannot be read


def memory_folder(job: str) -> Path:
    """The folder in memory of the job with this name; on the disk's temporary folder where there is no such
    memory."""
    root = Path("/dev/shm")
    if not (root.is_dir() and os.access(root, os.W_OK)):
        root = Path(tempfile.gettempdir())
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in job)
    return root / f"sampan-{os.getuid()}-{name}"


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
        """Write the content of an open file as the copy of a step, and close it."""
        with copy:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(self.path(step)) as written:
                shutil.copyfileobj(copy, written, 1 << 20)
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

    def newest(self) -> tuple[int, dict[str, Any]] | None:
        """(step, state) of the newest copy that can be read; a damaged one is reported and passed over."""
        for step in self.steps():
            try:
                return step, load(self.path(step))
            except (OSError, ValueError, RuntimeError) as error:
                text = f"elastic: {self.path(step)} cannot be read and is passed over: {error}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None

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
