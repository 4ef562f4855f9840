"""Cost of grading a class: `python -m benchmarks.gradebook [--learners 30 | --quick]`. Meaningful on a machine that is otherwise idle.

Generates a fictional class, grades it with `sampan grade`, and prints the total time, the processor
time of one submission, and the times of a second run without new submissions, of opening the gradebook, and of the
similarity report.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from studio.gradebook import book, outcomes, report, table
from studio.gradebook.classroom import Classroom
from tools.made_class import ASSIGNMENT, NOTEBOOKS, make_class


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def opened(classroom: Classroom) -> None:
    with book.opened(classroom) as gradebook:
        assert gradebook.assignments


def grade(folder: Path, home: Path) -> tuple[float, float]:
    """(seconds, processor seconds) of `sampan grade`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "studio.cli", "grade", str(folder)]
    environment = {**os.environ, "SAMPAN_HOME": str(home)}
    seconds = seconds_of(
        lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="three learners")
    options = parser.parse_args()
    learners = 3 if options.quick else options.learners
    with tempfile.TemporaryDirectory(prefix="sampan-class-") as scratch:
        folder, home = Path(scratch) / "class", Path(scratch) / "home"
        home.mkdir()
        make_class(folder, learners)
        classroom, count = Classroom(folder), learners * len(NOTEBOOKS)
        print(f"Load before the start: {os.getloadavg()[0]:.1f} (a quiet machine: under 0.5)\n")
        print(
            f"| {learners} made-up learners x {len(NOTEBOOKS)} notebooks, {os.cpu_count()} cores | | a submission |"
        )
        print("|---|---|---|", flush=True)
        seconds, processor = grade(folder, home)
        with book.opened(classroom) as gradebook:
            each = sorted(outcome.seconds for outcome in outcomes.all_of(gradebook))
        if len(each) != count:
            raise SystemExit(f"{len(each)} of {count} were graded")
        print(f"| graded by one command | {seconds:.1f} s | {seconds / count:.2f} s |")
        print(f"| processor time, imports included | {processor:.1f} s | {processor / count:.2f} s |")
        print(f"| from question to verdict, median / slowest | | {each[count // 2]:.2f} / {each[-1]:.2f} s |")
        print(f"| again, nothing to do | {grade(folder, home)[0]:.1f} s | |")
        print(f"| the gradebook opened | {1e3 * seconds_of(lambda: opened(classroom)):.0f} ms | |")
        spent = seconds_of(lambda: table.table(classroom, ASSIGNMENT))
        print(f"| the table of the page | {1e3 * spent:.0f} ms | |", flush=True)
        for name in NOTEBOOKS:
            began = time.perf_counter()
            found = asyncio.run(report.ask(classroom, ASSIGNMENT, name))
            spent = time.perf_counter() - began
            print(f"| similarity, {name}: {len(found.pairs)} pairs | {spent:.2f} s | |", flush=True)


if __name__ == "__main__":
    main()
