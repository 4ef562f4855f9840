"""What a session uses now: its processes' memory and cores, and their memory on the GPU."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil
import pynvml

# cores in use are an average since the last measurement; two that are closer than this count as one
_FRESH_S = 1.0


@dataclass(frozen=True)
class Reading:
    """`memory` in bytes, shared pages divided among their processes (PSS); `cores` in use since the last
    measurement.

    `gpu_memory` in bytes and `gpu` as the busy part of the whole card (0 to 1); None if NVML does not report it.
    """

    memory: int = 0
    cores: float = 0.0
    gpu_memory: int | None = None
    gpu: float | None = None


class Meter:
    """Stores the CPU time of each process between two measurements, as cores in use are a difference."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, float, float]] = {}  # seconds of CPU time, when, and the result

    def read(self, pid: int, device: str = "") -> Reading:
        """Of a process and all its descendants; zeros when it is gone."""
        try:
            family = [psutil.Process(pid)]
            family += family[0].children(recursive=True)
        except psutil.NoSuchProcess:
            self._before.pop(pid, None)
            return Reading()
        if pid not in self._before:  # the first measurement: an average since it started
            self._before[pid] = (0.0, time.monotonic() - (time.time() - family[0].create_time()), 0.0)
        memory, seconds, pids = 0, 0.0, set()
        for process in family:
            try:
                full = process.memory_full_info()
                times = process.cpu_times()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            memory += int(getattr(full, "pss", full.uss))
            seconds += times.user + times.system
            pids.add(process.pid)
        gpu_memory, gpu = _gpu(device, pids)
        return Reading(memory, self._cores(pid, seconds), gpu_memory, gpu)

    def _cores(self, pid: int, seconds: float) -> float:
        now = time.monotonic()
        before, then, cores = self._before[pid]
        if now - then >= _FRESH_S:
            cores = max(0.0, (seconds - before) / (now - then))  # a child that ended takes its time with it
            self._before[pid] = (seconds, now, cores)
        return cores


def _gpu(device: str, pids: set[int]) -> tuple[int | None, float | None]:
    if not device.startswith("gpu:"):
        return None, None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None, None
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(int(device.removeprefix("gpu:")))
        ours = [p for p in pynvml.nvmlDeviceGetComputeRunningProcesses(handle) if p.pid in pids]
        busy = pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
        return sum(int(p.usedGpuMemory or 0) for p in ours), busy
    except pynvml.NVMLError:  # the card does not report it, or is gone
        return None, None
    finally:
        pynvml.nvmlShutdown()
