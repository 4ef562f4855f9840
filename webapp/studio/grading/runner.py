"""Runs the grader beside the server: its own process, a time limit, stopped whole.

The grader decides; this file only starts it, waits, and stops it together with every process it started.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from studio import processes

CELL_LIMIT_S = 60.0  # given to the grader: it stops a cell that runs longer, and names it
TOTAL_LIMIT_S = 300.0  # for the grader as a whole, should it hang itself
IDLE_S = 900.0  # without a look at the courses, before the grader is ended and its memory given back
MAX_REPORT_BYTES = 4_000_000
MAX_WORDS = 10_000


class GradingError(RuntimeError):
    """No verdict was reached; the message is for the log, `kind` names the sentence for the learner."""

    def __init__(
        self, kind: Literal["timeout", "refused", "crashed", "unreadable"], message: str, message_zh: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self._words = {"en": message, "zh": message_zh or message}

    def words(self, lang: str) -> str:
        return self._words[lang]


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


def parse_report(report: Any) -> Verdict:
    """The verdict in the grader's report. GradingError "unreadable" says what is wrong with it."""
    try:
        return Verdict(
            exercises=tuple(_exercise(entry) for entry in report["exercises"]),
            stopped=tuple(StoppedCell(int(c["number"]), str(c["first_line"])) for c in report["stopped"]),
            sandboxed=bool(report.get("sandboxed", True)),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise GradingError("unreadable", f"the grader's report: {error!r} in {report!r:.500}") from error


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


@dataclass(frozen=True)
class Step:
    """Where a check is: at a "cell" of the notebook or at an "exercise", its number, and how many there are."""

    kind: Literal["cell", "exercise"]
    number: int
    count: int


class Grader:
    """The grader beside the server (`service.py`): started when somebody looks at the courses, ended when nobody has for
    a while, replaced when a check hangs or takes it down. One check at a time."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-m", "studio.grading.service")) -> None:
        self._companion = processes.Companion(command, MAX_REPORT_BYTES, MAX_WORDS)
        self._idle: asyncio.Task[None] | None = None
        self._busy = False

    async def warm_up(self) -> Process:
        """The process, started now if there is none."""
        process = await self._companion.running()
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.create_task(self._end_when_idle())
        return process

    async def grade(
        self,
        copy: Path,
        source: Path,
        limit: float = TOTAL_LIMIT_S,
        progress: Callable[[Step], None] = lambda step: None,
    ) -> Verdict:
        """The verdict on `copy` against the instructor's version `source`. Cancelling this coroutine stops the grader.

        Raises GradingError when it takes longer than `limit` seconds, crashes, or reports nonsense.
        """
        self._busy = True
        try:
            process = await self.warm_up()
            async with asyncio.timeout(limit):
                return await self._ask(process, copy, source, progress)
        except TimeoutError as error:
            await self.close()
            raise GradingError("timeout", f"no verdict after {limit:g} s") from error
        except GradingError as error:
            if error.kind != "refused":
                await self.close()
            raise
        except BaseException:
            await self.close()
            raise
        finally:
            self._busy = False

    async def _ask(
        self, process: Process, copy: Path, source: Path, progress: Callable[[Step], None]
    ) -> Verdict:
        assert process.stdin is not None and process.stdout is not None
        question = {"copy": str(copy), "instructor": str(source), "seconds": CELL_LIMIT_S}
        process.stdin.write(json.dumps(question).encode() + b"\n")
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError as error:
                raise GradingError("unreadable", f"more than {MAX_REPORT_BYTES} bytes in a line") from error
            if not line.endswith(b"\n"):
                status = await process.wait()
                words = await self._companion.last_words()
                raise GradingError("crashed", f"exit status {status}: {words}")
            reply = _parsed(line)
            if "progress" in reply:
                progress(Step(*reply["progress"]))
            elif "refused" in reply:
                raise GradingError("refused", *(str(words)[:2000] for words in reply["refused"]))
            else:
                return parse_report(reply.get("report"))

    async def _end_when_idle(self) -> None:
        await asyncio.sleep(IDLE_S)
        while self._busy:
            await asyncio.sleep(IDLE_S)
        await self._companion.end()

    async def close(self) -> None:
        """Ends the process and everything that it started."""
        if self._idle is not None:
            self._idle.cancel()
        await self._companion.end()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except ValueError as error:
        raise GradingError("unreadable", f"the grader said {line[:500]!r}") from error
    if not isinstance(reply, dict):
        raise GradingError("unreadable", f"the grader said {line[:500]!r}")
    return reply


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
        self.grader = Grader()
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
            if not job.task.cancelling():  # a second click must not break off the cleaning up after the first
                job.task.cancel()
            await asyncio.wait([job.task])
            if job.active:  # it was cancelled before its first line, which so never ran
                job.state = "cancelled"

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
        except Exception as error:  # else the page would show for ever that it runs
            words = "".join(traceback.format_exception(error))
            job.state, job.error = "failed", GradingError("crashed", words)
        finally:
            job.seconds = time.monotonic() - job.began
