"""The grader: runs a learner's notebook in a process of its own and decides outside of it what is right.

    python -m studio.grading.grader COPY INSTRUCTOR --json [--time-limit 60]

The learner's process only answers calls with plain values (`wire.py`). The hidden cases, their fresh inputs, the
oracles and the comparison are on this side; inputs are drawn for this grading alone and sent one call at a time,
after the learner's cells have run. Exit code: 0 all exercises passed, 1 some did not, 2 it could not be graded.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sampan.learn import forbid
from sampan.learn.cases import Case, Holds, Text, difference
from sampan.learn.plain import plain

from .exercise import Exercise
from .release import grade_id, read, release, slot_of
from .sandbox import GRACE_SECONDS, Gone, Sandbox

Progress = Callable[[Literal["cell", "exercise"], int, int], None]


VerdictKind = Literal["passed", "failed", "not_attempted", "timed_out", "out_of_memory", "broke_rule", "error"]


@dataclass
class Result:
    """The verdict on one exercise. `message` never shows a hidden expected value or a line of a check."""

    id: str
    title: str
    title_zh: str
    points: int
    earned: int
    passed: bool
    message: str
    message_zh: str
    library_calls: int = (
        0  # how often the library ran the learner's function, cells and hidden cases together
    )
    verdict: VerdictKind = "failed"
    case: str = ""  # the name of the case that was not right
    case_zh: str = ""
    hint: str = ""
    hint_zh: str = ""
    traceback: str = ""  # the learner's own lines only


@dataclass
class Cell:
    """How one code cell ended. `number` counts all cells of the notebook from 1, as a reader does."""

    number: int
    grade_id: str | None
    first_line: str
    error: str | None = None
    too_long: bool = False
    ran: bool = True


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


def load_checks(instructor_path: str | os.PathLike[str]) -> list[Exercise]:
    """The exercises declared in `checks/<notebook>.py` beside the instructor's notebook."""
    path = Path(instructor_path)
    file = path.parent / "checks" / f"{path.stem}.py"
    if not file.is_file():
        raise ValueError(f"{path.name} has no hidden checks: {file.parent.name}/{file.name} is missing")
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
) -> Report:
    """Grades a learner's copy. `time_limit` is in seconds, for one cell; a notebook whose cells together take three
    times as long is stopped too. `seed` fixes the hidden inputs (tests only; by default they are drawn fresh).
    `progress` hears which cell runs, or which exercise is looked at, of how many.

    Raises `ValueError` when a file is no notebook or has no checks, `RuntimeError` when no process can be started.
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, {time_limit!r} came")
    began = time.monotonic()
    learner, instructor = read(notebook_path), read(instructor_path)
    exercises = load_checks(instructor_path)
    released = release(instructor)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    with tempfile.TemporaryDirectory(prefix="sampan-grading-", ignore_cleanup_errors=True) as scratch:
        sandbox = Sandbox(Path(scratch))
        try:
            sandbox.start()
            cells = _run_cells(sandbox, learner, released, time_limit, progress)
            results = []
            for number, exercise in enumerate(exercises, start=1):
                progress("exercise", number, len(exercises))
                results.append(_grade_one(sandbox, exercise, rng, learner, released))
            _explain_missing(results, cells, learner)
            output = sandbox.output()
        finally:
            sandbox.close()
    return Report(
        notebook=Path(instructor_path).stem,
        exercises=results,
        cells=cells,
        stopped=[cell for cell in cells if cell.too_long],
        output=output,
        seconds=round(time.monotonic() - began, 3),
    )


def _run_cells(sandbox: Sandbox, learner: Any, released: Any, limit: float, progress: Progress) -> list[Cell]:
    """Runs the learner's code cells in order; locked cells run as they were handed out."""
    locked = {
        grade_id(cell): cell.source
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("locked", False)
    }
    cells, left, gone = [], 3 * limit, False
    for number, cell in enumerate(learner.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        progress("cell", number, len(learner.cells))
        source = locked.get(grade_id(cell), cell.source)
        first = next(line.strip() for line in source.splitlines() if line.strip())
        record = Cell(number, grade_id(cell), first[:120])
        cells.append(record)
        seconds, started = min(limit, left), time.monotonic()
        try:
            if gone or left <= 0:
                record.ran, record.error = False, "not run"
                continue
            reply = sandbox.ask({"kind": "cell", "source": source, "seconds": seconds}, seconds)
            error = reply.get("error")
            record.too_long = reply.get("too_long") is True
            record.error = None if error is None else str(error)
        except Gone as end:
            gone = True
            record.error, record.too_long = end.fault[0], time.monotonic() - started >= seconds
        left -= time.monotonic() - started
        if record.too_long:
            record.error = f"did not end within {seconds:g} s and was stopped"
    return cells


def _grade_one(
    sandbox: Sandbox, exercise: Exercise, rng: np.random.Generator, learner: Any, released: Any
) -> Result:
    result = Result(exercise.slot, exercise.title, exercise.title_zh, exercise.points, 0, False, "", "")
    try:
        before = _library_calls(sandbox, exercise.slot)
        fault, right = _forbidden(exercise, learner, released), 0
        for case in exercise.cases(rng) if fault is None else ():
            fault = _run_case(sandbox, exercise, case)
            if fault is not None:
                break
            right += 1
            result.earned += case.earns
        result.library_calls = _library_calls(sandbox, exercise.slot)
        if fault is None and result.library_calls <= before:
            result.earned, fault = 0, ("the library never ran your function", "库从未运行过你的函数")
    except Gone as end:
        fault = end.fault
    if fault is None:
        result.passed, result.earned, result.verdict = True, exercise.points, "passed"
        fault = (f"all {right} hidden cases are right", f"{right} 个隐藏用例全部正确")
    result.message, result.message_zh = fault
    return result


def _run_case(sandbox: Sandbox, exercise: Exercise, case: Case) -> Text | None:
    """What is wrong with the answer to one case, or None."""
    token = secrets.token_hex(8)  # a reply prepared in advance cannot carry it
    message = {"kind": "call", "id": token, "slot": exercise.slot, "driver": case.driver, "args": case.args}
    head, head_zh = f"case '{case.name[0]}': ", f"用例“{case.name[1]}”:"
    try:
        reply = sandbox.ask({**message, "seconds": exercise.seconds}, exercise.seconds)
        if reply.get("id") != token:
            sandbox.end("the process answered out of turn", "进程的应答顺序不对")
    except Gone as end:
        return head + end.fault[0], head_zh + end.fault[1]
    if reply.get("missing"):
        return MISSING
    if reply.get("unwritten"):
        return "not written yet", "尚未完成"
    if reply.get("too_long"):
        seconds = f"{exercise.seconds:g}"
        return (
            f"{head}no answer within {seconds} s. {case.hint[0]}",
            f"{head_zh}{seconds} 秒内没有应答。{case.hint[1]}",
        )
    if reply.get("error") is not None:
        error = str(reply["error"])[:300]
        return (
            f"{head}your function stopped with {error}. {case.hint[0]}",
            f"{head_zh}函数出错:{error}。{case.hint[1]}",
        )
    expected = case.expected if isinstance(case.expected, Holds) else plain(case.expected)
    found = difference(reply.get("value"), expected, case.rtol, case.atol, case.dtype)
    if found is None:
        return None
    told, told_zh = found.told()
    return f"{head}{told}. {case.hint[0]}", f"{head_zh}{told_zh}。{case.hint[1]}"


MISSING: Text = ("your notebook puts no function into this slot", "笔记本没有为这个练习提供函数")


def _library_calls(sandbox: Sandbox, slot: str) -> int:
    reply = sandbox.ask({"kind": "counts"}, GRACE_SECONDS)
    counts = reply.get("library_calls")
    count = counts.get(slot, 0) if isinstance(counts, dict) else 0
    return count if isinstance(count, int) else 0


def _forbidden(exercise: Exercise, learner: Any, released: Any) -> Text | None:
    """A forbidden name, or the library's own version called by name, in a cell that the learner has changed."""
    handed_out = {cell.source for cell in released.cells}
    code = [cell.source for cell in learner.cells if cell.cell_type == "code"]
    known = forbid.aliases("\n".join(code))
    own = (f"sampan.{exercise.slot}", f"paddle.{exercise.slot}")
    for source in code:
        if source in handed_out:
            continue
        mine = slot_of(source) == exercise.slot
        found = forbid.uses(source, (*exercise.forbid, *own) if mine else own, known)
        if found:
            name = found[0][0]
            return f"{name} may not be used in this exercise", f"本练习不允许使用 {name}"
    return None


def _explain_missing(results: list[Result], cells: list[Cell], learner: Any) -> None:
    """Where a slot was never filled, says which cell of the notebook is to blame."""
    for result in results:
        if result.message != MISSING[0]:
            continue
        numbers = {n for n, cell in enumerate(learner.cells, start=1) if slot_of(cell.source) == result.id}
        for cell in cells:
            if cell.number in numbers and cell.error is not None:
                result.message = f"cell {cell.number} ({cell.first_line}) stopped: {cell.error}"
                result.message_zh = f"第 {cell.number} 个单元格({cell.first_line})中断:{cell.error}"


def _say(kind: str, number: int, count: int) -> None:
    print(f"progress {kind} {number} {count}", file=sys.stderr, flush=True)


def _text(report: Report) -> str:
    lines = [f"{report.notebook}: {report.earned} of {report.points} points in {report.seconds:.1f} s"]
    lines += [
        f"  {'passed' if r.passed else 'failed'}  {r.title} ({r.id}): {r.message}" for r in report.exercises
    ]
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
    options = parser.parse_args(arguments)
    try:
        report = grade(options.copy, options.instructor, options.time_limit, progress=_say)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"could not grade: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), ensure_ascii=False, indent=1) if options.json else _text(report))
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
