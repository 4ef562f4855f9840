"""The grader: runs a learner's notebook in a separate process and judges the results outside of it.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .cells import Code
from .cleaning import clean
from .exercise import Exercise
from .judge import MOST_TRACEBACK, MOST_WORDS, judge, refused, rule_fault
from .reading import Reading, Rule
from .release import DATA, TEST_MARKS, check_id, data_beside, grade_id, read, release, slot_of, slots_of
from .sandbox import OUTPUT_TAIL, Gone, Sandbox, Warm
from .submission import read_submission
from .translation import language_of
from .verdict import Result

SETUP_TAG = "setup"
SHARE = 3  # the time limit of all cells of a notebook, in limits of one cell
READ_SECONDS = 10.0  # for the code to be parsed
Progress = Callable[[Literal["cell", "exercise"], int, int], None]


@dataclass
class Cell:
    """How one code cell ended. `number` counts all cells of the notebook from 1, as a reader counts."""

    number: int
    grade_id: str | None
    first_line: str
    error: str | None = None
    too_long: bool = False
    ran: bool = False  # False: no exercise needs it (`cells.py`), or there was no time left for it
    traceback: str = ""

    def hear(self, end: Cell) -> None:
        """Add how it ended in the process of one exercise; the first failure is kept."""
        self.ran = self.ran or end.ran
        if self.error is None:
            self.error, self.too_long, self.traceback = end.error, end.too_long, end.traceback


@dataclass
class Ending(Cell):
    """How a cell ended in the process of one exercise; `gone` if it ended that process."""

    gone: Gone | None = None


@dataclass
class Report:
    notebook: str
    exercises: list[Result]
    cells: list[Cell]
    stopped: list[Cell] = field(default_factory=list)  # cells that did not end within the limit
    output: str = ""  # the end of what the learner's own code printed
    seconds: float = 0.0
    sandboxed: bool = False  # False: the learner's code ran with the rights of the user who graded it
    programs: dict[str, str] = field(
        default_factory=dict
    )  # of each passed exercise, the source of its function

    @property
    def points(self) -> float:
        return sum(result.points for result in self.exercises)

    @property
    def earned(self) -> float:
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
    `progress` is called with the cell that runs or the exercise that is checked, and their count. `warm` is the
    process from which the learner's is forked (keep one to grade many notebooks); without it one is started and
    ended, with `trust_learners` even without a sandbox.

    Raises `ValueError` if a file is not a notebook or has no checks, `NoSandbox`, and `RuntimeError` if no process
    can be started.
    """
    if not time_limit > 0:
        raise ValueError(f"grade: expected a positive number of seconds for time_limit, got {time_limit!r}")
    began = time.monotonic()
    learner, instructor = read_submission(notebook_path), read(instructor_path)
    exercises = load_checks(instructor_path)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    with contextlib.ExitStack() as stack:
        if warm is None:
            warm = stack.enter_context(Warm(trust_learners))
        submission = _Submission(
            warm, learner, release(instructor, language_of(learner)), exercises, time_limit, progress
        )
        submission.data = _data_beside(Path(instructor_path))
        results = []
        for number, exercise in enumerate(exercises, start=1):
            progress("exercise", number, len(exercises))
            results.append(submission.grade(exercise, rng, len(exercises) - number + 1))
    return Report(
        notebook=Path(instructor_path).stem,
        exercises=results,
        cells=submission.records,
        stopped=[cell for cell in submission.records if cell.too_long],
        output=submission.output[-OUTPUT_TAIL:],
        seconds=round(time.monotonic() - began, 3),
        sandboxed=warm.walled,
        programs={result.id: submission.readings[result.id].program for result in results if result.passed},
    )


class _Submission:
    """One learner's notebook. Each exercise is graded in a separate process without the library's version of it,
    which has run only the cells that it needs; so one exercise cannot affect the process of another."""

    def __init__(
        self,
        warm: Warm,
        learner: Any,
        released: Any,
        exercises: list[Exercise],
        limit: float,
        progress: Progress,
    ) -> None:
        self.warm, self.limit, self.progress = warm, limit, progress
        self.count = len(learner.cells)
        self.left = SHARE * limit
        self.output = ""
        self.deadly: set[int] = set()  # cells that ended the process of an exercise that they do not fill
        self.records, self.codes = _code_cells(learner, released)
        self.rules = [_rule(exercise, released) for exercise in exercises]
        self.readings: dict[str, Reading] = {}
        self.data: dict[str, bytes] = {}  # by name in the work folder

    def grade(self, exercise: Exercise, rng: np.random.Generator, remaining: int) -> Result:
        """`remaining` exercises, this one included, share the remaining time for cells."""
        budget = self.left / remaining
        while True:
            with contextlib.closing(self.warm.fork(exercise.slot, exercise.absent)) as sandbox:
                if not self.readings:  # nothing has run in this process yet
                    self.readings = self._read(sandbox)
                reading = self.readings[exercise.slot]
                fault = rule_fault(reading)
                if fault is not None:
                    return refused(exercise, fault)
                with contextlib.suppress(Gone):  # what is asked next says so
                    for name, content in self.data.items():
                        sandbox.put(name, content, mode=0o444)
                began = time.monotonic()
                ends = self._run_cells(sandbox, exercise.slot, reading.needed, budget)
                spent = time.monotonic() - began
                self.left, budget = self.left - spent, budget - spent
                guilty = next((n for n, end in ends.items() if end.gone), None)
                again = guilty is not None and exercise.slot not in self.codes[guilty].slots
                result = (
                    None
                    if again
                    else judge(sandbox, exercise, rng, [ends[n] for n in self._own(exercise, ends)])
                )
                sandbox.kill()
                self.output = (self.output + "\n" + sandbox.output())[-OUTPUT_TAIL:].strip()
            if result is not None:
                return result
            assert guilty is not None
            self.deadly.add(guilty)

    def _own(self, exercise: Exercise, ends: Mapping[int, Ending]) -> list[int]:
        """Those of the cells that fill the exercise's slot."""
        return [n for n in ends if exercise.slot in slots_of(self.codes[n].source)]

    def _read(self, sandbox: Sandbox) -> dict[str, Reading]:
        """If the code cannot be parsed in time, every cell is run, and the exercise counts as unreadable."""
        message = {
            "kind": "read",
            "cells": [asdict(code) for code in self.codes],
            "rules": [asdict(r) for r in self.rules],
        }
        try:
            told = sandbox.ask(message, READ_SECONDS)
            return {rule.slot: Reading(**told[rule.slot]) for rule in self.rules}
        except Gone:
            return {rule.slot: Reading([False] * len(self.codes), unreadable=True) for rule in self.rules}

    def _run_cells(
        self, sandbox: Sandbox, slot: str, needed: Sequence[bool], budget: float
    ) -> dict[int, Ending]:
        """Runs those of the learner's code cells that an exercise needs, in order, locked ones as they were handed out.
        Returns how each of them ended; one that ended the process is the last."""
        ends = {}
        for n, (record, code) in enumerate(zip(self.records, self.codes, strict=True)):
            if not needed[n] or n in self.deadly:
                continue
            self.progress("cell", record.number, self.count)
            seconds, started = min(self.limit, budget), time.monotonic()
            end = Ending(record.number, record.grade_id, record.first_line, ran=True)
            ends[n] = end
            if seconds <= 0:
                end.ran, end.error = False, "not run"
                continue
            try:
                message = {"kind": "cell", "number": record.number, "source": code.source, "seconds": seconds}
                reply = sandbox.ask(message, seconds)
                error = reply.get("error")
                end.too_long = reply.get("too_long") is True
                end.error = None if error is None else clean(str(error)[:MOST_WORDS])
                end.traceback = clean(str(reply.get("traceback") or "")[:MOST_TRACEBACK])
            except Gone as fault:
                end.gone, end.error = fault, fault.fault[0]
                end.too_long = time.monotonic() - started >= seconds
            budget -= time.monotonic() - started
            if end.too_long:
                end.error = f"did not end within {seconds:.3g} s and was stopped"
            record.hear(end)
            if end.gone:
                break
        return ends


def _data_beside(instructor: Path) -> dict[str, bytes]:
    """The files of data that were released with a notebook, by their names in the work folder."""
    return {f"{DATA}/{path.name}": path.read_bytes() for path in data_beside(instructor.parent)}


def _rule(exercise: Exercise, released: Any) -> Rule:
    given = [cell.source for cell in released.cells if slot_of(cell.source) == exercise.slot]
    return Rule(exercise.slot, tuple(exercise.forbid), "\n".join(given))


def _code_cells(learner: Any, released: Any) -> tuple[list[Cell], list[Code]]:
    """The records of the learner's code cells, and the code to run for each."""
    handed_out = {cell.source: cell for cell in released.cells if cell.cell_type == "code"}
    locked = {
        grade_id(cell): cell.source
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("locked", False)
    }
    checks = {check_id(slot): slot for slot in map(slot_of, handed_out) if slot}
    records, codes = [], []
    for number, cell in enumerate(learner.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        source = locked.get(grade_id(cell), cell.source)
        first = next((line.strip() for line in source.splitlines() if line.strip()), "")
        records.append(Cell(number, grade_id(cell), clean(first[:120])))
        given = handed_out.get(TEST_MARKS.sub("", source))
        checked = None if given is None else checks.get(grade_id(given) or "")
        slots = (*slots_of(source), *([] if checked is None else [checked]))
        codes.append(Code(source, given is not None, given is not None and _is_root(given), slots))
    return records, codes


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
