"""One interface for checking a notebook: on this machine, or by the grading service of a class."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from studio.i18n import LANGUAGES

from .bubble import available, refusal, trusted
from .client import Grader, Step
from .model_answer import ModelAnswer
from .verdict import Verdict


class Assignment(NamedTuple):
    """What a notebook is checked as: the name of the assignment, and of the notebook in it, without its suffix."""

    name: str
    notebook: str


Progress = Callable[[Step], None]


class Checker(Protocol):
    """Checks notebooks, one at a time."""

    async def ready(self) -> dict[str, str] | None:
        """Prepare for the first check. Returns why nothing can be checked, by language; None if it can."""

    async def check(self, notebook: bytes, assignment: Assignment, progress: Progress) -> Verdict:
        """The verdict on the bytes of a notebook. Cancelling stops the check. Raises `GradingError`."""

    async def model_answer(self, assignment: Assignment, slot: str) -> ModelAnswer:
        """The model answer of an exercise. Raises `GradingError`, also if it may not be opened now."""


class LocalChecker:
    """Checks with the instructor's versions and their hidden checks in `folder`, which this account can read."""

    def __init__(self, folder: Path, grader: Grader | None = None) -> None:
        self.folder = folder
        self.grader = grader or Grader()

    async def ready(self) -> dict[str, str] | None:
        missing = await asyncio.to_thread(available)
        if missing is None or trusted():
            await self.grader.warm_up()  # so that the first check does not wait for imports
            return None
        return dict(zip(LANGUAGES, refusal(missing), strict=True))

    async def check(self, notebook: bytes, assignment: Assignment, progress: Progress) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="sampan-check-") as folder:
            copy = Path(folder) / f"{assignment.notebook}.ipynb"
            await asyncio.to_thread(copy.write_bytes, notebook)
            instructor = self.folder / copy.name
            return await self.grader.grade(copy, instructor, progress=progress)

    async def model_answer(self, assignment: Assignment, slot: str) -> ModelAnswer:
        return await self.grader.model_answer(slot)
