"""What each process of a training run does now, in files that anyone may read.

A process writes `report-<rank>.json` a few times a second, from a thread, under another name and then
renamed; and `steps-<rank>.bin` at each step: 32 bytes, which the operating system keeps when the process is
killed. `read` says of each process what it does, also of one that was stopped or killed: then the operating
system tells, not the file.
"""

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...engine.errors import OF_THIS_LIBRARY
from .. import throttle, traffic, waiting
from ..environment import ParallelEnv

State = Literal["joining", "running", "stopped", "killed", "ended"]
EVERY_S = 0.2  # seconds between two reports
SHOWN_AFTER_S = 0.3  # a wait is reported once it has lasted so long: shorter ones are in every step
RECORD = np.dtype([("started", "<f8"), ("step", "<i8"), ("loss", "<f8"), ("time", "<f8")])
Counts = dict[str, tuple[int, int, int]]  # by collective: calls, bytes of payload, bytes on the wire


@dataclass(frozen=True)
class Wait:
    """A process waits in a collective, called at a line of the program, since `since` (seconds since 1970).
    ranks: the processes that it waits for; `read` finds them."""

    collective: str
    file: str
    line: int
    since: float
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a process does. pid, started: the process, and when it started, by the kernel's clock.

    state: "joining" before its first step; "stopped" by a signal; "killed" if it is gone and did not say that
    it has "ended". step: the last one that is complete, -1 before. loss: of its own samples, NaN before.
    time: of the report, seconds since 1970. exchanges: how many it has started since its first report.
    step_bytes, total_bytes: by collective, of that step and since the process started. rate: the limit of
    `throttle`, bytes per second.
    """

    rank: int
    world: int
    pid: int
    started: float
    state: State
    step: int
    loss: float
    time: float
    exchanges: int
    step_bytes: Counts = field(default_factory=dict)
    total_bytes: Counts = field(default_factory=dict)
    rate: float | None = None
    waits: Wait | None = None


class Reporter:
    """Writes the reports of this process into a folder, until `close`.

    folder: the same for all processes. rank, world: those of the environment unless given. The limit of this
    process's network is read from `rate-<rank>` in the folder: bytes per second, no file for none.
    """

    def __init__(
        self, folder: str | os.PathLike[str], rank: int | None = None, world: int | None = None
    ) -> None:
        env = ParallelEnv()
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rank, self.world = env.rank if rank is None else rank, env.world_size if world is None else world
        self.started = _process(os.getpid())[1]
        self._main = threading.get_ident()
        self._record = np.zeros(1, RECORD)
        self._record["started"], self._record["step"], self._record["loss"] = self.started, -1, np.nan
        self._before: dict[str, traffic.Bytes] = traffic.totals()
        self._earlier = _calls(self._before)  # not the same in all processes, after messages between some
        self._step_bytes: Counts = {}
        self._steps = os.open(
            self.folder / f"steps-{self.rank}.bin", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
        )
        self._stop = threading.Event()
        self._write("joining")
        self._thread = threading.Thread(target=self._run, name="sampan-report", daemon=True)
        self._thread.start()

    def step(self, number: int, loss: float) -> None:
        """A step is complete."""
        record, totals = self._record.copy(), traffic.totals()
        record["step"], record["loss"], record["time"] = number, loss, time.time()
        os.write(self._steps, record.tobytes())
        self._record = record  # in one piece: a report is written in another thread
        self._step_bytes = _since(self._before, totals)
        self._before = totals

    def close(self) -> None:
        """The process is ready: its last report says that it has ended."""
        self._stop.set()
        self._thread.join()
        self._write("ended")
        os.close(self._steps)

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            throttle.limit(read_rate(self.folder, self.rank))
            self._write("joining" if self._record["step"][0] < 0 else "running")

    def _write(self, state: State) -> None:
        record = self._record
        totals = traffic.totals()
        report = Report(
            self.rank, self.world, os.getpid(), self.started, state, int(record["step"][0]),
            float(record["loss"][0]), time.time(), _calls(totals) - self._earlier,
            self._step_bytes, dict(totals), throttle.rate(), self._waits(),
        )  # fmt: skip  # one row of fields to a line
        _replace(self.folder / f"report-{self.rank}.json", json.dumps(asdict(report)))

    def _waits(self) -> Wait | None:
        now = waiting.now(self._main)
        if now is None or (lasted := time.monotonic() - now.since) < SHOWN_AFTER_S:
            return None
        frame: Any = sys._current_frames().get(self._main)
        inside = False
        while frame is not None:  # from torch's call outwards: through this library, then the program
            here = frame.f_code.co_filename.startswith(OF_THIS_LIBRARY)
            if inside and not here:
                break
            inside, frame = inside or here, frame.f_back
        file, line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        return Wait(now.collective, file, line, time.time() - lasted)


def read(folder: str | os.PathLike[str]) -> list[Report]:
    """The reports of all processes in a folder, by rank, with what the operating system says of them.

    A process that waits, waits for those that do not wait and have started no more exchanges than it: they
    compute, or are stopped or gone. This holds where all processes call the same collectives, as in
    data-parallel training.
    """
    found = []
    for path in Path(folder).glob("report-*.json"):
        try:
            told = json.loads(path.read_text("utf-8"))
            told["waits"] = Wait(**told["waits"]) if told["waits"] else None
            report = Report(**told)
        except (OSError, ValueError, TypeError, KeyError):  # another program's file
            continue
        found.append(_as_seen(report))
    found.sort(key=lambda report: report.rank)
    return [_waiting(report, found) for report in found]


def steps(folder: str | os.PathLike[str], rank: int, last: int = 20_000) -> np.ndarray:
    """The steps that a rank has completed, in their order: a structured array [n] of RECORD, at most the last
    ones. A later process of the rank goes on in the same file, with another `started`."""
    try:
        with open(Path(folder) / f"steps-{rank}.bin", "rb") as file:
            size = file.seek(0, os.SEEK_END) // RECORD.itemsize
            file.seek(max(0, size - last) * RECORD.itemsize)
            content = file.read()
    except FileNotFoundError:
        return np.zeros(0, RECORD)
    return np.frombuffer(content[: len(content) // RECORD.itemsize * RECORD.itemsize], RECORD)


def write_rate(folder: str | os.PathLike[str], rank: int, bytes_per_second: float | None) -> None:
    """Limit the network of a rank, see `throttle`; None lifts the limit. The rank follows within a fraction
    of a second, also when it was started again."""
    path = Path(folder) / f"rate-{rank}"
    if bytes_per_second is None:
        path.unlink(missing_ok=True)
    else:
        _replace(path, repr(float(bytes_per_second)))


def read_rate(folder: str | os.PathLike[str], rank: int) -> float | None:
    """The limit of a rank, None without one."""
    try:
        value = float((Path(folder) / f"rate-{rank}").read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return value if value > 0 else None


def _calls(totals: dict[str, traffic.Bytes]) -> int:
    return sum(one.calls for one in totals.values())


def _since(before: dict[str, traffic.Bytes], totals: dict[str, traffic.Bytes]) -> Counts:
    none = traffic.Bytes()
    return {
        name: tuple(now - then for now, then in zip(counts, before.get(name, none), strict=True))  # type: ignore[misc]  # three
        for name, counts in totals.items()
        if counts != before.get(name)
    }


def _replace(path: Path, text: str) -> None:
    """Another content under a name, whole or not at all. It need not outlive a power cut."""
    other = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    other.write_text(text, "utf-8")
    os.replace(other, path)


def _process(pid: int) -> tuple[str, float]:
    """("R", when it started) by the kernel's letter and clock; ("", 0) if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # a name in parentheses may hold spaces
    except OSError:
        return "", 0.0
    return fields[0].decode(), float(fields[19])


def _as_seen(report: Report) -> Report:
    letter, started = _process(report.pid)
    gone = started != report.started or letter in "ZX"
    state: State = report.state
    if report.state != "ended" and gone:
        state = "killed"
    elif not gone and letter in "Tt":
        state = "stopped"
    waits = report.waits if state in ("joining", "running") else None
    return Report(**{**report.__dict__, "state": state, "waits": waits})


def _waiting(report: Report, all_: list[Report]) -> Report:
    if report.waits is None:
        return report
    others = [one for one in all_ if one.rank != report.rank and one.rank < report.world]
    behind = [one.rank for one in others if one.exchanges <= report.exchanges and one.waits is None]
    waits = Wait(**{**report.waits.__dict__, "ranks": tuple(behind)})
    return Report(**{**report.__dict__, "waits": waits})
