"""Checks of a learner's own notebooks: one at a time; each can be cancelled; the last verdict is stored."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from .client import GradingError, Step
from .verdict import Verdict

T = TypeVar("T")
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
    """Checks one at a time; a second one waits its turn. The last verdict of each notebook is stored."""

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

    async def between(self, work: Awaitable[T]) -> T:
        """The result of `work`, which uses the grader while no check does."""
        async with self._turn:
            return await work

    async def cancel(self, lesson_id: str) -> None:
        """Stop a check that waits or runs; returns when its processes are gone."""
        job = self._jobs.get(lesson_id)
        if job is not None and job.task is not None and job.active:
            if not job.task.cancelling():  # a second click must not stop the clean-up after the first
                job.task.cancel()
            await asyncio.wait([job.task])
            if job.active:  # it was cancelled before its first line ran
                job.state = "cancelled"

    def forget(self, lesson_id: str) -> None:
        """The verdict on an archived copy does not apply to the fresh one."""
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
        except Exception as error:  # else the page would show it as running for ever
            words = "".join(traceback.format_exception(error))
            job.state, job.error = "failed", GradingError("crashed", words)
        finally:
            job.seconds = time.monotonic() - job.began
