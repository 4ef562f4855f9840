"""What grading costs: `python -m benchmarks.grading [--escapes]`. Meaningful on a machine that is otherwise idle.

Prints the start of the sandbox both ways (a fork of the warm process, as it is done, and a sandbox started anew for each
submission, as it is not), the time from the press of the button to the verdict for each notebook of the course,
right solutions and untouched copies, and with `--escapes` the outcome of every attempt to cheat or to break out.
"""

from __future__ import annotations

import argparse
import asyncio
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
from studio.grading.runner import Grader
from studio.grading.sandbox import Warm

ROOT = Path(__file__).resolve().parent.parent

CLASS = 30 * 3
MIB = 1 << 20


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(warm: Warm) -> float:
    family = psutil.Process(warm.process.pid).children(recursive=True)
    return sum(sum(process.cpu_times()[:2]) for process in family if process.is_running())


def starts(forks: int = 20, anew: int = 3) -> None:
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
    print(
        f"sandbox started anew    {statistics.median(times):7.2f} s, {statistics.median(used):5.2f} s of a processor,"
    )
    print(
        f"                        {memory / MIB:5.0f} MiB; {CLASS} of them: {CLASS * statistics.median(used):5.0f} s"
    )
    with Warm() as warm:
        warm.fork().close()
        before, one = processor_seconds(warm), []
        for _ in range(forks):
            one.append(seconds_of(lambda: warm.fork().close()))
        cost = (processor_seconds(warm) - before) / forks
        print(
            f"fork of the warm one    {statistics.median(one):7.3f} s from asking to gone; {CLASS} of them: {CLASS * statistics.median(one):5.0f} s"
        )
        print(f"                        ({cost:.3f} s of the warm process's own processor time each)")


async def notebooks() -> None:
    grader = Grader()
    began = time.perf_counter()
    first = ROOT / "notebooks" / "00_orientation.ipynb"
    await grader.grade(first, first)
    print(f"first check, nothing warm {time.perf_counter() - began:5.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
            copy = Path(folder) / path.name
            release.write(release.release(release.read(path)), copy)
            for what, file in (("solved", path), ("untouched", copy)):
                times = []
                for _ in range(3):
                    began = time.perf_counter()
                    verdict = await grader.grade(file, path)
                    times.append(time.perf_counter() - began)
                assert verdict.complete == (what == "solved"), verdict
                print(f"{path.stem:28} {what:10} {statistics.median(times):6.2f} s")
    await grader.close()


def escapes() -> None:
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
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        for case in ElementTree.parse(report).iter("testcase"):
            held = (
                case.find("failure") is None and case.find("error") is None and case.find("skipped") is None
            )
            name = str(case.get("name")).removeprefix("test_").replace("_", " ")
            print(f"{'as expected' if held else 'NOT':12} {float(case.get('time', 0)):6.2f} s  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--escapes", action="store_true", help="the table of all attempts instead")
    if parser.parse_args().escapes:
        escapes()
    else:
        starts()
        asyncio.run(notebooks())
