"""The verdict on one exercise: the hidden cases are sent one at a time, and the answers are judged here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sampan.learn import drivers
from sampan.learn.cases import Case, Holds, Text, difference
from sampan.learn.plain import plain

from . import race, symptom
from .cleaning import clean
from .comparison import compare
from .exercise import Exercise, Race
from .reading import Reading
from .sandbox import GRACE_SECONDS, Gone, Sandbox
from .verdict import JudgedCase, Result, VerdictKind

MOST_TRACEBACK, MOST_WORDS = 4000, 500  # characters
MOST_CASES = 3  # the time limit of all cases of an exercise, in limits of one call


@dataclass(frozen=True)
class Fault:
    """Why an exercise is not passed."""

    verdict: VerdictKind
    words: Text
    case: Text = ("", "")
    hint: Text = ("", "")
    traceback: str = ""

    def told(self) -> Text:
        """One sentence: the case, what was wrong, and the hint."""
        head, head_zh = (f"case '{self.case[0]}': ", f"用例“{self.case[1]}”：") if self.case[0] else ("", "")
        tail, tail_zh = (f". {self.hint[0]}", f"。{self.hint[1]}") if any(self.hint) else ("", "")
        return f"{head}{self.words[0]}{tail}", f"{head_zh}{self.words[1]}{tail_zh}"


NO_FUNCTION = Fault(
    "not_attempted", ("your notebook does not put a function into this slot", "笔记本没有为这个练习提供函数")
)
UNWRITTEN = Fault("not_attempted", ("not written yet", "尚未完成"))
NEVER_RUN = Fault("failed", ("the library never ran your function", "库从未运行过你的函数"))


def rule_fault(reading: Reading) -> Fault | None:
    """A forbidden name in the learner's own code: one that the exercise forbids, the library's own version, or the
    machinery of exercises and grading."""
    if reading.unreadable:
        return Fault(
            "error",
            ("the code is too deeply nested or too long to be parsed", "代码嵌套过深或过长，无法读取"),
        )
    if not reading.broken:
        return None
    name = reading.broken
    return Fault("broke_rule", (f"{name} may not be used in this exercise", f"本练习不允许使用 {name}"))


def refused(exercise: Exercise, fault: Fault) -> Result:
    """The verdict on an exercise that is not passed because of that."""
    told = (exercise.slot, exercise.title, exercise.title_zh, exercise.points, 0, False, *fault.told())
    (case, case_zh), (hint, hint_zh) = fault.case, fault.hint
    return Result(
        *told,
        verdict=fault.verdict,
        case=case,
        case_zh=case_zh,
        hint=hint,
        hint_zh=hint_zh,
        traceback=fault.traceback,
    )


def judge(sandbox: Sandbox, exercise: Exercise, rng: np.random.Generator, cells: Sequence[Any]) -> Result:
    """The verdict on `exercise`, after the learner's cells have run; `cells` says how those that fill it ended."""
    fault, calls, before, compared = _ended(cells), 0, 0, None
    hidden = list(exercise.cases(rng)) if fault is None else []
    right: list[bool] = []
    clock = _Clock(exercise)
    try:
        before = _library_calls(sandbox, exercise.slot) if fault is None else 0
        for case in hidden:
            if fault is not None and isinstance(case, Race):
                break  # the speed of a wrong function says nothing
            found = _run_case(sandbox, exercise, case, clock)
            right.append(found is None)
            fault = fault or found
            if found is not None and (sandbox.gone or found.verdict not in ("failed", "error")):
                break
        calls = _library_calls(sandbox, exercise.slot)
        if fault is None and calls <= before:
            right, fault = [], NEVER_RUN
        if fault is None:
            compared = compare(sandbox, exercise, hidden)
    except Gone as end:
        fault = fault or Fault(_kind(end.verdict), end.fault)
    judged = tuple(JudgedCase(*case.name, good) for case, good in zip(hidden, right, strict=False))
    if fault is NO_FUNCTION:
        fault = _cell_to_blame(cells) or fault
    if fault is not None:
        earned = exercise.earned(hidden, right) if right else 0
        return replace(refused(exercise, fault), earned=earned, library_calls=calls, cases=judged)
    words = f"all {len(right)} hidden cases are right", f"{len(right)} 个隐藏用例全部正确"
    told = (exercise.slot, exercise.title, exercise.title_zh, exercise.points, exercise.points, True, *words)
    return Result(*told, library_calls=calls, verdict="passed", cases=judged, compared=compared)


class _Clock:
    """How long the answers to the cases of one exercise take together; without the laps of races."""

    def __init__(self, exercise: Exercise) -> None:
        self.left = MOST_CASES * exercise.seconds

    def seconds(self, exercise: Exercise) -> float:
        return max(1.0, min(exercise.seconds, self.left))


def _ended(cells: Sequence[Any]) -> Fault | None:
    """Check whether the cell that fills the slot has ended the process."""
    cell = next((cell for cell in cells if cell.gone is not None), None)
    return None if cell is None else _blamed(cell, _kind(cell.gone.verdict))


def _kind(name: str) -> VerdictKind:
    return "timed_out" if name == "timed_out" else "out_of_memory" if name == "out_of_memory" else "error"


def _run_case(sandbox: Sandbox, exercise: Exercise, case: Case, clock: _Clock) -> Fault | None:
    """What is wrong with the answer to one case, or None."""
    began = time.monotonic()
    fault = _answer(sandbox, exercise, case, case.args, case.expected, clock.seconds(exercise))
    clock.left -= time.monotonic() - began
    if fault is None and isinstance(case, Race):
        try:
            if not race.won(case.ratios, case.times, lambda: _pair(sandbox, exercise, case)):
                fault = Fault("failed", _too_slow(case), case.name, case.hint)
        except _WrongLap as lap:
            fault = lap.fault
    return fault


class _WrongLap(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.words[0])
        self.fault = fault


def _pair(sandbox: Sandbox, exercise: Exercise, case: Race) -> float:
    """How many times as fast as the baseline the learner's function was, on new inputs."""
    lap = case.lap()
    try:
        with sandbox.standing_still():
            began = time.perf_counter()
            lap.baseline()
            baseline = time.perf_counter() - began
        clock: list[float] = []
        fault = _answer(sandbox, exercise, case, lap.args, lap.expected, exercise.seconds, clock)
    except Gone as end:
        fault = Fault(_kind(end.verdict), end.fault, case.name, case.hint)
    if fault is not None:
        raise _WrongLap(fault)
    return case.per_lap * baseline / clock[0]


def _too_slow(case: Race) -> Text:
    reached = float(np.median(case.ratios))
    return (
        f"expected {case.times:g} times the speed of the plain loop, got {reached:.1f} times",
        f"应达到普通循环的 {case.times:g} 倍速度，你的是 {reached:.1f} 倍",
    )


def _answer(
    sandbox: Sandbox,
    exercise: Exercise,
    case: Case,
    args: tuple[Any, ...],
    expected: Any,
    seconds: float,
    clock: list[float] | None = None,
) -> Fault | None:
    """What is wrong with the answer to one call, or None; `clock` gets the seconds from question to answer."""
    token = secrets.token_hex(8)  # a reply prepared in advance cannot contain it
    message = {"kind": "call", "id": token, "slot": exercise.slot, "driver": case.driver, "args": args}
    try:
        began = time.perf_counter()
        reply = sandbox.ask({**message, "seconds": seconds}, seconds)
        if clock is not None:
            clock.append(time.perf_counter() - began)
        if reply.get("id") != token:
            sandbox.end("the process answered out of turn", "进程的应答顺序不对")
    except Gone as end:
        return Fault(_kind(end.verdict), end.fault, case.name, case.hint)
    fault = _broke_off(reply, case, seconds)
    if fault is not None:
        return fault
    wanted = expected if isinstance(expected, Holds) else plain(expected)
    names = drivers.answer_names(exercise.slot, case.driver, case.args)
    found = difference(reply.get("value"), wanted, case.rtol, case.atol, case.dtype, names=names)
    return None if found is None else Fault("failed", found.told(), case.name, symptom.hint(found, case))


def _broke_off(reply: dict[str, Any], case: Case, limit: float) -> Fault | None:
    """The fault in a reply without a value. The reply is not trusted, but it can only lose points."""
    traceback = clean(str(reply.get("traceback") or "")[:MOST_TRACEBACK])
    if reply.get("missing") is True:
        return NO_FUNCTION
    if reply.get("unwritten") is True:
        return UNWRITTEN
    if reply.get("too_long") is True:
        seconds = f"{limit:.3g}"
        words = (f"no answer within {seconds} s", f"{seconds} 秒内没有应答")
        return Fault("timed_out", words, case.name, symptom.TOO_LONG, traceback)
    if reply.get("error") is None:
        return None
    error = clean(str(reply["error"])[:300])
    if reply.get("memory") is True:
        words = (f"your function needs too much memory: {error}", f"函数占用的内存过多：{error}")
        return Fault("out_of_memory", words, case.name, case.hint, traceback)
    words = (f"your function stopped with {error}", f"函数出错：{error}")
    return Fault("error", words, case.name, symptom.ERROR, f"{traceback}\n{error}" if traceback else error)


def _library_calls(sandbox: Sandbox, slot: str) -> int:
    reply = sandbox.ask({"kind": "counts"}, GRACE_SECONDS)
    counts = reply.get("library_calls")
    count = counts.get(slot, 0) if isinstance(counts, dict) else 0
    return count if isinstance(count, int) else 0


def _cell_to_blame(cells: Sequence[Any]) -> Fault | None:
    """For a slot that was never filled: the cell that should have filled it and stopped with an error."""
    cell = next((cell for cell in cells if cell.error is not None), None)
    return None if cell is None else _blamed(cell, "timed_out" if cell.too_long else "error")


def _blamed(cell: Any, kind: VerdictKind) -> Fault:
    words = (
        f"cell {cell.number} ({cell.first_line}) stopped: {cell.error}",
        f"第 {cell.number} 个单元格（{cell.first_line}）中断：{cell.error}",
    )
    return Fault(kind, words, traceback=f"{cell.traceback}\n{cell.error}".strip())
