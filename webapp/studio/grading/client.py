"""The client of the grader process (`service.py`): requests, time limits, and stopping it with all its children.

The grader decides; this file only starts it, asks it, and stops it together with every process that it started. The
desk (`desk.py`) has one of them, a class run (`gradebook/run.py`) has several.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from studio import processes

from .model_answer import ModelAnswer
from .verdict import Verdict, parse_report

SERVICE = (sys.executable, "-m", "studio.grading.service")
CELL_LIMIT_S = 60.0  # given to the grader: it stops a cell that runs longer, and names it
TOTAL_LIMIT_S = 300.0  # for the whole grader, in case it hangs itself
IDLE_S = 900.0  # idle time after which the grader is ended and its memory freed
MAX_REPORT_BYTES = 4_000_000
MAX_WORDS = 4_000


class GradingError(RuntimeError):
    """No verdict was reached; the message is for the log.

    `kind`: "broken", this notebook cannot be graded; "refused", none can be on this machine (the grader reports
    both, and `words` says why); "timeout"; "crashed", the grader ended; "unreadable", its answer is not a verdict.
    """

    def __init__(
        self,
        kind: Literal["broken", "refused", "timeout", "crashed", "unreadable"],
        message: str,
        message_zh: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self._words = {"en": message, "zh": message_zh or message}

    def words(self, lang: str) -> str:
        return self._words[lang]


@dataclass(frozen=True)
class Step:
    """The progress of a check: at a "cell" of the notebook or at an "exercise", its number, and how many there are."""

    kind: Literal["cell", "exercise"]
    number: int
    count: int


class Grader:
    """A grader in a process of its own: started by `warm_up` or the first question, ended after some idle time,
    replaced if a check hangs or crashes it. One check at a time."""

    def __init__(self, command: Sequence[str] = SERVICE) -> None:
        self._companion = processes.Companion(command, MAX_REPORT_BYTES, MAX_WORDS)
        self._idle: asyncio.Task[None] | None = None
        self._busy = False

    async def warm_up(self) -> Process:
        """The process, started now if it is not running."""
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
        autograded: Path | None = None,
    ) -> Verdict:
        """The verdict on `copy` against the instructor's version `source`. Cancelling this coroutine stops the
        grader. `autograded` is the path for the copy that nbgrader's formgrader shows, if any.

        Raises GradingError when the notebook cannot be graded, when the grader takes longer than `limit` seconds,
        crashes, or reports nonsense.
        """
        question = {"copy": str(copy), "instructor": str(source), "seconds": CELL_LIMIT_S}
        question |= {} if autograded is None else {"autograded": str(autograded)}
        return _verdict((await self._asked(question, limit, progress)).get("report"))

    async def model_answer(self, slot: str) -> ModelAnswer:
        """The model answer of an exercise. Raises `GradingError`."""
        told = await self._asked({"slot": slot}, TOTAL_LIMIT_S, lambda step: None)
        try:
            return ModelAnswer(**told["answer"])
        except (KeyError, TypeError) as error:
            raise GradingError("unreadable", f"the grader's model answer: {error!r}") from error

    async def _asked(
        self, question: dict[str, Any], limit: float, progress: Callable[[Step], None]
    ) -> dict[str, Any]:
        self._busy = True
        try:
            process = await self.warm_up()
            async with asyncio.timeout(limit):
                return await self._ask(process, question, progress)
        except TimeoutError as error:
            await self.close()
            raise GradingError("timeout", f"no verdict after {limit:g} s") from error
        except GradingError as error:
            if error.kind not in ("broken", "refused"):
                await self.close()
            raise
        except BaseException:
            await self.close()
            raise
        finally:
            self._busy = False

    async def _ask(
        self, process: Process, question: dict[str, Any], progress: Callable[[Step], None]
    ) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
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
            elif "broken" in reply:
                raise GradingError("broken", *(str(words)[:2000] for words in reply["broken"]))
            elif "refused" in reply:
                raise GradingError("refused", *(str(words)[:2000] for words in reply["refused"]))
            else:
                return reply

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
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise GradingError("unreadable", f"the grader said {line[:500]!r}")
    return reply


def _verdict(report: Any) -> Verdict:
    try:
        return parse_report(report)
    except (ValueError, KeyError, TypeError) as error:
        raise GradingError("unreadable", f"the grader's report: {error!r} in {report!r:.500}") from error
