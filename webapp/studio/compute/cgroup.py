"""Control groups (cgroup v2): limits for a group of processes, where this machine lets us create them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .lease import Holder

CGROUPS = Path("/sys/fs/cgroup")
_PREFIX = "sampan-"


@dataclass(frozen=True)
class Cgroup:
    """A group of processes with common limits, which the kernel can kill together."""

    folder: Path

    def add(self, pid: int) -> None:
        """Add a process; its children start in the group. OSError when the kernel refuses."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed a process of the group because memory ran out."""
        events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
        return int(events.get("oom_kill", 0)) > 0

    def kill(self) -> None:
        """Kill all processes of the group, including those that left their process group or session."""
        with suppress(FileNotFoundError):  # before Linux 5.14 there is no such file
            switch = os.open(self.folder / "cgroup.kill", os.O_WRONLY)
            try:
                os.write(switch, b"1")
            finally:
                os.close(switch)

    def remove(self) -> None:
        """Remove the group once its killed processes are gone. No-op if it is gone already; OSError if a process in
        it is still alive after a second."""
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


def own_name(name: str) -> str:
    """The name of a group of this process. It tells a later reader whether its creator still runs."""
    me = machine.holder(os.getpid())
    return f"{_PREFIX}{_numbers()}-{me.pid}-{me.started:.0f}-{name}"


def sweep(root: Path = CGROUPS) -> list[str]:
    """Kill and remove the groups whose creators were killed before they could; return their names.

    Groups made where processes are numbered otherwise (another container) are left alone. One that cannot be removed
    yet is there for the next sweep.
    """
    parent, swept = delegated(root), []
    for folder in [] if parent is None else sorted(parent.glob(f"{_PREFIX}{_numbers()}-*")):
        try:
            _, _, pid, since, _ = folder.name.split("-", 4)
            maker = Holder(int(pid), float(since))
        except ValueError:  # not a name of ours
            continue
        if machine.alive(maker):
            continue
        group = Cgroup(folder)
        with suppress(OSError):
            group.kill()
            group.remove()
            swept.append(folder.name)
    return swept


def _numbers() -> str:
    """The set of processes that a process number is about: a container has its own."""
    return os.readlink("/proc/self/ns/pid").strip("pid:[]")


def delegated(root: Path) -> Path | None:
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
