"""A learner's submission for the teacher: the answers, the notebook, and submissions that are alike."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tornado import web

from studio import i18n
from studio.gradebook import book, outcomes, report
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.outcomes import Outcome
from studio.gradebook.submissions import Unreadable, read

from .base import STRICT_POLICY
from .grading_base import GradingPage
from .untrusted import POLICY, notebook_page


class WorkPage(GradingPage):
    """A learner's submission and its verdicts."""

    @property
    def content_security_policy(self) -> str:
        return f"{STRICT_POLICY}; frame-src 'self'"  # the notebook below, fully sandboxed

    def submission(self, room: Classroom, assignment: str, notebook: str, student: str) -> Submission:
        found = Submission(student, assignment, notebook)
        if found not in room.submissions():
            raise web.HTTPError(404, f"nothing was handed in as {found.name}")
        return found

    @web.authenticated
    async def get(self, name: str, assignment: str, notebook: str, student: str) -> None:
        room = self.find(name)
        submission = self.submission(room, assignment, notebook, student)
        outcome = await self.in_thread(_outcome, room, submission)
        self.show(
            "grading_verdict.html" if self.get_query_argument("part", "") else "grading_work.html",
            **self.run_of(room),
            submission=submission,
            checked=room.instructor(assignment, notebook) is not None,
            outcome=outcome,
        )


def _outcome(room: Classroom, submission: Submission) -> Outcome | None:
    with book.opened(room) as gradebook:
        return outcomes.load(gradebook, submission)


class WorkNotebook(WorkPage):
    """The notebook itself, without active content, for the frame on the page above."""

    @property
    def content_security_policy(self) -> str:
        return POLICY

    @web.authenticated
    async def get(self, name: str, assignment: str, notebook: str, student: str) -> None:
        room = self.find(name)
        submission = self.submission(room, assignment, notebook, student)
        html = await _sanitised(room, submission)
        kind = "plain" if html is None else "html"
        self.set_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.finish(i18n.t("grading.unreadable", self.language) if html is None else html)


async def _sanitised(room: Classroom, submission: Submission) -> str | None:
    """The notebook as HTML; None when it cannot be read. A copy is made, so that no link is followed."""
    try:
        content = await asyncio.to_thread(read, room.root, room.path(submission))
        with tempfile.TemporaryDirectory(prefix="sampan-shown-") as folder:
            copy = Path(folder) / "submission.ipynb"
            copy.write_bytes(content)
            return await notebook_page(copy)
    except (OSError, ValueError, RecursionError, Unreadable):
        return None


class Alike(GradingPage):
    """Which submissions are alike; with `?first=&second=`, two of them side by side."""

    @web.authenticated
    async def get(self, name: str, assignment: str, notebook: str) -> None:
        room = self.find(name)
        names = [self.get_query_argument(which, "") for which in ("first", "second")]
        if any(names) and not set(names) <= set(room.students()):
            raise web.HTTPError(404, f"no such learners: {names}")
        try:
            found = await report.ask(room, assignment, notebook, *filter(None, names))
        except ValueError as error:
            raise web.HTTPError(409, str(error)) from error
        template = "grading_pair.html" if any(names) else "grading_alike.html"
        self.show(
            template,
            room=room,
            place=self.request.path,
            assignment=assignment,
            notebook=notebook,
            found=found,
        )
