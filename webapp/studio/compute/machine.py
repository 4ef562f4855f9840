"""The devices and memory of this machine, and whether a process on it still runs."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil
import pynvml

from .lease import Holder, Kind
from .settings import whole

# Few sessions come near their memory limit, so memory is overcommitted by this factor.
OVERCOMMIT = 2
SLOT_MEMORY = 2 << 30  # bytes assumed for a CPU slot
SIMULATED_MEMORY = 8 << 30


@dataclass(frozen=True)
class Device:
    """A device. `id` is "cpu:3", "gpu:0" or "sim:0"; `memory` in bytes is a GPU's own; `uuid` is NVML's."""

    id: str
    kind: Kind
    name: str = ""
    memory: int = 0
    uuid: str = ""
    grading_only: bool = False


@dataclass(frozen=True)
class Machine:
    """`memory` in bytes is the most that one lease can have."""

    devices: tuple[Device, ...]
    memory: int

    @property
    def promised(self) -> int:
        """Bytes that all leases together may have."""
        return OVERCOMMIT * self.memory

    @property
    def slot_memory(self) -> int:
        """Bytes that every CPU slot can have at the same time: a request for no more never waits for memory."""
        return min(self.memory, self.promised // sum(device.kind == "cpu" for device in self.devices))

    def device(self, id: str) -> Device:
        """The device of a lease. KeyError when the machine no longer has it."""
        for device in self.devices:
            if device.id == id:
                return device
        raise KeyError(f"this machine has no device {id!r}; it has {', '.join(d.id for d in self.devices)}")


def this_machine() -> Machine:
    """What the machine has, changed by SAMPAN_CPU_SLOTS and SAMPAN_SIMULATED_GPUS.

    One more CPU slot than that is there for grading alone, so that a check never waits behind open notebooks.
    """
    memory = machine_memory()
    slots = whole("SAMPAN_CPU_SLOTS", least=1) or default_slots(len(os.sched_getaffinity(0)), memory)
    devices = [Device(f"cpu:{n}", "cpu") for n in range(slots)]
    devices.append(Device(f"cpu:{slots}", "cpu", grading_only=True))
    devices += gpus()
    for n in range(whole("SAMPAN_SIMULATED_GPUS", least=0) or 0):
        devices.append(Device(f"sim:{n}", "gpu", "simulated GPU", SIMULATED_MEMORY))
    return Machine(tuple(devices), memory)


def default_slots(cores: int, memory: int) -> int:
    """Enough for a few open things per learner, on two cores as well, and never more than fit in memory."""
    return max(1, min(max(4, 2 * cores), OVERCOMMIT * memory // SLOT_MEMORY))


def machine_memory() -> int:
    """Bytes of main memory: the machine's, or the container's where that is less."""
    total = int(psutil.virtual_memory().total)
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text().strip()
        except OSError:
            continue  # cgroups of the other version, or no cgroups
        if text.isdigit():
            total = min(total, int(text))
    return total


def gpus() -> list[Device]:
    """The GPUs that NVML shows, those that CUDA_VISIBLE_DEVICES names if it is set; none without a driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver, or no card
        return []
    try:
        found = []
        for n in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(n)
            uuid, name = pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetName(handle)
            memory = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
            found.append(Device(f"gpu:{n}", "gpu", name, memory, uuid))
    finally:
        pynvml.nvmlShutdown()
    return visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(found: list[Device], names: str | None) -> list[Device]:
    """Those of them that CUDA_VISIBLE_DEVICES selects: numbers or beginnings of UUIDs; unset means all."""
    if names is None:
        return found
    seen = []
    for name in (part.strip() for part in names.split(",")):
        match = [x for x in found if name and (x.id == f"gpu:{name}" or x.uuid.startswith(name))]
        if not match:  # as CUDA reads it: entries after an unknown one are ignored
            break
        seen += match
    return seen


@cache
def boot() -> str:
    """The scope of process numbers: this boot of the machine and this pid namespace.

    Leases with another scope do not belong to our processes: the machine was rebooted, or they belong to another
    machine.
    """
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return socket.gethostname()


def started(pid: int) -> float | None:
    """When a process started, by a kernel clock that is never adjusted; None if it does not run.

    Not psutil's create_time, which moves when the machine's clock is set.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in parentheses, may itself contain spaces and parentheses.
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else float(fields[19])


def holder(pid: int) -> Holder:
    """The process `pid` as the holder of a lease. Raises LookupError when it does not run."""
    since = started(pid)
    if since is None:
        raise LookupError(f"there is no process {pid}")
    return Holder(pid, since)


def alive(holder: Holder) -> bool:
    """Whether the process still runs; a later one that got the same number does not count."""
    try:
        return started(holder.pid) == holder.started
    except PermissionError:  # another user's process, on a machine that hides them: it exists at least
        return True
