"""Grading a class: every submission once, several at a time within leases; a killed run can be continued.

The state of a run is in CLASS/.sampan/run.json, for readers in any process; a lock that ends with its process says
whether the run is alive.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC
from typing import Any, Literal, TypeVar

import dateutil.parser
import psutil
from filelock import FileLock, Timeout

from studio.compute.lease import Ask, Lease, Refused, Store
from studio.compute.machine import holder
from studio.grading import release
from studio.grading.client import SERVICE, Grader, GradingError
from studio.runtime import write_atomically

from . import book, history, lateness, openings, outcomes, received, terms
from .classroom import Classroom, Submission
from .outcomes import Outcome
from .submissions import Unreadable, mark, read

Scope = Literal["new", "failed", "all"]
Phase = Literal["running", "done", "cancelled", "stopped"]
LEASE_S = 900.0  # wall time of one submission's lease; the grader's `TOTAL_LIMIT_S` is shorter
ASK_AGAIN_S = 1.0
T = TypeVar("T")
Lend = Callable[[], AbstractAsyncContextManager[Grader]]


def _starts_one(trust: bool) -> Lend:
    @asynccontextmanager
    async def lend() -> AsyncIterator[Grader]:
        grader = Grader((*SERVICE, "--trust-learners") if trust else SERVICE)
        try:
            yield grader
        finally:
            await grader.close()

    return lend


class Busy(RuntimeError):
    """Another run is under way in this class."""


@dataclass
class Run:
    """The state of a run. Times in seconds since 1970. `left` estimates the seconds to go, None: not known yet.

    `phase` "stopped" means that nothing can be graded on this machine now; `sentence` and `sentence_zh` say why.
    """

    pid: int
    started: float  # of the process, to distinguish it from a later one
    scope: Scope
    only: str = ""  # STUDENT/ASSIGNMENT/NOTEBOOK, each of them or * for all; "" for the class
    exercise: str = ""  # the slot of the only exercise whose verdict is replaced, or "" for all of them
    began: float = 0.0
    # submissions with verdicts older than this are graded again, if the scope includes them
    since: float = 0.0
    total: int = 0
    done: int = 0
    troubled: int = 0
    left: float | None = None
    waiting: bool = False  # for a free place on the machine
    now: list[str] = field(default_factory=list)
    unchecked: list[str] = field(
        default_factory=list
    )  # assignment/notebook: handed in, without hidden checks
    phase: Phase = "running"
    sentence: str = ""
    sentence_zh: str = ""

    @property
    def lives(self) -> bool:
        if self.phase != "running":
            return False
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < 2.0
        except psutil.NoSuchProcess:
            return False


def state(classroom: Classroom) -> Run | None:
    """The last run of a class; `lives` says whether it is still under way."""
    try:
        return Run(**json.loads((classroom.private / "run.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def cancel(classroom: Classroom) -> None:
    """Asks a run that is under way to stop; what it has graded stays."""
    run = state(classroom)
    if run is not None and run.lives:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(run.pid, signal.SIGTERM)


async def grade_class(
    classroom: Classroom,
    store: Store,
    owner: str,
    scope: Scope = "new",
    only: str = "",
    workers: int | None = None,
    trust: bool = False,
    report: Callable[[Run], None] = lambda run: None,
    lend: Lend | None = None,
    exercise: str = "",
) -> Run:
    """Grades the submissions of `scope` and returns the final state. Cancelling stops it; what is graded stays
    graded.

    "new" takes what has no verdict yet or has changed since, "failed" also what did not pass in full, "all" everything;
    `only` names a submission, with * for any learner, assignment or notebook; with `exercise`, a slot, the verdicts on the
    other exercises stay. A run that was killed is continued with its own scope. `lend` gives a grader that
    already runs to each worker; without it each starts one.
    Raises `Busy` when one is under way, `ValueError` when the class cannot be graded.
    """
    lock = FileLock(classroom.private / "run.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Busy(f"the class {classroom.name} is already being graded") from None
    with lock:
        me = psutil.Process()
        run = Run(me.pid, me.create_time(), scope, only, exercise, began=time.time(), since=time.time())
        killed = state(classroom)
        if killed is not None and killed.phase == "running" and scope == "new" and not only:
            run.scope, run.only, run.exercise, run.since = (
                killed.scope,
                killed.only,
                killed.exercise,
                killed.since,
            )
        return await _Grading(classroom, store, owner, run, lend or _starts_one(trust), report).go(
            workers or len(os.sched_getaffinity(0))
        )


class _Grading:
    def __init__(
        self,
        classroom: Classroom,
        store: Store,
        owner: str,
        run: Run,
        lend: Lend,
        report: Callable[[Run], None],
    ) -> None:
        self.classroom, self.store, self.owner, self.run = classroom, store, owner, run
        self.lend, self.report = lend, report
        self.work = classroom.private / "work"
        self.clerk = ThreadPoolExecutor(1, "gradebook")  # SQLAlchemy's session belongs to one thread
        self.opened = ExitStack()

    async def go(self, workers: int) -> Run:
        shutil.rmtree(self.work, ignore_errors=True)  # of a run that was killed
        self.work.mkdir()
        self.tell()
        try:
            await self._clerk(self._open)
            todo = await self._clerk(self._pending)
            self.run.total = len(todo)
            self.tell()
            await self._side_by_side(iter(todo), min(workers, len(todo)))
            self.run.phase = "done"
        except asyncio.CancelledError:
            self.run.phase = "cancelled"
        except Refused as refusal:
            self._stop(refusal.sentence, refusal.sentence_zh)
        # a problem of all submissions; that of a single one is in its outcome
        except GradingError as refusal:
            self._stop(refusal.words("en"), refusal.words("zh"))
        except Exception as error:
            self._stop(repr(error), repr(error))
            raise
        finally:
            self.run.now, self.run.left, self.run.waiting = [], None, False
            self.tell()
            await self._clerk(self.opened.close)
            self.clerk.shutdown()
            shutil.rmtree(self.work, ignore_errors=True)
        return self.run

    def _stop(self, sentence: str, sentence_zh: str) -> None:
        self.run.phase, self.run.sentence, self.run.sentence_zh = "stopped", sentence, sentence_zh

    async def _clerk(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.clerk, work, *arguments)

    async def _side_by_side(self, todo: Iterator[Submission], workers: int) -> None:
        tasks = [asyncio.create_task(self._one_after_the_other(todo)) for _ in range(workers)]
        try:
            await asyncio.gather(*tasks)  # the first that raises ends the run
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    # ---- in the one thread for files and gradebook

    def _open(self) -> None:
        """Opens the gradebook, and enters the cells of notebooks that it does not know yet."""
        self.gradebook = self.opened.enter_context(book.opened(self.classroom))
        with book.writing(self.classroom):
            self._know()

    def _know(self) -> None:
        for assignment, notebooks in self.classroom.assignments().items():
            for notebook in notebooks:
                instructor = self.classroom.instructor(assignment, notebook)
                if instructor is not None and not book.knows(self.gradebook, assignment, notebook):
                    book.know(self.classroom, assignment, notebook, release.release(release.read(instructor)))
        self.gradebook.db.expire_all()
        lateness.adopt(self.gradebook, self.classroom)
        self._enter_by_hand()

    def _enter_by_hand(self) -> None:
        """What nothing is graded in by us waits in the gradebook for the teacher's marks."""
        by_hand, known = set(self.classroom.unchecked()), terms.load(self.classroom)
        found = []
        for one in self.classroom.submissions():
            place = (one.assignment, one.notebook)
            if place in by_hand and book.knows(self.gradebook, *place):
                identity, _, trouble = self._content(one)
                if not trouble:
                    found.append((handed_in(self.classroom, one, identity)[0], one))
        for when, one in sorted(found):  # in their order: nbgrader keeps one time for an assignment
            book.enter_by_hand(self.gradebook, one, when, known.get(one.assignment))

    def _pending(self) -> list[Submission]:
        """The submissions to grade. Notebooks without hidden checks are not graded; the run names them."""
        unchecked = self.classroom.unchecked()
        self.run.unchecked = ["/".join(place) for place in unchecked]
        graded = {outcome.submission: outcome for outcome in outcomes.all_of(self.gradebook)}
        found = [s for s in self.classroom.submissions() if (s.assignment, s.notebook) not in unchecked]
        return [submission for submission in found if self._wanted(submission, graded.get(submission))]

    def _wanted(self, submission: Submission, before: Outcome | None) -> bool:
        if self.run.only and not _named(submission, self.run.only):
            return False
        if before is None or before.mark != self._content(submission)[0]:
            return True
        asked = self.run.scope == "all" or (self.run.scope == "failed" and before.failed)
        return asked and before.graded < self.run.since

    def _content(self, submission: Submission) -> tuple[str, bytes, str]:
        """(mark, bytes, trouble)"""
        try:
            content = read(self.classroom.root, self.classroom.path(submission))
        except Unreadable as trouble:
            return trouble.mark, b"", trouble.kind
        except OSError as error:
            return f"error:{error.errno}", b"", "no_file"
        return mark(content), content, ""

    def _finish(self, outcome: Outcome, content: bytes) -> None:
        with book.writing(self.classroom):
            self.gradebook.db.expire_all()  # another may have written since
            outcome = openings.limited(self.classroom, outcome)
            before = outcomes.load(self.gradebook, outcome.submission)
            if before is not None:
                outcome = replace(outcome, attempt=before.attempt + 1)
                if self.run.exercise:
                    outcome = _with_one(before, outcome, self.run.exercise)
            book.enter(self.gradebook, outcome, terms.load(self.classroom).get(outcome.assignment))
            history.graded(self.classroom, outcome, content)

    # ---- one submission

    async def _one_after_the_other(self, todo: Iterator[Submission]) -> None:
        async with self.lend() as grader:
            for submission in todo:
                outcome, content = await self._grade(submission, grader)
                await self._clerk(self._finish, outcome, content)
                self.run.done += 1
                self.run.troubled += bool(outcome.trouble)
                self._estimate()
                self.tell()

    async def _grade(self, submission: Submission, grader: Grader) -> tuple[Outcome, bytes]:
        """The outcome, and the content that was graded."""
        identity, content, trouble = await asyncio.to_thread(self._content, submission)
        path = self.classroom.path(submission)
        submitted, stamped = handed_in(self.classroom, submission, identity)
        blank = Outcome(
            **asdict(submission),
            mark=identity,
            submitted=submitted,
            stamped=stamped,
            graded=time.time(),
            trouble=trouble,
        )
        if trouble:
            return blank, content
        instructor = self.classroom.instructor(submission.assignment, submission.notebook)
        assert instructor is not None  # _pending has checked this
        copy = self.work / submission.student / submission.assignment / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)  # the content that was read once is graded, whatever happens to the file
        autograded = (
            self.classroom.folder("autograded", submission.assignment, submission.student) / path.name
        )
        began = time.monotonic()
        try:
            async with self._leased(submission, grader):
                began = time.monotonic()
                self.run.now.append(submission.name)
                self.tell()
                verdict = await grader.grade(copy, instructor, autograded=autograded)
        except GradingError as fault:
            if fault.kind == "refused":
                raise
            trouble = "crashed" if fault.kind == "unreadable" else fault.kind
            seconds = time.monotonic() - began
            return replace(blank, trouble=trouble, detail=str(fault), seconds=seconds), content
        finally:
            copy.unlink()
            if submission.name in self.run.now:
                self.run.now.remove(submission.name)
        outcome = replace(
            blank,
            graded=time.time(),
            seconds=round(time.monotonic() - began, 3),
            sandboxed=verdict.sandboxed,
            exercises=verdict.exercises,
        )
        return outcome, content

    @asynccontextmanager
    async def _leased(self, submission: Submission, grader: Grader) -> AsyncIterator[None]:
        """A place on the machine, after waiting in the queue like all others."""
        ask = Ask(self.owner, "grading", f"{self.classroom.name}: {submission.name}", seconds=LEASE_S)
        ticket = None
        try:
            while not isinstance(got := await asyncio.to_thread(self.store.take, ask, ticket), Lease):
                ticket, self.run.waiting = got.ticket, not self.run.now
                self.tell()
                await asyncio.sleep(ASK_AGAIN_S)
        except asyncio.CancelledError:
            if ticket is not None:
                await asyncio.to_thread(self.store.leave, ticket)
            raise
        self.run.waiting = False
        try:
            await asyncio.to_thread(self.store.bind, got.id, holder((await grader.warm_up()).pid))
            yield
        finally:
            await asyncio.to_thread(self.store.release, got.id)

    def _estimate(self) -> None:
        spent = time.time() - self.run.began
        self.run.left = spent / self.run.done * (self.run.total - self.run.done)

    def tell(self) -> None:
        """Writes the state for readers, and passes it to the caller's callback."""
        write_atomically(self.classroom.private / "run.json", json.dumps(asdict(self.run)).encode())
        self.report(self.run)


def _named(submission: Submission, only: str) -> bool:
    wanted = only.split("/")
    parts = (submission.student, submission.assignment, submission.notebook)
    return len(wanted) == 3 and all(w in ("*", part) for w, part in zip(wanted, parts, strict=True))


def _with_one(before: Outcome, now: Outcome, slot: str) -> Outcome:
    """The verdicts of before, with the new one on one exercise; all new ones where the content or a check is another."""
    kept = {exercise.id: exercise for exercise in before.exercises}
    if before.mark != now.mark or before.trouble or now.trouble:
        return now
    exercises = (e if e.id == slot else kept.get(e.id, e) for e in now.exercises)
    return replace(now, exercises=tuple(exercises))


def handed_in(classroom: Classroom, submission: Submission, identity: str) -> tuple[float, bool]:
    """When the content with the checksum `identity` was handed in, in seconds since 1970: as its learner sent it, else from
    nbgrader's timestamp.txt beside it, else the time of the last change; and whether it was not the last of these."""
    sent, path = received.received(classroom, submission, identity), classroom.path(submission)
    if sent is not None:
        return sent, True
    try:
        said = dateutil.parser.parse(read(classroom.root, path.with_name("timestamp.txt"))[:100].decode())
        return (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp(), True
    except (OSError, ValueError, OverflowError, Unreadable):
        return path.lstat().st_mtime, False  # of the file itself, never of what a link leads to
