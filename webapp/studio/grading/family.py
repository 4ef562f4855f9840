"""All processes of one submission, read from /proc by their guard: their memory, and whether they are stopped. They
cannot change these numbers themselves.

Without /proc (trusted code on another system) only the memory is known, from psutil.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

PROC = Path("/proc")
GONE = (OSError, ValueError, IndexError)  # the process ended while it was read
QUIET = "TtZXx"  # states of a thread that runs no code: stopped, or ended
ASLEEP = "D"  # in the kernel; it gets the stop signal before it runs its own code again
SOCKET_BYTES = 512 << 10  # what a socket may buffer in the kernel, which is not counted in any process


def members(pid: int) -> list[int]:
    """The process and all its present descendants."""
    with suppress(psutil.NoSuchProcess):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return []


def used(pids: Iterable[int], limit: int, own_network: bool) -> int:
    """Bytes that the processes use together: private and shared memory, page tables, and what sockets in their own
    network namespace may buffer. Up to `limit` the sum of all mapped memory is used; above it, shared memory counts
    once."""
    pids = list(pids)
    if not PROC.is_dir():
        return sum(_resident(pid) for pid in pids)
    outside = _sockets(pids[0]) * SOCKET_BYTES if own_network and pids else 0
    most = outside + sum(_mapped(pid) for pid in pids)
    return most if most <= limit else outside + sum(_share(pid) for pid in pids)


def _resident(pid: int) -> int:
    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _mapped(pid: int) -> int:
    return _kilobytes(pid, "status", ("RssAnon", "RssShmem", "VmSwap", "VmPTE"))


def _share(pid: int) -> int:
    """As `_mapped`, each page divided by the number of processes that share it (PSS); all of it if that is not
    reported."""
    tables = _kilobytes(pid, "status", ("VmPTE",))
    return _kilobytes(pid, "smaps_rollup", ("Pss_Anon", "Pss_Shmem", "SwapPss")) + tables or _mapped(pid)


def _kilobytes(pid: int, file: str, names: tuple[str, ...]) -> int:
    with suppress(*GONE):
        text = (PROC / str(pid) / file).read_text("utf-8", "replace")
        return sum(
            int(found) << 10 for name in names for found in re.findall(rf"^{name}:\s+(\d+) kB", text, re.M)
        )
    return 0


def _sockets(pid: int) -> int:
    with suppress(*GONE):
        return int((PROC / str(pid) / "net" / "sockstat").read_text().split()[2])
    return 0


def runs(pid: int, told: bool) -> bool:
    """Whether any thread of a process may run its own code; `told`: a stop signal was sent."""
    with suppress(*GONE):
        for task in (PROC / str(pid) / "task").iterdir():
            state = _fields(task)[0]
            if state not in QUIET and not (told and state in ASLEEP):
                return True
    return False


def seconds(pid: int) -> float:
    """Processor time that a process has used: in nanoseconds if the kernel counts them, else in ticks."""
    total = 0.0
    with suppress(*GONE):
        for task in (PROC / str(pid) / "task").iterdir():
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
        return total
    with suppress(*GONE):
        return sum(map(int, _fields(PROC / str(pid))[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _fields(folder: Path) -> list[str]:
    """The fields of a stat file from the state on: the name before it may hold anything."""
    return (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
