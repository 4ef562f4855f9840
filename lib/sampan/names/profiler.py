"""Paddle's profiler over `trace`: which steps are recorded, time by operator, a file for chrome://tracing."""

from __future__ import annotations

import enum
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..trace import trace

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

ProfilerState = enum.Enum("ProfilerState", "CLOSED READY RECORD RECORD_AND_RETURN", start=0)
ProfilerTarget = enum.Enum("ProfilerTarget", "CPU GPU XPU CUSTOM_DEVICE", start=0)
SortedKeys = enum.Enum("SortedKeys", "CPUTotal CPUAvg CPUMax CPUMin GPUTotal GPUAvg GPUMax GPUMin", start=0)
SummaryView = enum.Enum(
    "SummaryView",
    "DeviceView OverView ModelView DistributedView KernelView OperatorView MemoryView MemoryManipulationView "
    "UDFView",
    start=0,
)
TracerEventType = enum.Enum("TracerEventType", {"PythonUserDefined": 14})
ProfilerState.__doc__ = (
    "What a profiler does in a step: nothing, warm up, record, or record and end the recording."
)
ProfilerTarget.__doc__ = "Kinds of devices to profile."
SortedKeys.__doc__ = "The column by which `Profiler.summary` sorts."
SummaryView.__doc__ = "Paddle's tables of a summary; Sampan prints one."
TracerEventType.__doc__ = "Kinds of a RecordEvent."
_RECORDING = (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_running: list[Profiler] = []


def make_scheduler(*, closed, ready, record, repeat=0, skip_first=0):
    """State by step: after `skip_first`, cycles of `closed`, `ready` and `record` steps, `repeat` times (0:
    for ever)."""
    if min(closed, ready, repeat, skip_first) < 0 or record < 1:
        raise ValueError("make_scheduler: expected record of 1 or more and the others of 0 or more")
    cycle = closed + ready + record

    def state(step: int) -> Any:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerState.CLOSED
        place = step % cycle
        if place < closed + ready:
            return ProfilerState.CLOSED if place < closed else ProfilerState.READY
        return ProfilerState.RECORD_AND_RETURN if place == cycle - 1 else ProfilerState.RECORD

    return state


def export_chrome_tracing(dir_name, worker_name=None):
    """For `on_trace_ready`: writes each finished recording into a folder."""

    def write(profiler: Profiler) -> None:
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        name = f"{worker_name or 'sampan'}_step_{profiler.step_num}.paddle_trace.json"
        profiler.export(str(Path(dir_name) / name))

    return write


def load_profiler_result(filename):
    """The events of a file that `export` wrote."""
    return json.loads(Path(filename).read_text())["traceEvents"]


class RecordEvent:
    """A named span of a program, from `begin` to `end` or as a context manager; running profilers record
    it."""

    def __init__(self, name: str, event_type: Any = TracerEventType.PythonUserDefined) -> None:
        self.name = name

    def begin(self) -> None:
        self._started = time.perf_counter()

    def end(self) -> None:
        for profiler in _running:
            if profiler.state in _RECORDING:
                profiler.spans.append((self.name, self._started, time.perf_counter() - self._started))

    def __enter__(self) -> RecordEvent:
        self.begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()


class Profiler:
    """Records the operators of chosen steps.

    scheduler: (first, last + 1) steps, or a function from the step to a ProfilerState; every step when None.
    on_trace_ready: called with the profiler when a recording is complete. timer_only: only times of steps.
    """

    def __init__(
        self,
        *,
        targets: Any = None,
        scheduler: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: list[str] = [],
        with_flops: bool = False,
    ) -> None:
        if isinstance(scheduler, (tuple, list)):
            first, last = scheduler
            before = {"closed": max(first - 1, 0), "ready": int(first > 0)}
            scheduler = make_scheduler(**before, record=last - first, repeat=1)
        self._state_at = scheduler or (lambda step: ProfilerState.RECORD)
        self._ready, self._timer_only = on_trace_ready, timer_only
        self.step_num = 0
        self.state: Any = ProfilerState.CLOSED
        self.spans: list[tuple[str, float, float]] = []  # name, start and length in seconds
        self._steps: list[tuple[float, int | None]] = []
        self._trace: trace | None = None

    def start(self) -> None:
        _running.append(self)
        self._last = time.perf_counter()
        self._enter(self._state_at(self.step_num))

    def stop(self) -> None:
        if self in _running:
            _running.remove(self)
            if self._leave() and self._ready:
                self._ready(self)

    def step(self, num_samples: int | None = None) -> None:
        """Mark the end of a step. num_samples: batch size, for samples per second."""
        now = time.perf_counter()
        self._steps.append((now - self._last, num_samples))
        self._last = now
        finished = self.state is ProfilerState.RECORD_AND_RETURN
        if self._leave() and finished and self._ready:
            self._ready(self)
        self.step_num += 1
        self._enter(self._state_at(self.step_num))

    def _enter(self, state: Any) -> None:
        if state in _RECORDING and self.state not in (ProfilerState.RECORD,):
            self.spans = []
        self.state = state
        if state in _RECORDING and not self._timer_only:
            self._trace = trace()
            self._trace.__enter__()

    def _leave(self) -> bool:
        """End the recording; returns whether there was one."""
        if self._trace is not None:
            self._trace.__exit__(None, None, None)
            for r in self._trace:
                self.spans.append((r.operator + "_grad" * r.backward, r.started, r.seconds))
            self._trace = None
        return self.state in _RECORDING

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def step_info(self, unit: str | None = None) -> str:
        """Average seconds per step, and steps per second (samples per second if `step` got num_samples) since
        the last call."""
        steps, self._steps = self._steps, []
        if not steps:
            return ""
        seconds, samples = sum(s for s, _ in steps), sum(n or 0 for _, n in steps)
        speed = f"{(samples or len(steps)) / seconds:.3f} {unit or 'samples' if samples else 'steps'}/s"
        return f" batch_cost: {seconds / len(steps):.5f} s ips: {speed}"

    def export(self, path: str = "", format: str = "json") -> None:
        """Write the recording for chrome://tracing or Perfetto."""
        if format != "json":
            raise ValueError(f"export: expected 'json' as format, got {format!r}")
        common = {"ph": "X", "pid": 0, "tid": 0}
        events = [{"name": n, "ts": s * 1e6, "dur": d * 1e6, **common} for n, s, d in self.spans]
        Path(path).write_text(json.dumps({"traceEvents": events}))

    def summary(
        self,
        sorted_by: Any = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: Any = None,
    ) -> None:
        """Print calls, total, average, longest and shortest time by name."""
        lengths = defaultdict(list)
        for name, _, seconds in self.spans:
            lengths[name].append(seconds * _UNITS[time_unit])
        rows = [(name, len(t), sum(t), sum(t) / len(t), max(t), min(t)) for name, t in lengths.items()]
        rows.sort(key=lambda row: row[2 + sorted_by.value % 4], reverse=sorted_by.value % 4 != 3)
        heads = (f"{head} {time_unit}" for head in ("total", "avg", "max", "min"))
        print(f"{'name':<32}{'calls':>8}" + "".join(f"{head:>14}" for head in heads))
        for name, calls, *times in rows:
            print(f"{name:<32}{calls:>8}" + "".join(f"{t:>14.4f}" for t in times))
