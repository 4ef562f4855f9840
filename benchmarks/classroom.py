"""A class that works at the same time: `python -m benchmarks.classroom [--learners 30] [--places 30] [--kill]`, as root.

Starts a real class under JupyterHub with an account for each learner, in a mount namespace of its own. All learners log in,
open their Studio and the courses, open a page that computes, check a notebook, hand it in and wait for the mark, each in
a thread. Every second one hands in an unsolved notebook. The table has the median and the 95th percentile of each step, the
errors, and the memory of a learner.

With `--kill`, learners' servers, the class's service, its grader and the warm process are killed at random meanwhile; learners
try again, as people do. In the end every submission with a receipt must be in the book once, with the right mark.

Meaningful on a machine that is otherwise idle.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import TypeVar

import nbformat
import psutil
import requests

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.classroom_kills import Killer, book_errors, programs
from studio.grading import release
from studio.paths import NOTEBOOKS
from tests.webapp.hub.serving import NOTEBOOK, ClassHub, serving, wait_for

PATIENCE_S = 600
MIB = 1 << 20
LOG = Path(__file__).resolve().parent.parent / "build" / "classroom.log"
T = TypeVar("T")


class Learner:
    """One learner's way; `seconds` has the time of each step. A patient one repeats a step that has failed."""

    def __init__(self, hub: ClassHub, name: str, notebook: bytes, points: int, patient: bool) -> None:
        self.hub, self.name, self.notebook, self.points, self.patient = hub, name, notebook, points, patient
        self.home = hub.root.parent / "home" / name / "sampan-work"
        self.seconds: dict[str, float] = {}
        self.repeated = 0
        self.error = ""

    def go(self) -> None:
        try:
            self._go()
        except Exception as error:  # one learner's error is a line of the table, not the end of the run
            self.error = f"{type(error).__name__}: {error}"[:900]

    def _go(self) -> None:
        self.visitor = self._timed("log in", lambda: self.hub.visitor(self.name))
        self._timed("start of the own Studio", lambda: self.visitor.open_studio(self.name))
        courses = f"/user/{self.name}/studio/courses"
        self._timed("page: Home", lambda: self._opened(f"/user/{self.name}/studio"))
        self._timed("page: Courses", lambda: self._opened(courses))
        self._timed("open the notebook", lambda: self._pressed(courses, f"{courses}/{NOTEBOOK}/open"))
        tape = f"/user/{self.name}/studio/page/tape"
        self._timed("page that computes: Tape", lambda: self._opened(tape))
        (self.home / "notebooks" / f"{NOTEBOOK}.ipynb").write_bytes(self.notebook)
        self._timed("verdict", lambda: self._checked(courses))
        self._timed("hand in", lambda: self._pressed(courses, f"{courses}/{NOTEBOOK}/hand-in"))
        self._timed("mark", lambda: wait_for(lambda: self._marked(courses), PATIENCE_S))

    def _pressed(self, page: str, action: str) -> None:
        status = self.visitor.press(page, action).status_code
        assert status == 303, f"{action}: {status}"

    def _checked(self, courses: str) -> None:
        address = f"{courses}/{NOTEBOOK}/check"
        self._pressed(courses, address)
        card = wait_for(
            lambda: text if "data-active" not in (text := self._opened(address)) else "", PATIENCE_S
        )
        said = " ".join(re.sub(r"<[^>]+>", " ", card).split())
        assert f"{self.points} of 1 solved" in card, f"the verdict is wrong: {said[-700:]}"

    def _marked(self, courses: str) -> bool:
        text = self._opened(f"{courses}/handed-in")
        return "will be graded" not in text and f"{self.points} of 1 points" in text

    def _opened(self, path: str) -> str:
        reply = self.visitor.get(path)
        assert reply.ok and f"/hub/user/{self.name}" not in reply.url, f"{path}: {reply.status_code}"
        return reply.text

    def _timed(self, step: str, act: Callable[[], T]) -> T:
        began = time.perf_counter()
        while True:
            try:
                found = act()
            except (AssertionError, requests.RequestException):
                if not self.patient or time.perf_counter() - began > PATIENCE_S:
                    raise
                self.repeated += 1
                time.sleep(1)
                if step != "log in":
                    with suppress(requests.RequestException):
                        self.visitor.open_studio(self.name)  # it may have to be started again
                continue
            self.seconds[step] = time.perf_counter() - began
            return found


def memory(hub: ClassHub, names: list[str], others: bool = False) -> list[float]:
    """MiB of the processes of each learner's account, or of each other account of the class; what processes share is divided
    between them."""
    uids = {hub.uid(name) for name in names}
    sizes: dict[int, float] = defaultdict(float)
    for process in programs(hub):
        try:
            if ((uid := process.uids().real) in uids) != others:
                sizes[uid] += process.memory_full_info().pss / MIB
        except psutil.NoSuchProcess:
            continue
    return list(sizes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--places", type=int, help="sessions at a time; by default one for each learner")
    parser.add_argument("--kill", action="store_true", help="kill servers at random meanwhile")
    options = parser.parse_args()
    os.environ["SAMPAN_CPU_SLOTS"] = str(options.places or options.learners)
    names = [f"learner{n:02d}" for n in range(options.learners)]
    roster = "name,role\ntia,teacher\n" + "".join(f"{name},learner\n" for name in names)
    solution = release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb")
    notebooks = [nbformat.writes(one).encode() for one in (release.release(solution), solution)]
    with serving(people=roster) as hub:
        learners = [
            Learner(hub, name, notebooks[number % 2], number % 2, options.kill)
            for number, name in enumerate(names)
        ]
        began = time.perf_counter()
        killer = Killer(hub, names)
        with ThreadPoolExecutor(len(learners)) as pool, killer.at_work() if options.kill else nullcontext():
            for ended in [pool.submit(learner.go) for learner in learners]:
                ended.result()
        took, sizes = time.perf_counter() - began, memory(hub, names)
        whole = sum(sizes) + sum(memory(hub, names, others=True))
        wrong = book_errors(hub, {learner.home: learner.points for learner in learners})
        failed = [learner for learner in learners if learner.error]
        if wrong or failed:
            LOG.parent.mkdir(exist_ok=True)
            shutil.copyfile(hub.log, LOG)  # its folder goes with the class
    print(
        f"{len(learners)} learners, {os.cpu_count()} cores, {took:.0f} s; load of the last 5 minutes {os.getloadavg()[1]:.1f}\n"
    )
    print("| step | median s | 95th percentile s | learners |\n|---|---|---|---|")
    for step in dict.fromkeys(step for learner in learners for step in learner.seconds):
        times = sorted(learner.seconds[step] for learner in learners if step in learner.seconds)
        print(f"| {step} | {median(times):.2f} | {times[int(0.95 * (len(times) - 1))]:.2f} | {len(times)} |")
    print(
        f"\nMemory of a learner: median {median(sizes):.0f} MiB, {sum(sizes) / 1024:.1f} GiB of all learners, "
        f"{whole / 1024:.1f} GiB of the class"
    )
    if options.kill:
        print(f"Killed: {killer.told()}; steps repeated: {sum(learner.repeated for learner in learners)}")
    print(f"Errors in the book: {len(wrong)}", *wrong, sep="\n- ")
    print(f"Errors: {len(failed)}", f"(log of the class: {LOG})" if wrong or failed else "")
    for learner in failed:
        print(f"- {learner.name}: {learner.error}")


if __name__ == "__main__":
    main()
