"""What the operating system enforces on a process that runs other people's code, and on all its children."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .cgroup import CGROUPS, Cgroup, delegated, own_name

if sys.platform != "win32":
    import resource

_GRACE_S = 5  # between the signal for the CPU time limit and the one that cannot be caught


@dataclass(frozen=True)
class Limits:
    """`memory` and `file_bytes` in bytes, `cpu_seconds` of all threads together; None sets no limit. `memory` is that of one
    process; a cgroup limits `places` times as much for all of them.

    `processes` counts threads too, as the kernel does, in addition to those that this user runs already: the
    operating system counts per user, not per session. It does not limit root; a `cgroup` does.
    """

    memory: int
    processes: int
    files: int = 1024
    file_bytes: int | None = None
    cpu_seconds: int | None = None
    places: int = 1

    def apply(self) -> None:
        """Apply the limits to this process, before its program starts; they cannot be raised again.

        Memory is limited as data (heap and private mappings), not as address space: torch and CUDA reserve
        many times what they use.
        """
        if sys.platform == "win32":
            return
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_NOFILE, self.files)
        _lower(resource.RLIMIT_DATA, self.memory)
        if hasattr(resource, "RLIMIT_NPROC"):
            _lower(resource.RLIMIT_NPROC, _tasks_of_this_person() + self.processes)
        if self.file_bytes is not None:
            _lower(resource.RLIMIT_FSIZE, self.file_bytes)
        if self.cpu_seconds is not None:
            _lower(resource.RLIMIT_CPU, self.cpu_seconds, self.cpu_seconds + _GRACE_S)

    def cgroup(self, name: str, root: Path = CGROUPS) -> Cgroup | None:
        """A cgroup v2 with these limits, next to our nearest ancestor in which we may create one; None if there is
        none."""
        parent = delegated(root)
        if parent is None:
            return None
        folder = parent / own_name(name)
        try:
            folder.mkdir(exist_ok=True)
            (folder / "memory.max").write_text(str(self.places * self.memory))
            (folder / "pids.max").write_text(str(self.places * self.processes))
            with suppress(FileNotFoundError):  # only where the machine swaps
                (folder / "memory.swap.max").write_text("0")
        except OSError:  # read-only or not delegated: only the rlimits apply
            with suppress(OSError):
                folder.rmdir()
            return None
        return Cgroup(folder)


def _lower(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above the one in force."""
    ceiling = resource.getrlimit(which)[1]
    wanted = soft if hard is None else hard
    top = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
    resource.setrlimit(which, (min(soft, top), top))


def _tasks_of_this_person() -> int:
    """Threads of all processes with our uid, as RLIMIT_NPROC counts them.

    Not psutil.process_iter: its shared objects hold locks, which another thread may have held when we forked.
    """
    me, tasks = os.getuid(), 0
    for pid in psutil.pids():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process = psutil.Process(pid)
            if process.uids().real == me:
                tasks += process.num_threads()
    return tasks
