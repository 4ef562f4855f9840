"""What the operating system enforces on a process that runs other people's code, and on all its children."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

if sys.platform != "win32":
    import resource

CGROUPS = Path("/sys/fs/cgroup")
_GRACE_S = 5  # between the signal that tells of the end of CPU time and the one that cannot be caught


@dataclass(frozen=True)
class Limits:
    """`memory` and `file_bytes` in bytes, `cpu_seconds` of all threads together; None sets no limit.

    `processes` counts threads too, as the kernel does, and on top of those that this person runs already: the
    operating system counts per person, not per session. It does not hold for root; a `cgroup` does.
    """

    memory: int
    processes: int
    files: int = 1024
    file_bytes: int | None = None
    cpu_seconds: int | None = None

    def apply(self) -> None:
        """Bind this process, before the first line of what it is to run; there is no way back up.

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
        """A cgroup v2 with these limits, beside the nearest of our own ancestors that lets us; None where none does."""
        parent = _delegated(root)
        if parent is None:
            return None
        folder = parent / f"sampan-{name}"
        try:
            folder.mkdir(exist_ok=True)
            (folder / "memory.max").write_text(str(self.memory))
            (folder / "pids.max").write_text(str(self.processes))
            with suppress(FileNotFoundError):  # only where the machine swaps
                (folder / "memory.swap.max").write_text("0")
        except OSError:  # read-only or not delegated after all: the rlimits hold
            with suppress(OSError):
                folder.rmdir()
            return None
        return Cgroup(folder)


@dataclass(frozen=True)
class Cgroup:
    """A group of processes that the kernel holds to limits together, and can kill together."""

    folder: Path

    def add(self, pid: int) -> None:
        """Take a process in; its children are born in it. OSError when the kernel refuses."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed something here because the memory was used up."""
        events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
        return int(events.get("oom_kill", 0)) > 0

    def kill(self) -> None:
        """Kill all that is inside, also what left its process group or session."""
        with suppress(FileNotFoundError):  # before Linux 5.14 there is no such file
            (self.folder / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Give it back to the machine, when what was killed in it has gone. Nothing happens when it is gone already;
        OSError when something in it still lives after a second."""
        end = time.monotonic() + 1.0
        while True:
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


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


def _delegated(root: Path) -> Path | None:
    """The nearest cgroup above ours that hands memory and process counts on to its children, and is ours to write."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None or not (root / "cgroup.controllers").is_file():
        return None
    here = root / own
    while here != root.parent:
        try:
            handed_on = (here / "cgroup.subtree_control").read_text().split()
        except OSError:
            handed_on = []
        if {"memory", "pids"} <= set(handed_on) and os.access(here / "cgroup.procs", os.W_OK):
            return here
        here = here.parent
    return None
