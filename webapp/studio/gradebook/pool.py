"""A grading process seen from outside: asked, timed, and replaced when a submission takes it down."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from studio import processes
from studio.grading.runner import CELL_LIMIT_S, MAX_REPORT_BYTES, TOTAL_LIMIT_S

WORDS = 4000  # of its last words that are kept


class Broken(Exception):
    """This submission cannot be graded. `kind` names the sentence for people (`grading.trouble.<kind>`)."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Unable(RuntimeError):
    """Nothing can be graded here; `sentence` and `sentence_zh` say why."""

    def __init__(self, sentence: str, sentence_zh: str) -> None:
        super().__init__(sentence)
        self.sentence, self.sentence_zh = sentence, sentence_zh


class Worker:
    """One process at a time that grades (`worker.py`). It is started by the first question."""

    def __init__(self, trust: bool) -> None:
        command = [sys.executable, "-m", "studio.gradebook.worker", *(["--trust-learners"] if trust else [])]
        self._companion = processes.Companion(command, MAX_REPORT_BYTES, WORDS)

    async def pid(self) -> int:
        """The number of the process, started now if there is none."""
        return (await self._companion.running()).pid

    async def grade(
        self, copy: Path, instructor: Path, autograded: Path, limit: float = TOTAL_LIMIT_S
    ) -> dict[str, Any]:
        """The grader's report. Raises `Broken` for this submission's own fault, `Unable` when nothing can be graded."""
        process = await self._companion.running()
        assert process.stdin is not None and process.stdout is not None
        question = {
            "copy": str(copy),
            "instructor": str(instructor),
            "autograded": str(autograded),
            "seconds": CELL_LIMIT_S,
        }
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            async with asyncio.timeout(limit):
                line = await process.stdout.readline()
        except TimeoutError as error:
            await self.close()
            raise Broken("timeout", f"no verdict after {limit:g} s") from error
        except (
            ValueError,
            OSError,
        ) as error:  # a report beyond all measure; a process that went while we wrote
            await self.close()
            raise Broken("crashed", str(error)) from error
        if not line.endswith(b"\n"):
            await self.close()
            raise Broken("crashed", self._companion.words)
        reply = json.loads(line)
        if "broken" in reply:
            raise Broken("broken", str(reply["broken"])[:WORDS])
        if "refused" in reply:
            raise Unable(*map(str, reply["refused"]))
        report: dict[str, Any] = reply["report"]
        return report

    async def close(self) -> None:
        """Ends the process and everything that it started."""
        await self._companion.end()
