"""One framework in a separate process that answers requests (`run.py` starts one for each).

    python worker.py sampan|torch|paddle

Reads a JSON object a line: {"prepare": row} builds the row's program and answers the value of its third call and
the calls that one sample takes, and how far memory rose above what the idle process held; {"sample": row} answers
the seconds of one call, as the mean over such a sample. PyTorch's process answers {"limit": row} with the least
seconds that the machine allows for one call, and {"rates": null} with what it measured of the machine.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SAMPLE_SECONDS = 0.03  # long enough for the clock and the scheduler, short compared with drift


def number(value: Any) -> float:
    """The result of a step as one number, to compare frameworks."""
    return float(value if isinstance(value, int | float) else value.detach().sum())


def resident(key: str) -> int:
    """Resident bytes of this process: VmRSS now, VmHWM the peak since `forget_peak`. 0 on other systems than Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), 0)


def forget_peak() -> None:
    """Release the memory that the allocator caches, and reset the recorded peak."""
    gc.collect()
    if Path("/proc/self/clear_refs").exists():
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def third_value(step: Any) -> float:
    """The value of the third call, which depends on two steps of an optimizer."""
    return [number(step()) for _ in range(3)][-1]


class Worker:
    def __init__(self, framework: str) -> None:
        from benchmarks.rows import all_rows

        self.framework = framework
        self.module = importlib.import_module(framework)
        if framework != "paddle":  # PaddlePaddle's pool is set by OMP_NUM_THREADS alone
            importlib.import_module("torch").set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.rows = all_rows()
        self.programs: dict[str, tuple[Any, int]] = {}
        self.machine: Any = None  # measured at the first request for a limit

    def version(self) -> str:
        return str(self.module.__version__)

    def prepare(self, name: str) -> dict[str, Any]:
        self.programs.clear()  # one row's tensors at a time
        row = self.rows[name]
        program = row.torch if self.framework == "torch" else row.paddle
        if program is None:
            return {"absent": True}
        forget_peak()
        before = resident("VmRSS")
        step = program(self.module)
        value = third_value(step)
        peak = resident("VmHWM") - before
        calls = 1
        while (seconds := self.time(step, calls)) < SAMPLE_SECONDS:
            calls = max(calls + 1, min(calls * 10, int(calls * SAMPLE_SECONDS / seconds) + 1))
        self.programs[name] = step, calls
        return {"value": value, "calls": calls, "peak": peak}

    def sample(self, name: str) -> dict[str, float]:
        step, calls = self.programs[name]
        self.time(step, max(1, calls // 4))  # not counted: after a stop the caches hold other data
        return {"seconds": self.time(step, calls) / calls}

    def measured_machine(self) -> Any:
        from benchmarks.machine import Machine  # needs Numba, which PaddlePaddle's process has not

        if self.machine is None:
            self.machine = Machine.measured()
        return self.machine

    def rates(self, name: None) -> dict[str, str]:
        return {"rates": str(self.measured_machine())}

    def limit(self, name: str) -> dict[str, float]:
        machine, row = self.measured_machine(), self.rows[name]
        if row.moved is not None:
            return {"seconds": machine.seconds(row.moved)}
        from benchmarks.machine import Work

        with Work(machine) as work:
            self.programs[name][0]()
        return {"seconds": work.seconds}

    @staticmethod
    def time(step: Any, calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            step()
        return time.perf_counter() - start


def main() -> None:
    # Replies have a separate channel: the output of a framework goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    print(json.dumps({"version": worker.version()}), file=answers, flush=True)
    for line in sys.stdin:
        ((action, name),) = json.loads(line).items()
        try:
            answer: dict[str, Any] = {
                "prepare": worker.prepare,
                "sample": worker.sample,
                "limit": worker.limit,
                "rates": worker.rates,
            }[action](name)
        except Exception as error:  # reported to the parent process; the other rows still run
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
