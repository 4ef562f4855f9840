"""Runs `studio.grading.grader` beside the server: its own process, a time limit, stopped whole.

The grader decides; this file only starts it, waits, and stops it together with every process it started.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from studio import processes

CELL_LIMIT_S = 60.0  # given to the grader: it stops a cell that runs longer, and names it
TOTAL_LIMIT_S = 300.0  # for the grader as a whole, should it hang itself
REFUSED = 2  # the grader's exit status when it cannot grade; its last line on stderr says why
MAX_REPORT_BYTES = 4_000_000
MAX_WORDS = 10_000
PROGRESS = re.compile(r"progress (cell|exercise) (\d{1,6}) (\d{1,6})")


class GradingError(RuntimeError):
    """No verdict was reached; the message is for the log, `kind` names the sentence for the learner."""

    def __init__(self, kind: Literal["timeout", "refused", "crashed", "unreadable"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


VerdictKind = Literal[
    "passed", "failed", "not_attempted", "timed_out", "out_of_memory", "broke_rule", "error"
]


@dataclass(frozen=True)
class Exercise:
    """One exercise's verdict. The message is the grader's; `traceback` holds the learner's own lines only."""

    id: str
    titles: dict[str, str]
    points: float
    earned: float
    passed: bool
    messages: dict[str, str]
    verdict: VerdictKind
    cases: dict[str, str] = field(default_factory=dict)  # the name of the case that failed, by language
    hints: dict[str, str] = field(default_factory=dict)
    traceback: str = ""

    def title(self, lang: str) -> str:
        return self.titles[lang]

    def message(self, lang: str) -> str:
        return self.messages[lang]

    def case(self, lang: str) -> str:
        return self.cases.get(lang, "")

    def hint(self, lang: str) -> str:
        return self.hints.get(lang, "")


@dataclass(frozen=True)
class StoppedCell:
    """A cell that did not end within the limit; `number` counts all cells from 1, `line` is its first line."""

    number: int
    line: str


@dataclass(frozen=True)
class Verdict:
    exercises: tuple[Exercise, ...]
    stopped: tuple[StoppedCell, ...] = ()
    sandboxed: bool = True  # False: graded with --trust-learners where there is no sandbox

    @property
    def passed(self) -> int:
        return sum(exercise.passed for exercise in self.exercises)

    @property
    def complete(self) -> bool:
        return self.passed == len(self.exercises)

    @property
    def earned(self) -> float:
        return sum(exercise.earned for exercise in self.exercises)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


def parse_report(text: str) -> Verdict:
    """The verdict in the grader's JSON. GradingError "unreadable" says what is wrong with it."""
    try:
        report = json.loads(text)
        return Verdict(
            exercises=tuple(_exercise(entry) for entry in report["exercises"]),
            stopped=tuple(StoppedCell(int(c["number"]), str(c["first_line"])) for c in report["stopped"]),
            sandboxed=bool(report.get("sandboxed", True)),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise GradingError("unreadable", f"the grader's report: {error!r} in {text[:500]!r}") from error


def _exercise(entry: dict[str, Any]) -> Exercise:
    if not isinstance(entry["passed"], bool):
        raise TypeError(f"passed must be true or false, got {entry['passed']!r}")
    kind = str(entry.get("verdict") or ("passed" if entry["passed"] else "failed"))
    if kind not in get_args(VerdictKind):
        raise ValueError(f"verdict must be one of {', '.join(get_args(VerdictKind))}, got {kind!r}")
    return Exercise(
        id=str(entry["id"]),
        titles={"en": str(entry["title"]), "zh": str(entry["title_zh"])},
        points=float(entry["points"]),
        earned=float(entry["earned"]),
        passed=entry["passed"],
        messages={"en": str(entry["message"]), "zh": str(entry["message_zh"])},
        verdict=cast(VerdictKind, kind),
        cases={"en": str(entry.get("case", "")), "zh": str(entry.get("case_zh", ""))},
        hints={"en": str(entry.get("hint", "")), "zh": str(entry.get("hint_zh", ""))},
        traceback=str(entry.get("traceback", "")),
    )


def grader_command(copy: Path, source: Path, cell_limit: float = CELL_LIMIT_S) -> list[str]:
    """The command that grades `copy` against the instructor's version `source`."""
    return [
        *(sys.executable, "-m", "studio.grading.grader"),
        *(str(copy), str(source), "--json", "--time-limit", f"{cell_limit:g}"),
    ]


@dataclass(frozen=True)
class Step:
    """Where a check is: at a "cell" of the notebook or at an "exercise", its number, and how many there are."""

    kind: Literal["cell", "exercise"]
    number: int
    count: int


async def grade(
    command: Sequence[str], limit: float = TOTAL_LIMIT_S, progress: Callable[[Step], None] = lambda step: None
) -> Verdict:
    """Run the grader and read its report. Cancelling this coroutine stops the grader.

    Raises GradingError when it takes longer than `limit` seconds, crashes, or reports nonsense.
    """
    process = await processes.start(command)
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(limit):
            report, errors = await asyncio.gather(
                _read(process.stdout, MAX_REPORT_BYTES), _follow(process.stderr, progress)
            )
            await process.wait()
    except TimeoutError as error:
        raise GradingError("timeout", f"no verdict after {limit:g} s") from error
    finally:
        await processes.stop(process)
    if process.returncode == REFUSED:
        raise GradingError("refused", errors[-2000:].strip())
    if len(report) > MAX_REPORT_BYTES:
        raise GradingError("unreadable", f"the grader wrote more than {MAX_REPORT_BYTES} bytes")
    if not report.strip():
        raise GradingError("crashed", f"exit status {process.returncode}: {errors[-4000:]}")
    return parse_report(report)


async def _read(stream: asyncio.StreamReader, most: int) -> str:
    """All that comes, of which no more than `most` + 1 bytes are kept: a report that is too long shows as such."""
    kept = bytearray()
    while part := await stream.read(65536):
        kept += part[: most + 1 - len(kept)]
    return kept.decode(errors="replace")


async def _follow(stream: asyncio.StreamReader, progress: Callable[[Step], None]) -> str:
    """The last words on stderr; lines that tell where the grader is go to `progress` instead."""
    kept, rest = "", ""
    while part := await stream.read(65536):
        *lines, rest = (rest + part.decode(errors="replace")).split("\n")
        for line in lines:
            found = PROGRESS.fullmatch(line)
            if found:
                progress(Step("cell" if found[1] == "cell" else "exercise", int(found[2]), int(found[3])))
            else:
                kept = f"{kept}{line}\n"[-MAX_WORDS:]
        rest = rest[-MAX_WORDS:]
    return kept + rest


State = Literal["waiting", "running", "done", "failed", "cancelled"]


class Job:
    """One check, from the click to the verdict."""

    def __init__(self) -> None:
        self.state: State = "waiting"
        self.verdict: Verdict | None = None
        self.error: GradingError | None = None
        self.step: Step | None = None
        self.began = time.monotonic()
        self.seconds = 0.0
        self.task: asyncio.Task[None] | None = None

    def moved(self, step: Step) -> None:
        self.step = step

    @property
    def active(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def elapsed(self) -> int:
        return int(time.monotonic() - self.began if self.active else self.seconds)


class CheckDesk:
    """Checks one at a time; a second one waits its turn. The last verdict of each notebook is remembered."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._jobs: dict[str, Job] = {}

    def job(self, lesson_id: str) -> Job | None:
        return self._jobs.get(lesson_id)

    def start(self, lesson_id: str, work: Callable[[], Awaitable[Verdict]]) -> Job:
        """Begin a check, or return the one that is already under way for this notebook."""
        current = self._jobs.get(lesson_id)
        if current is not None and current.active:
            return current
        job = self._jobs[lesson_id] = Job()
        job.task = asyncio.create_task(self._run(job, work))
        return job

    async def cancel(self, lesson_id: str) -> None:
        """Stop a check that waits or runs; returns when its processes are gone."""
        job = self._jobs.get(lesson_id)
        if job is not None and job.task is not None and job.active:
            job.task.cancel()
            await asyncio.wait([job.task])

    def forget(self, lesson_id: str) -> None:
        """A verdict on a copy that was put aside says nothing about the fresh one."""
        job = self._jobs.get(lesson_id)
        if job is not None and not job.active:
            del self._jobs[lesson_id]

    async def _run(self, job: Job, work: Callable[[], Awaitable[Verdict]]) -> None:
        try:
            async with self._turn:
                job.state, job.began = "running", time.monotonic()
                job.verdict = await work()
                job.state = "done"
        except asyncio.CancelledError:
            job.state = "cancelled"
        except GradingError as error:
            job.state, job.error = "failed", error
        except OSError as error:
            job.state, job.error = "failed", GradingError("crashed", str(error))
        finally:
            job.seconds = time.monotonic() - job.began
