"""What the grading account does for a class: checks while a learner works, and submissions with their verdicts.

A submission is on the disk before its receipt is given. Grading takes it from there (`gradebook/run.py`), so one that
arrived before a crash is graded after the next start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from studio.compute.sql import SqlStore
from studio.gradebook import book, feedback, openings, outcomes, received, run, terms
from studio.gradebook.classroom import COURSE, Classroom, Submission
from studio.gradebook.submissions import mark, read
from studio.grading.checker import Assignment, LocalChecker
from studio.grading.client import Grader, GradingError
from studio.grading.release import read as read_notebook
from studio.grading.release import slots_of
from studio.grading.verdict import Verdict
from studio.i18n import LANGUAGES, t
from studio.model_answers import Opened

from . import receipts, roster
from .board import Board
from .folder import ClassFolder
from .receipts import Receipt

AGAIN_S = 1.0  # after a run that another process had begun
log = logging.getLogger(__name__)


class AlreadyChecking(RuntimeError):
    """One check at a time for each learner."""


class ServiceDesk:
    """`workers` checks run at a time; more wait in the order of their arrival. Submissions are graded by all but one of
    the graders, so that a check need not wait for a class that hands in."""

    def __init__(self, folder: ClassFolder, store: SqlStore, workers: int) -> None:
        self.folder = folder
        folder.classroom.mkdir(parents=True, exist_ok=True)
        self.classroom = Classroom(folder.classroom, folder.course)
        self.board = Board(self.classroom)
        self.store = store
        self.key = receipts.key(folder.receipt_key)
        self.workers = workers
        # The one that was used last is lent first: where one is enough, the others are not started.
        self._graders: asyncio.LifoQueue[Grader] = asyncio.LifoQueue()
        for _ in range(workers):
            self._graders.put_nowait(Grader())
        self._checking: set[str] = set()
        self._arrived = asyncio.Event()
        self._arrived.set()  # what had arrived before this start

    # ---- checks

    async def check(self, learner: str, content: bytes, assignment: Assignment) -> Verdict:
        """Raises `AlreadyChecking`, and `GradingError` as every checker."""
        if learner in self._checking:
            raise AlreadyChecking(f"another check of {learner} is under way")
        self._checking.add(learner)
        try:
            instructor = self.classroom.instructor(*assignment)  # the version that was handed out
            folder = self.folder.course if instructor is None else instructor.parent
            async with self.lend() as grader:
                verdict = await LocalChecker(folder, grader).check(content, assignment, lambda step: None)
            await asyncio.to_thread(openings.of(self.classroom, learner).checked, assignment, verdict)
            return verdict
        finally:
            self._checking.discard(learner)

    async def model_answer(self, learner: str, assignment: Assignment, slot: str) -> Opened:
        """Opens a model answer for a learner. Raises `GradingError` that says why the learner may not, `LookupError` if the
        notebook has no such exercise."""
        await asyncio.to_thread(self._may_open, learner, assignment, slot)
        async with self.lend() as grader:
            answer = await grader.model_answer(slot)
        opened = await asyncio.to_thread(openings.of(self.classroom, learner).open, assignment, slot, answer)
        log.info("%s opened the answer to %s in %s/%s", learner, slot, *assignment)
        return opened

    def _may_open(self, learner: str, assignment: Assignment, slot: str) -> None:
        instructor = self.classroom.instructor(*assignment)
        if instructor is None or not _has(instructor, slot):
            raise LookupError(f"no exercise {slot!r} in {'/'.join(assignment)}")
        record = openings.of(self.classroom, learner).of(assignment)
        if slot in record.opened:
            return
        rule = openings.rule(terms.of(self.classroom, assignment.name))
        if not rule.allows(record.failed.get(slot, 0), time.time()):
            raise _refused(rule.when, failures=rule.failures)
        submission = Submission(learner, *assignment)
        if submission in self.classroom.submissions():
            # What it earns is kept, so it has to be known.
            with book.opened(self.classroom) as gradebook:
                if not self._told(submission, outcomes.load(gradebook, submission))["graded"]:
                    raise _refused("waits")

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Grader]:
        """One of the graders, after waiting for it; checks and the grading of submissions share them."""
        grader = await self._graders.get()
        try:
            yield grader
        finally:
            self._graders.put_nowait(grader)

    def knows(self, assignment: Assignment) -> bool:
        """Whether a notebook can be checked and handed in."""
        if assignment.name == COURSE and (self.folder.course / f"{assignment.notebook}.ipynb").is_file():
            return True
        return assignment.notebook in self.classroom.assignments().get(assignment.name, ())

    async def warm_up(self) -> None:
        """Start one grader, so that the first check does not wait for its imports."""
        async with self.lend() as grader:
            await grader.warm_up()

    # ---- submissions

    def hand_in(self, learner: str, content: bytes, assignment: Assignment, arrived: float) -> Receipt:
        """Stores a submission that `arrived` at that time. Raises `NotTaken` if the terms do not allow it. Blocks; `wake`
        then starts its grading."""
        made = received.take(self.classroom, Submission(learner, *assignment), content, arrived)
        receipt = receipts.issue(self.key, learner, *assignment, arrived, content)
        log.info("%s handed in %s/%s (%d): %s", learner, *assignment, made.number, receipt.sha256[:12])
        return receipt

    def wake(self) -> None:
        self._arrived.set()

    def submissions_of(self, learner: str) -> list[dict[str, Any]]:
        """A learner's submissions with their verdicts: `graded` is false while the present content waits. Blocks."""
        found = [submission for submission in self.classroom.submissions() if submission.student == learner]
        with book.opened(self.classroom) as gradebook:
            return [self._told(submission, outcomes.load(gradebook, submission)) for submission in found]

    def feedback_of(self, learner: str) -> list[dict[str, Any]]:
        """What teachers have returned to a learner. Blocks."""
        with book.opened(self.classroom) as gradebook:
            return [one.as_json() for one in feedback.of_learner(gradebook, learner)]

    def _told(self, submission: Submission, outcome: outcomes.Outcome | None) -> dict[str, Any]:
        path = self.classroom.path(submission)
        content = read(self.classroom.root, path)
        graded = outcome is not None and outcome.mark == mark(content)
        submitted, _ = run.handed_in(self.classroom, submission, mark(content))
        return {
            "assignment": submission.assignment,
            "notebook": submission.notebook,
            "received": submitted,
            "sha256": mark(content).partition(":")[2],
            "graded": graded,
            "attempt": outcome.attempt if outcome else 0,
            "trouble": outcome.trouble if outcome and graded else "",
            "verdict": asdict(_verdict(outcome)) if outcome and graded and not outcome.trouble else None,
        }

    async def grade_for_ever(self, owner: str) -> None:
        """Grades what has arrived, run after run."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                ended = await run.grade_class(
                    self.classroom, self.store, owner, workers=self.workers - 1, lend=self.lend
                )
            except run.Busy:  # a teacher has begun a run; it may have passed the new one already
                await asyncio.sleep(AGAIN_S)
                self._arrived.set()
                continue
            except Exception:  # the next submission tries again
                log.exception("grading %s failed", self.classroom.name)
                continue
            if ended.phase == "cancelled":
                raise asyncio.CancelledError  # the run itself ends without an error
            if ended.phase == "stopped":
                log.error("nothing can be graded: %s", ended.sentence)
            elif ended.total:
                log.info("graded %s of %s submissions", ended.done, ended.total)

    def name_people(self, people: list[roster.Person]) -> None:
        """Real names and addresses for the gradebook. Blocks."""
        with book.writing(self.classroom), book.opened(self.classroom) as gradebook:
            for person in people:
                if person.role == "learner":
                    told = {
                        "first_name": person.first_name,
                        "last_name": person.last_name,
                        "email": person.email,
                    }
                    gradebook.update_or_create_student(person.name, **told)

    async def close(self) -> None:
        while True:
            with suppress(asyncio.QueueEmpty):
                await self._graders.get_nowait().close()
                continue
            return


def _has(instructor: Path, slot: str) -> bool:
    return any(slot in slots_of(cell.source) for cell in read_notebook(instructor).cells)


def _refused(why: str, **values: int) -> GradingError:
    return GradingError("refused", *(t(f"answers.refused.{why}", lang, **values) for lang in LANGUAGES))


def _verdict(outcome: outcomes.Outcome) -> Verdict:
    return Verdict(outcome.exercises, sandboxed=outcome.sandboxed)


def people_of(folder: ClassFolder) -> list[roster.Person]:
    """The roster as the grading account may read it."""
    return roster.load(Path(folder.grading / "roster.json"))
