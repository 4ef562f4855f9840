"""Cost of grading: `python -m benchmarks.grading [--quick] [--only starts|notebooks|escapes]`.

Prints the start of the sandbox by two methods (a fork of the warm process, which the Studio uses, and a new process for
each submission), the time from the request to the verdict for each notebook of the course, with correct solutions and
with unchanged copies, and the outcome of every attempt to cheat or to escape. Times need an idle machine; the escapes (a
few minutes) do not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import psutil

from studio.grading import release
from studio.grading.client import Grader
from studio.grading.sandbox import Warm

ROOT = Path(__file__).resolve().parent.parent

CLASS = 30 * 3
MIB = 1 << 20
GOAL_S = 5.0


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(warm: Warm) -> float:
    family = psutil.Process(warm.process.pid).children(recursive=True)
    return sum(sum(process.cpu_times()[:2]) for process in family if process.is_running())


def starts(quick: bool) -> None:
    forks, anew = (5, 1) if quick else (20, 3)
    times, used, memory = [], [], 0
    for _ in range(anew):
        began = time.perf_counter()
        with Warm() as warm:
            sandbox = warm.fork()
            times.append(time.perf_counter() - began)
            used.append(processor_seconds(warm))
            family = psutil.Process(warm.process.pid).children(recursive=True)
            memory = sum(process.memory_full_info().pss for process in family)
            sandbox.close()
    with Warm() as warm:
        warm.fork().close()
        before, one = processor_seconds(warm), []
        for _ in range(forks):
            one.append(seconds_of(lambda: warm.fork().close()))
        cost = (processor_seconds(warm) - before) / forks
    print("| sandbox | ready after | processor time | 90 of them |\n|---|---|---|---|")
    middle, spent = statistics.median(times), statistics.median(used)
    print(
        f"| started anew, {memory / MIB:.0f} MiB | {middle:.2f} s | {spent:.2f} s | {CLASS * spent:.0f} s of a processor |"
    )
    middle = statistics.median(one)
    print(
        f"| fork of the warm one, until it has gone | {middle:.3f} s | {cost:.3f} s | {CLASS * middle:.0f} s |\n"
    )


async def notebooks(quick: bool) -> None:
    grader = Grader()
    began = time.perf_counter()
    first = ROOT / "notebooks" / "00_orientation.ipynb"
    await grader.grade(first, first)
    print(f"First check, nothing warm: {time.perf_counter() - began:.2f} s\n")
    print("| notebook | solved | untouched | goal |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
            copy, cells = Path(folder) / path.name, []
            release.write(release.release(release.read(path)), copy)
            for what, file in (("solved", path), ("untouched", copy)):
                times = []
                for _ in range(1 if quick else 3):
                    began = time.perf_counter()
                    verdict = await grader.grade(file, path)
                    times.append(time.perf_counter() - began)
                said = "" if verdict.complete == (what == "solved") else f" ({verdict.passed} passed!)"
                cells.append(f"{statistics.median(times):.2f} s{said}")
            print(f"| {path.stem} | {' | '.join(cells)} | {GOAL_S:g} s |", flush=True)
    await grader.close()
    print()


def escapes(quick: bool) -> None:
    files = [f"tests/webapp/grading/test_{name}.py" for name in ("escapes", "forgery", "race")]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *files,
        ]
        command += ["-k", "forge or forks"] if quick else []
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        print("| attempt | outcome | |\n|---|---|---|")
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = [kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None]
            name = str(case.get("name")).removeprefix("test_").replace("_", " ").replace("|", "/")
            outcome = f"**{kinds[0]}**" if kinds else "as expected"
            print(f"| {name} | {outcome} | {float(case.get('time', 0)):.1f} s |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="each thing once, and two of the attempts")
    parser.add_argument("--only", choices=("starts", "notebooks", "escapes"))
    options = parser.parse_args()
    print(f"Load before the start: {os.getloadavg()[0]:.1f} (a quiet machine: under 0.5)\n", flush=True)
    if options.only in (None, "starts"):
        starts(options.quick)
    if options.only in (None, "notebooks"):
        asyncio.run(notebooks(options.quick))
    if options.only in (None, "escapes"):
        escapes(options.quick)


if __name__ == "__main__":
    main()
