"""A class that works at the same time: `python -m benchmarks.classroom [--learners 30] [--places 30]`, as root.

Starts a real class under JupyterHub with an account for each learner, in a mount namespace of its own. All learners log in,
open their Studio and the courses, open a page that computes, check a right notebook, hand it in and wait for the mark, each in
a thread. The table has the median and the 95th percentile of each step, the errors, and the memory of a learner.
Meaningful on a machine that is otherwise idle.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TypeVar

import nbformat
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studio.grading import release
from studio.paths import NOTEBOOKS
from tests.webapp.hub.serving import NOTEBOOK, ClassHub, Visitor, serving, wait_for

PATIENCE_S = 600
MIB = 1 << 20
T = TypeVar("T")


class Learner:
    """One learner's way; `seconds` has the time of each step."""

    def __init__(self, hub: ClassHub, name: str, solved: bytes) -> None:
        self.hub, self.name, self.solved = hub, name, solved
        self.seconds: dict[str, float] = {}
        self.error = ""

    def go(self) -> None:
        try:
            self._go()
        except Exception as error:  # one learner's error is a line of the table, not the end of the run
            self.error = f"{type(error).__name__}: {error}"[:300]

    def _go(self) -> None:
        visitor = self._timed("log in", lambda: self.hub.visitor(self.name))
        self._timed("start of the own Studio", lambda: visitor.open_studio(self.name))
        courses = f"/user/{self.name}/studio/courses"
        self._opened(visitor, "page: Home", f"/user/{self.name}/studio")
        self._opened(visitor, "page: Courses", courses)
        visitor.press(courses, f"{courses}/{NOTEBOOK}/open")
        self._opened(visitor, "page that computes: Tape", f"/user/{self.name}/studio/page/tape")
        copy = self.hub.root.parent / "home" / self.name / "sampan-work" / "notebooks" / f"{NOTEBOOK}.ipynb"
        copy.write_bytes(self.solved)
        self._timed("verdict", lambda: self._checked(visitor, courses))
        reply = self._timed("hand in", lambda: visitor.press(courses, f"{courses}/{NOTEBOOK}/hand-in"))
        assert reply.status_code == 303, reply.status_code
        self._timed("mark", lambda: wait_for(lambda: self._marked(visitor, courses), PATIENCE_S))

    def _checked(self, visitor: Visitor, courses: str) -> None:
        visitor.press(courses, f"{courses}/{NOTEBOOK}/check")
        address = f"{courses}/{NOTEBOOK}/check"
        card = wait_for(
            lambda: text if "data-active" not in (text := visitor.get(address).text) else "", PATIENCE_S
        )
        assert "1 of 1 solved" in card, "the verdict on a right notebook is wrong"

    def _marked(self, visitor: Visitor, courses: str) -> bool:
        text = visitor.get(f"{courses}/handed-in").text
        return "will be graded" not in text and "1 of 1 points" in text

    def _opened(self, visitor: Visitor, step: str, path: str) -> None:
        reply = self._timed(step, lambda: visitor.get(path))
        assert reply.ok, f"{path}: {reply.status_code}"

    def _timed(self, step: str, act: Callable[[], T]) -> T:
        began = time.perf_counter()
        found = act()
        self.seconds[step] = time.perf_counter() - began
        return found


def memory(hub: ClassHub, names: list[str]) -> list[float]:
    """MiB of the processes of each learner's account; what processes share is divided between them."""
    uids = {hub.uid(name): name for name in names}
    sizes: dict[str, float] = defaultdict(float)
    for process in psutil.process_iter(["uids"]):
        try:
            name = uids.get(process.info["uids"].real)
            if name is not None:
                sizes[name] += process.memory_full_info().pss / MIB
        except psutil.NoSuchProcess:
            continue
    return list(sizes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--places", type=int, help="sessions at a time; by default one for each learner")
    options = parser.parse_args()
    os.environ["SAMPAN_CPU_SLOTS"] = str(options.places or options.learners)
    names = [f"learner{n:02d}" for n in range(options.learners)]
    roster = "name,role\ntia,teacher\n" + "".join(f"{name},learner\n" for name in names)
    solved = nbformat.writes(release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb")).encode()
    with serving(people=roster) as hub:
        learners = [Learner(hub, name, solved) for name in names]
        began = time.perf_counter()
        with ThreadPoolExecutor(len(learners)) as pool:
            for ended in [pool.submit(learner.go) for learner in learners]:
                ended.result()
        took, sizes = time.perf_counter() - began, memory(hub, names)
    print(
        f"{len(learners)} learners, {os.cpu_count()} cores, {took:.0f} s; load of the last 5 minutes {os.getloadavg()[1]:.1f}\n"
    )
    print("| step | median s | 95th percentile s | learners |\n|---|---|---|---|")
    for step in dict.fromkeys(step for learner in learners for step in learner.seconds):
        times = sorted(learner.seconds[step] for learner in learners if step in learner.seconds)
        print(f"| {step} | {median(times):.2f} | {times[int(0.95 * (len(times) - 1))]:.2f} | {len(times)} |")
    print(f"\nMemory of a learner: median {median(sizes):.0f} MiB, {sum(sizes) / 1024:.1f} GiB in all")
    failed = [learner for learner in learners if learner.error]
    print(f"Errors: {len(failed)}")
    for learner in failed:
        print(f"- {learner.name}: {learner.error}")


if __name__ == "__main__":
    main()
