"""The grader: runs a learner's notebook in a process of its own and decides outside of it what is right.

    python -m studio.grading.grader COPY INSTRUCTOR --json [--time-limit 60]

The learner's process only answers calls with plain values (`wire.py`). The hidden cases, their fresh inputs, the
oracles and the comparison are on this side; inputs are drawn for this grading alone and sent one call at a time,
after the learner's cells have run. Exit code: 0 all exercises passed, 1 some did not, 2 it could not be graded.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .cells import Code, needed
from .exercise import Exercise
from .release import grade_id, read, release, slot_of
from .sandbox import Gone, Sandbox, Warm
from .submission import read_submission
from .verdict import Result, judge

SETUP_TAG = "setup"
Progress = Callable[[Literal["cell", "exercise"], int, int], None]


@dataclass
class Cell:
    """How one code cell ended. `number` counts all cells of the notebook from 1, as a reader does."""

    number: int
    grade_id: str | None
    first_line: str
    error: str | None = None
    too_long: bool = False
    ran: bool = True  # False: no exercise needs it (`cells.py`), or the process had ended before it
    traceback: str = ""


@dataclass
class Report:
    notebook: str
    exercises: list[Result]
    cells: list[Cell]
    stopped: list[Cell] = field(default_factory=list)  # cells that did not end within the limit
    output: str = ""  # the end of what the learner's own code printed
    seconds: float = 0.0
    sandboxed: bool = False  # False: the learner's code ran with the rights of whoever graded it

    @property
    def points(self) -> int:
        return sum(result.points for result in self.exercises)

    @property
    def earned(self) -> int:
        return sum(result.earned for result in self.exercises)

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.exercises)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "points": self.points, "earned": self.earned, "passed": self.passed}


class NoChecks(ValueError):
    """A notebook that cannot be graded here; `why` in both languages."""

    def __init__(self, notebook: Path, checks: Path) -> None:
        place = f"{checks.parent.name}/{checks.name}"
        self.why = (
            f"{notebook.name} has no hidden checks, so it is not graded: {place} is missing",
            f"{notebook.name} 没有隐藏检查，因此不评分：缺少 {place}",
        )
        super().__init__(self.why[0])


def load_checks(instructor_path: str | os.PathLike[str]) -> list[Exercise]:
    """The exercises declared in `checks/<notebook>.py` beside the instructor's notebook."""
    path = Path(instructor_path)
    file = path.parent / "checks" / f"{path.stem}.py"
    if not file.is_file():
        raise NoChecks(path, file)
    spec = importlib.util.spec_from_file_location(f"sampan_checks_{path.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.EXERCISES)


def grade(
    notebook_path: str | os.PathLike[str],
    instructor_path: str | os.PathLike[str],
    time_limit: float = 60.0,
    seed: int | None = None,
    progress: Progress = lambda kind, number, count: None,
    warm: Warm | None = None,
    trust_learners: bool = False,
) -> Report:
    """Grades a learner's copy. `time_limit` is in seconds, for one cell; a notebook whose cells together take three
    times as long is stopped too. `seed` fixes the hidden inputs (tests only; by default they are drawn fresh).
    `progress` hears which cell runs, or which exercise is looked at, of how many. `warm` is the process to fork the
    learner's from (who grades many keeps one); without it one is started and ended, with `trust_learners` even where there is no
    sandbox.

    Raises `ValueError` when a file is no notebook or has no checks, `NoSandbox`, and `RuntimeError` when no process can be
    started.
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, {time_limit!r} came")
    began = time.monotonic()
    learner, instructor = read_submission(notebook_path), read(instructor_path)
    exercises = load_checks(instructor_path)
    released = release(instructor)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    with contextlib.ExitStack() as stack:
        if warm is None:
            warm = stack.enter_context(Warm(trust_learners))
        sandbox = stack.enter_context(contextlib.closing(warm.fork()))
        cells = _run_cells(sandbox, learner, released, time_limit, progress)
        results = []
        for number, exercise in enumerate(exercises, start=1):
            progress("exercise", number, len(exercises))
            results.append(judge(sandbox, exercise, rng, learner, released, cells))
        sandbox.kill()
        output = sandbox.output()
    return Report(
        notebook=Path(instructor_path).stem,
        exercises=results,
        cells=cells,
        stopped=[cell for cell in cells if cell.too_long],
        output=output,
        seconds=round(time.monotonic() - began, 3),
        sandboxed=sandbox.walled,
    )


def _run_cells(sandbox: Sandbox, learner: Any, released: Any, limit: float, progress: Progress) -> list[Cell]:
    """Runs those of the learner's code cells that grading needs, in order; locked cells run as they were handed out."""
    records, sources, needed = _code_cells(learner, released)
    left, gone = 3 * limit, False
    for record, source, run in zip(records, sources, needed, strict=True):
        if not run:
            record.ran = False
            continue
        progress("cell", record.number, len(learner.cells))
        seconds, started = min(limit, left), time.monotonic()
        try:
            if gone or left <= 0:
                record.ran, record.error = False, "not run"
                continue
            message = {"kind": "cell", "number": record.number, "source": source, "seconds": seconds}
            reply = sandbox.ask(message, seconds)
            error = reply.get("error")
            record.too_long = reply.get("too_long") is True
            record.error = None if error is None else str(error)
            record.traceback = str(reply.get("traceback") or "")
        except Gone as end:
            gone = True
            record.error, record.too_long = end.fault[0], time.monotonic() - started >= seconds
        left -= time.monotonic() - started
        if record.too_long:
            record.error = f"did not end within {seconds:g} s and was stopped"
    return records


def _code_cells(learner: Any, released: Any) -> tuple[list[Cell], list[str], list[bool]]:
    """The records of the learner's code cells, the source that each is run with, and whether it is needed."""
    handed_out = {cell.source: cell for cell in released.cells if cell.cell_type == "code"}
    locked = {
        grade_id(cell): cell.source
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("locked", False)
    }
    records, sources, codes = [], [], []
    for number, cell in enumerate(learner.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        source = locked.get(grade_id(cell), cell.source)
        first = next(line.strip() for line in source.splitlines() if line.strip())
        records.append(Cell(number, grade_id(cell), first[:120]))
        sources.append(source)
        given = handed_out.get(source)
        codes.append(Code(source, given is not None, given is not None and _is_root(given)))
    return records, sources, needed(codes)


def _is_root(given: Any) -> bool:
    graded = given.metadata.get("nbgrader", {}).get("grade", False)
    return graded or SETUP_TAG in given.metadata.get("tags", []) or slot_of(given.source) is not None


def _say(kind: str, number: int, count: int) -> None:
    print(f"progress {kind} {number} {count}", file=sys.stderr, flush=True)


def _text(report: Report) -> str:
    lines = [f"{report.notebook}: {report.earned} of {report.points} points in {report.seconds:.1f} s"]
    if not report.sandboxed:
        lines.append("  graded without a sandbox: the notebook's code ran with your rights")
    lines += [f"  {r.verdict.replace('_', ' ')}  {r.title} ({r.id}): {r.message}" for r in report.exercises]
    lines += [f"  cell {cell.number} ({cell.first_line}) {cell.error}" for cell in report.stopped]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studio.grading.grader", description="Grades a learner's notebook."
    )
    parser.add_argument("copy", help="the learner's notebook")
    parser.add_argument("instructor", help="the instructor's version; its checks lie in checks/ beside it")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="seconds for one cell (60)"
    )
    parser.add_argument(
        "--trust-learners",
        action="store_true",
        help="grade even where there is no sandbox, with all your rights",
    )
    options = parser.parse_args(arguments)
    try:
        report = grade(
            options.copy,
            options.instructor,
            options.time_limit,
            progress=_say,
            trust_learners=options.trust_learners,
        )
    except (ValueError, RuntimeError, OSError) as error:
        print(f"could not grade: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), ensure_ascii=False, indent=1) if options.json else _text(report))
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
