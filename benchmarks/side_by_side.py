"""Rows of programs that compute the same, timed in turn in one process: what `sparse.py` and `embedding.py` share.

Every row runs all its programs in turn (A B C, A B C, ...) in one process, with the same numbers; PaddlePaddle has a
process of its own, which is stopped while others run. The values are compared before anything is timed. A ratio is the
best peer's median time over Sampan's: above 1 Sampan is faster. Peak memory is what one call adds at most to the process.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Machine
from benchmarks.run import Peer
from benchmarks.worker import forget_peak, resident
from sampan.transport.threads import use_threads

HERE = Path(__file__).resolve().parent
Step = Callable[[], Any]
FEWEST = 3  # the smallest number of rounds of a program
HEAD = (
    "| row | threads | Sampan | best peer | ratio | goal | | x limit | peers | peak MiB |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Row:
    """`goal`: times faster than the best peer. A program returns an array to compare, a function that returns it (called
    outside of the timed part), or None.

    programs: by name, or a function that makes them, called when the row's turn comes: large tables live one row at a time.
    moved: bytes that must be read and written in order. gathered: bytes of rows that lie in no order, in a table of so many
    bytes. floor: the program that is the limit itself, and how often the row must do its work. paddle: the program of the script for
    PaddlePaddle that does the same, and the arrays it needs; once: it takes so long that it is called once.
    timed: the programs return seconds themselves, such as the longest of many calls; with once, from one run. note: what is known afterwards.
    """

    name: str
    goal: float
    programs: dict[str, Step] | Callable[[], dict[str, Step]]
    moved: float = 0
    paddle: str = ""
    arrays: dict[str, Any] = field(default_factory=dict)
    once: bool = False
    timed: bool = False
    note: Callable[[], str] = str
    gathered: float = 0
    table: int = 0
    floor: tuple[str, float] = ("", 1.0)


def library(name: str) -> Any:
    """A library, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


class Paddle:
    """PaddlePaddle's process with this number of threads; restarted if a call ended it."""

    def __init__(self, python: str, script: str, threads: int) -> None:
        self.python, self.script, self.threads = python, script, threads
        self.peer: Peer | None = None

    def ask(self, action: str, given: Any) -> dict[str, Any] | None:
        if self.peer is None:
            self.peer = Peer("paddle", self.python, self.script, self.threads)
        try:
            return self.peer.ask(action, given)
        except RuntimeError:
            self.close()
            return None

    def close(self) -> None:
        if self.peer is not None:
            self.peer.close()
        self.peer = None


def prepared(row: Row, peer: Paddle | None) -> tuple[dict[str, Step], dict[str, int], dict[str, list[float]]]:
    """The call of one sample, the peak memory of a call, and the times measured so far."""
    values: dict[str, Any] = {}
    peaks, times, sampled = {}, {}, {}
    assert isinstance(row.programs, dict)
    for name, program in row.programs.items():
        if row.timed and row.once:
            times[name] = [program()]
            continue
        program()  # compiles, and builds the patterns
        forget_peak()
        before = resident("VmRSS")
        value = program()
        peaks[name] = max(resident("VmHWM") - before, 0)
        values[name] = None if row.timed else value() if callable(value) else value
        sampled[name] = program
    if peer is not None and row.paddle:
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "arrays.npz", **row.arrays)
            answer = peer.ask("prepare", [row.paddle, folder, row.once])
            saved = Path(folder) / "value.npy"
            values["paddle"] = np.load(saved) if saved.exists() else None
        if answer is None:
            print(f"PaddlePaddle's process did not survive: {row.name}", file=sys.stderr)
        else:
            peaks["paddle"] = max(answer["peak"], 0)
            if row.once:
                times["paddle"] = [answer["seconds"]]
            else:
                sampled["paddle"] = lambda: peer.ask("sample", None)["seconds"]  # type: ignore[index]
    for name, value in values.items():
        if values.get("sampan") is not None and value is not None:
            ours, theirs = (np.asarray(v) for v in (values["sampan"], value))
            np.testing.assert_allclose(theirs, ours, rtol=2e-3, atol=2e-3, err_msg=f"{row.name}: {name}")
    return sampled, peaks, times


def measured(
    row: Row, rounds: int, peer: Paddle | None, patience: float = 20.0
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The seconds of each program, round by round, and its peak memory. patience: seconds after which a program that ran
    FEWEST times has been measured often enough."""
    sampled, peaks, times = prepared(row, peer)
    times |= {name: [] for name in sampled}
    gc.collect()
    for _ in range(rounds):
        for name, program in sampled.items():
            if sum(times[name]) > patience and len(times[name]) >= FEWEST:
                continue
            began = time.perf_counter()
            found = program()
            times[name].append(found if name == "paddle" or row.timed else time.perf_counter() - began)
    return times, peaks


def duration(times: list[float]) -> str:
    """Median milliseconds, and the interquartile range over it."""
    middle = statistics.median(times)
    if len(times) < 2:
        return f"{middle * 1e3:,.1f}"
    low, _, high = statistics.quantiles(times, n=4)
    return f"{middle * 1e3:,.1f} ± {(high - low) / middle:.0%}"


def limit(row: Row, middle: dict[str, float], machine: Machine | None) -> float:
    """The least time of this row on this machine, in seconds; 0 if it is not known."""
    program, times = row.floor
    if program:
        return times * middle[program]
    if machine is None:
        return 0.0
    in_order = machine.seconds(row.moved) if row.moved else 0.0
    return in_order + (machine.gathering(row.gathered, row.table) if row.gathered else 0.0)


def line(
    row: Row,
    threads: int,
    times: dict[str, list[float]],
    peaks: dict[str, int],
    machine: Machine | None = None,
) -> str:
    middle = {name: statistics.median(found) for name, found in times.items()}
    others = {name: t for name, t in middle.items() if name != "sampan"}
    least = limit(row, middle, machine)
    peers = {name: t for name, t in others.items() if name != row.floor[0]} or others
    best = min(peers, key=peers.__getitem__)
    ratio = others[best] / middle["sampan"]
    note = row.note()
    cells = [
        f"{row.name} ({note})" if note else row.name, str(threads), duration(times["sampan"]), best, f"{ratio:.2f}",
        f"{row.goal:.2f}", "met" if ratio >= row.goal else "**not met**",
        f"{middle['sampan'] / least:.2f}" if least else "",
        ", ".join(f"{name} {duration(times[name])}" for name in others),
        " / ".join(f"{peaks.get(name, 0) / 2**20:.0f}" for name in ("sampan", *others)),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def rows_of(families: Sequence[Callable[[], Iterator[Row]]], wanted: str) -> Iterator[Row]:
    """The rows whose name contains `wanted`, each constructed after the previous one is finished."""
    return (row for family in families for row in family() if wanted in row.name)


def table(
    document: str,
    title: str,
    introduction: str,
    script: str,
    families: Callable[[], Any],
    patience: float = 20.0,
) -> None:
    """Print the Markdown table of a command line's options. families: called when the peers' folder is on the path."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--paddle", help="a Python that has PaddlePaddle")
    parser.add_argument(
        "--peers", type=Path, default=HERE.parent / ".venv-peers", help="a folder or a venv with other peers"
    )
    options = parser.parse_args()
    for folder in (options.peers, *options.peers.glob("lib/python*/site-packages")):
        if folder.is_dir():
            sys.path.append(str(folder))
    made = families()
    print(f"## {title}\n\n{introduction}\n")
    machines = {}
    for threads in options.threads:
        use_threads(threads)
        machines[threads] = Machine.measured()
        print(f"- {threads} threads: {machines[threads]}.")
    print(f"\n{HEAD}")
    peers: dict[int, Paddle] = {}
    try:
        if options.paddle:
            peers = {n: Paddle(options.paddle, script, n) for n in options.threads}
        for row in rows_of(made, options.only):
            for threads in options.threads:
                use_threads(threads)
                slow = row.once and threads != max(options.threads)  # minutes, and no faster with two
                if slow and row.timed:
                    continue
                # Made anew each time: a program that has run is not where PaddlePaddle's new process begins.
                ready = replace(row, programs=row.programs()) if callable(row.programs) else row
                found = measured(ready, options.rounds, None if slow else peers.get(threads), patience)
                print(line(ready, threads, *found, machines[threads]), flush=True)
                del ready  # with its tables
                gc.collect()
    finally:
        for peer in peers.values():
            peer.close()
