"""Sampan beside PyTorch eager and PaddlePaddle, in one run (`make bench`); writes benchmarks/RESULTS.md.

Each framework has a long-lived process. A round asks each for one sample, in turn and in alternating order
(A B C, C B A, ...), while the others are stopped, so that drift of the machine and spinning thread pools touch
all alike. A ratio is taken within a round; the table gives the median and the middle half of the rounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.machine import processor  # noqa: E402
from benchmarks.rows import Row, all_rows  # noqa: E402

THREADS = 2
# The tables of the modules, in the order of the file: scripts of this folder with peers of their own.
MODULES = (
    "sparse",
    "embedding",
    "graph_sampling",
    "graph_messages",
    "graph_updates",
    "speech_features",
    "speech_decoding",
    "speech_models",
    "deploy",
)
SHOWN_FROM = 16  # MiB: a smaller peak is within the allocator's granularity
LIMIT_FROM = 1e-5  # seconds: below it the overhead of a call dominates, and the limit has no meaning
IMPORT_GOAL = 1.2
IMPORT_ROW = "import, in a fresh process (PyTorch's column: import torch, numba)"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment(threads: int = THREADS) -> dict[str, str]:
    return os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))


class Peer:
    """The process of a framework: one request at a time, stopped in between."""

    def __init__(self, name: str, python: str, script: str = "worker.py", threads: int = THREADS) -> None:
        self.name, self.python = name, python
        command = [python, str(HERE / script), name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(threads)
        )
        try:
            self.version = self._answer()["version"]
        except RuntimeError:
            self.close()
            raise
        self.process.send_signal(signal.SIGSTOP)

    def ask(self, action: str, row: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps({action: row}) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended with status {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@dataclass
class Measured:
    name: str
    goal: float
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)  # bytes above the idle process
    within: float | None = None  # times the limit
    limit: float = 0.0  # the least seconds that the machine allows

    def median(self, framework: str) -> float:
        return statistics.median(self.seconds[framework])

    def ratio(self, peer: str) -> tuple[float, float, float] | None:
        """25th percentile, median and 75th of sampan / peer, round by round."""
        if not self.seconds.get("sampan") or not self.seconds.get(peer):
            return None
        ratios = [
            ours / theirs for ours, theirs in zip(self.seconds["sampan"], self.seconds[peer], strict=True)
        ]
        if len(ratios) == 1:
            return ratios[0], ratios[0], ratios[0]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, middle, high

    @property
    def over_limit(self) -> float | None:
        """How many times the machine's limit Sampan takes."""
        stated = self.limit >= LIMIT_FROM and bool(self.seconds.get("sampan"))
        return self.median("sampan") / self.limit if stated else None

    @property
    def met(self) -> bool:
        if self.within is not None and self.over_limit is not None:
            return self.over_limit <= self.within
        ratio = self.ratio("torch") or self.ratio("paddle")
        return ratio is not None and ratio[1] <= self.goal


def interleave(measured: Measured, names: list[str], rounds: int, sample: Any) -> None:
    measured.seconds = {name: [] for name in names}
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            measured.seconds[name].append(sample(name))


def measure_row(row: Row, peers: dict[str, Peer], rounds: int) -> Measured:
    name, values = row.name, {}
    measured = Measured(name, row.goal, within=row.within)
    for peer in peers.values():
        answer = peer.ask("prepare", name)
        if "error" in answer:
            measured.errors[peer.name] = answer["error"]
        elif "value" in answer:
            values[peer.name] = answer["value"]
            measured.peaks[peer.name] = answer["peak"]
    if "torch" in values:
        measured.limit = peers["torch"].ask("limit", name)["seconds"]
    reference = values.get("torch", values.get("paddle"))
    for framework, value in values.items():
        if reference is not None and abs(value - reference) > 1e-3 * abs(reference) + 1e-3:
            measured.errors[framework] = f"computes {value:.6g} where {reference:.6g} is expected"
    sound = [framework for framework in values if framework not in measured.errors]
    interleave(measured, sound, rounds, lambda framework: peers[framework].ask("sample", name)["seconds"])
    return measured


def measure_imports(peers: dict[str, str], rounds: int) -> Measured:
    """Seconds of an import in a new process, without the start of the interpreter."""
    statements = {"sampan": "import sampan", "torch": "import torch, numba", "paddle": "import paddle"}

    def start(python: str, statement: str) -> float:
        begin = time.perf_counter()
        subprocess.run([python, "-c", statement], check=True, env=environment(), stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin

    def sample(framework: str) -> float:
        python = peers[framework]
        return start(python, statements[framework]) - start(python, "pass")

    measured = Measured(IMPORT_ROW, IMPORT_GOAL)
    for framework in peers:
        sample(framework)  # the first one fills the disk cache
    interleave(measured, list(peers), rounds, sample)
    return measured


def duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def line(measured: Measured) -> str:
    cells = [measured.name]
    for framework in ("sampan", "torch", "paddle"):
        if framework in measured.errors:
            cells.append("failed")
        else:
            cells.append(duration(measured.median(framework)) if measured.seconds.get(framework) else "-")
    for peer in ("torch", "paddle"):
        ratio = measured.ratio(peer)
        cells.append(f"{ratio[1]:.2f} ({ratio[0]:.2f} to {ratio[2]:.2f})" if ratio else "-")
    peaks = [measured.peaks.get(framework, 0) / 2**20 for framework in ("sampan", "torch", "paddle")]
    cells.append(" / ".join(f"{peak:.0f}" for peak in peaks) if max(peaks) >= SHOWN_FROM else "")
    over = measured.over_limit
    cells.append(f"{over:.2f}" if over is not None else "")
    goal = f"{measured.within:.2f} x limit" if measured.within and over else f"{measured.goal:.2f}"
    cells += [goal, "met" if measured.met else "**not met**"]
    return "| " + " | ".join(cells) + " |"


def report(
    results: list[Measured], versions: dict[str, str], rounds: int, load: float, rates: str = "none"
) -> str:
    lines = [
        "# Side by side",
        "",
        "Written by `make bench`; do not edit.",
        "",
        f"- Date: {datetime.date.today().isoformat()}",
        f"- Machine: {os.cpu_count()} cores, {processor()}, {platform.system()}, {THREADS} threads each",
        f"- Load before the start: {load:.1f} (a quiet machine: under 0.5; above it, run again)",
        f"- Versions: Python {platform.python_version()}, "
        + ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"- {rounds} rounds, interleaved. A time is the median of one call; a ratio is Sampan's time over the peer's in",
        "  the same round, median (25th to 75th percentile): below 1 Sampan is faster.",
        "- Before timing, the values of a third call are compared (to a thousandth): the columns do the same work.",
        f"- Measured rates: {rates}.",
        "- x limit: Sampan's time over the least time that these rates allow: for each operator of PyTorch's program the",
        "  larger of its bytes over the rate of a copy of as many bytes and its flops over the rate of a matrix product of",
        "  1024 square; for an optimizer one pass over all that it reads and writes. Below 1: operators were fused, or caches",
        "  held more than a copy's. Empty where the limit is below 10 µs: a call itself costs more.",
        "- goal: a share of PyTorch's time, or so many times the limit.",
        "",
        "| row | Sampan | PyTorch eager | PaddlePaddle | / PyTorch | / PaddlePaddle | peak MiB (S / T / P) | x limit | goal | |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(line(measured) for measured in results),
        "",
        f"{sum(measured.met for measured in results)} of {len(results)} goals met.",
        "",
        *summary(results),
    ]
    for measured in results:
        lines += [f"- {measured.name}: {name}: {why}" for name, why in measured.errors.items()]
    return "\n".join(lines) + "\n"


def summary(results: list[Measured]) -> list[str]:
    """The geometric mean over all rows, and the five that are furthest from their goal."""
    ratios = [
        (ratio[1] / measured.goal, measured) for measured in results if (ratio := measured.ratio("torch"))
    ]
    if not ratios:
        return []
    mean = statistics.geometric_mean(ratio * measured.goal for ratio, measured in ratios)
    worst = sorted(ratios, key=lambda pair: pair[0], reverse=True)[:5]
    named = "; ".join(f"{measured.name} ({ratio * measured.goal:.2f})" for ratio, measured in worst)
    return [
        f"Geometric mean of the ratios to PyTorch: {mean:.2f} over {len(ratios)} rows. The worst five: {named}."
    ]


def module_table(module: str, paddle: str | None, rounds: int) -> str:
    """What benchmarks/<module>.py finds, which has peers of its own; in a process of its own."""
    command = [sys.executable, str(HERE / f"{module}.py"), "--rounds", str(min(rounds, 11))]
    command += ["--paddle", paddle] if paddle else []
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return "\n" + found.stdout


def write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paddle", help="a Python that has PaddlePaddle; without it that column is empty")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", action="append", help="only rows whose name contains this; may be repeated")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds is at least 1")

    load = os.getloadavg()[0]
    pythons = {"sampan": sys.executable, "torch": sys.executable}
    if options.paddle:
        pythons["paddle"] = options.paddle
    results = []
    wanted = options.only or [""]
    if any(part in IMPORT_ROW for part in wanted):
        results.append(measure_imports(pythons, max(1, options.rounds // 3)))
        print(line(results[-1]), flush=True)
    peers: dict[str, Peer] = {}
    try:
        for name, python in pythons.items():
            peers[name] = Peer(name, python)
        for row in all_rows().values():
            if any(part in row.name for part in wanted):
                results.append(measure_row(row, peers, options.rounds))
                print(line(results[-1]), flush=True)
        versions = {name: peer.version for name, peer in peers.items()}
        rates = peers["torch"].ask("rates", None)["rates"]
    finally:
        for peer in peers.values():
            peer.close()
    text = report(results, versions, options.rounds, load, rates)
    if not options.only:
        for module in MODULES:
            text += module_table(module, options.paddle, options.rounds)
    write(options.out, text)
    print(f"wrote {options.out}")
    return 1 if any(measured.errors for measured in results) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
