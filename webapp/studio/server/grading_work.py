"""A learner's submission for the teacher: the answers with marks and comments, the notebook, and submissions that are
alike."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tornado import web

from studio import i18n
from studio.gradebook import history, marking, report
from studio.gradebook.classroom import OWN, Classroom, Submission
from studio.gradebook.submissions import Unreadable, read
from studio.gradebook.work import Work, work

from . import highlight
from .base import STRICT_POLICY
from .grading_base import GradingPage
from .untrusted import POLICY, notebook_page


@dataclass
class Form:
    """What a teacher has sent and what was wrong with it, to be shown again. `typed` is by field name; `wrong` has the
    fields without a valid mark, `clashes` the parts that another teacher has changed meanwhile."""

    typed: dict[str, str] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    clashes: set[int] = field(default_factory=set)
    gone: bool = False  # the notebook has other cells now

    def take_back(self, entries: list[marking.Entry], clashes: list[int]) -> None:
        """After a refusal: parts that this teacher did not change are shown as they are stored now. The others keep what
        was typed; who saves again has seen what another teacher has stored, and replaces it."""
        self.clashes = set(clashes)
        for number, entry in enumerate(entries):
            if number in self.clashes:
                self.typed.pop(f"seen-{number}")
            elif entry.version == entry.seen:
                for name in [name for name in self.typed if name.split("-")[1] == str(number)]:
                    del self.typed[name]


class WorkPage(GradingPage):
    """A learner's submission: answers beside their verdicts, marks and comments by hand."""

    @property
    def content_security_policy(self) -> str:
        return f"{STRICT_POLICY}; frame-src 'self'"  # the whole notebook, fully sandboxed

    def submission(self, room: Classroom, assignment: str, notebook: str, student: str) -> Submission:
        found = Submission(student, assignment, notebook)
        if found not in room.submissions():
            raise web.HTTPError(404, f"nothing was handed in as {found.name}")
        return found

    @web.authenticated
    async def get(self, name: str, assignment: str, notebook: str, student: str) -> None:
        room = self.find(name)
        submission = self.submission(room, assignment, notebook, student)
        shown = await self.read(room, submission, self.get_query_argument("version", ""))
        part = self.get_query_argument("part", "")
        if part == "run":
            self.page("grading_state.html", room, shown)
        elif part.isdecimal() and int(part) < len(shown.parts):
            self.page("grading_verdict.html", room, shown, part=shown.parts[int(part)])
        else:
            saved = bool(self.get_query_argument("saved", ""))
            self.page("grading_work.html", room, shown, form=Form(), saved=saved)

    async def read(self, room: Classroom, submission: Submission, version: str = "") -> Work:
        try:
            return await self.in_thread(work, room, submission, version)
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error

    def page(self, template: str, room: Classroom, shown: Work, **values: Any) -> None:
        submission = shown.submission
        self.show(
            template,
            **self.run_of(room),
            work=shown,
            submission=submission,
            outcome=shown.outcome,
            checked=room.instructor(submission.assignment, submission.notebook) is not None,
            python=highlight.python,
            own=OWN,
            **values,
        )

    @web.authenticated
    async def post(self, name: str, assignment: str, notebook: str, student: str) -> None:
        """Saves the marks and comments; what was typed is never lost: a form that is refused is shown again."""
        room = self.find(name)
        submission = self.submission(room, assignment, notebook, student)
        shown = await self.read(room, submission)
        form, entries = self.entries(shown)
        if not form.wrong:
            try:
                await asyncio.to_thread(marking.save, room, submission, entries)
                self.go_on(shown, name)
                return
            except marking.Changed as change:
                form.take_back(entries, change.parts)
            except ValueError:
                form.gone = True
            shown = await self.read(room, submission)
        self.set_status(409)
        self.page("grading_work.html", room, shown, form=form, saved=False)

    def entries(self, shown: Work) -> tuple[Form, list[marking.Entry]]:
        """What was sent, for each part. A form that was made for other parts lacks fields; they are empty then."""
        form, entries = Form(), []
        for number, part in enumerate(shown.parts):
            marks = {}
            for place, mark in enumerate(part.marks):
                marks[mark.cell] = (
                    self.mark(form, f"manual-{number}-{place}", mark.points),
                    self.mark(form, f"extra-{number}-{place}", marking.MOST_EXTRA),
                )
            comment = form.typed[f"comment-{number}"] = self.typed(f"comment-{number}")[
                : marking.MOST_COMMENT
            ]
            seen = form.typed[f"seen-{number}"] = self.typed(f"seen-{number}")
            entries.append(marking.Entry(marks, comment, seen))
        return form, entries

    def mark(self, form: Form, name: str, most: float) -> float | None:
        form.typed[name] = self.typed(name)
        try:
            return marking.number(form.typed[name], most, name)
        except ValueError:
            form.wrong.add(name)
            return None

    def typed(self, name: str) -> str:
        return self.get_body_argument(name, "").replace("\r\n", "\n")

    def go_on(self, shown: Work, name: str) -> None:
        """To the learner that the button names, or back to this one."""
        submission, beside = shown.submission, shown.beside
        then = {"next": beside.next, "open": beside.open, "silent": beside.silent}
        student = then.get(self.get_body_argument("then", "")) or submission.student
        place = (name, "work", submission.assignment, submission.notebook, student)
        self.redirect(self.address("grading", *map(_quoted, place)) + "?saved=1", status=303)


def _quoted(part: str) -> str:
    return quote(part, safe="")


class WorkNotebook(WorkPage):
    """The notebook itself, without active content, for the frame on the page above."""

    @property
    def content_security_policy(self) -> str:
        return POLICY

    @web.authenticated
    async def get(self, name: str, assignment: str, notebook: str, student: str) -> None:
        room = self.find(name)
        submission = self.submission(room, assignment, notebook, student)
        html = await _sanitised(room, submission, self.get_query_argument("version", ""))
        kind = "plain" if html is None else "html"
        self.set_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.finish(i18n.t("grading.unreadable", self.language) if html is None else html)

    @web.authenticated
    async def post(self, name: str, assignment: str, notebook: str, student: str) -> None:
        raise web.HTTPError(405)


async def _sanitised(room: Classroom, submission: Submission, version: str) -> str | None:
    """The notebook as HTML; None when it cannot be read. A copy is made, so that no link is followed."""
    try:
        if version:
            content = await asyncio.to_thread(history.content, room, submission, version)
        else:
            content = await asyncio.to_thread(read, room.root, room.path(submission))
        with tempfile.TemporaryDirectory(prefix="sampan-shown-") as folder:
            copy = Path(folder) / "submission.ipynb"
            copy.write_bytes(content or b"")
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
