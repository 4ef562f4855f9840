"""Marks that leave a class: as files for other programs, and returned to the learners."""

from __future__ import annotations

from urllib.parse import quote

from tornado import web

from studio.gradebook import exports, returning

from .grading_base import GradingPage


class Marks(GradingPage):
    """The marks of an assignment, or of all, as a file; `?form=` as in `exports.FORMS`."""

    @web.authenticated
    async def get(self, name: str) -> None:
        room = self.find(name)
        form, assignment = (
            self.get_query_argument("form", "nbgrader"),
            self.get_query_argument("assignment", ""),
        )
        if form not in exports.FORMS:
            raise web.HTTPError(400, f"form must be one of {', '.join(exports.FORMS)}, got {form!r}")
        text = await self.in_thread(exports.export, room, form, assignment, self.language)
        kind, ending = ("application/x-ndjson", "jsonl") if form == "lti" else ("text/csv", "csv")
        file = " ".join(filter(None, (name, assignment, "" if form == "nbgrader" else form)))
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(file)}.{ending}")
        self.finish(text)


class Return(GradingPage):
    """Returns the marks of an assignment to all learners with marks or to one, or withdraws them."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), self.get_body_argument("assignment")
        learner = self.get_body_argument("learner", "")
        students = [learner] if learner else []
        if self.get_body_argument("withdraw", ""):
            await self.in_thread(returning.withdraw, room, assignment, students)
        else:
            await self.in_thread(returning.return_marks, room, assignment, students, self.language)
        self.go_back(name, assignment)
