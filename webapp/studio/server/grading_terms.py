"""Grading: the terms of an assignment, extensions, withdrawing, and the announcements of a class."""

from __future__ import annotations

import time
from typing import Any

from tornado import web

from studio import moments
from studio.gradebook import announcements, data_files, lateness, openings, terms, titles
from studio.gradebook.classroom import Classroom, composed
from studio.gradebook.terms import DAY_S, Terms
from studio.grading.release import check_id

from .grading_base import GradingPage


def around(room: Classroom, assignment: str) -> dict[str, Any]:
    """What the cards of terms and announcements show."""
    its = terms.of(room, assignment) if assignment else terms.FREE
    opened = openings.of_assignment(room, assignment) if assignment else []
    named = {one.notebook: titles.titles(room, assignment, one.notebook) for one in opened}
    released = bool(assignment) and any(room.folder("release", assignment).glob("*.ipynb"))
    return {
        **{"terms": its, "moments": moments, "zone": moments.zone(its.deadline or time.time())},
        **{"news": announcements.load(room), "day_s": DAY_S, "released": released},
        "data": data_files.released(room, assignment) if assignment else [],
        **{"data_suffixes": data_files.SUFFIXES, "data_most": data_files.MOST_BYTES},
        "opened": [(one, named[one.notebook].get(check_id(one.slot))) for one in opened],
    }


class TermsPage(GradingPage):
    """An action on the terms of one assignment, from a form of the class's page."""

    def read(self, its: Terms) -> Terms:
        """`its` with what the form says. Raises `ValueError`."""
        raise NotImplementedError

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), self.get_body_argument("assignment")
        if assignment not in await self.in_thread(self.assignments, room):
            raise web.HTTPError(404, f"no assignment named {assignment!r}")

        await self.in_thread(lateness.change, room, assignment, self.read)
        self.to_class(name, assignment)

    def number(self, field: str) -> float:
        text = self.get_body_argument(field, "").strip() or "0"
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{field}: expected a number, got {text!r}") from None

    def whole(self, field: str, otherwise: int) -> int:
        """`otherwise` if the form has no such field."""
        if self.get_body_argument(field, None) is None:
            return otherwise
        number = self.number(field)
        if not number.is_integer():
            raise ValueError(f"{field}: expected a whole number, got {number:g}")
        return int(number)


class SetTerms(TermsPage):
    """When it opens and is due, what being late costs, how often one may hand in."""

    def read(self, its: Terms) -> Terms:
        return Terms(
            opens=moments.parse(self.get_body_argument("opens", "")),
            deadline=moments.parse(self.get_body_argument("deadline", "")),
            late=self.get_body_argument("late", its.late),  # type: ignore[arg-type]  # Terms checks it
            percent=self.number("percent"),
            floor=self.number("floor"),
            attempts=self.whole("attempts", its.attempts),
            answers=self.get_body_argument("answers", its.answers),  # type: ignore[arg-type]  # Terms checks it
            failures=self.whole("failures", its.failures),
            visible=its.visible,
            extensions=its.extensions,
        )


class Extend(TermsPage):
    """More time for one learner; 0 days take the extension away."""

    def read(self, its: Terms) -> Terms:
        learner = composed(self.get_body_argument("learner", "").strip())
        return its.extended(learner, self.number("days") * DAY_S)


class Withdraw(TermsPage):
    """Hides it from learners, or shows it again."""

    def read(self, its: Terms) -> Terms:
        return its.shown(self.get_body_argument("visible", "") == "1")


class Announce(GradingPage):
    """A new announcement, or, with its `id`, another text for it, or with `delete` none any more."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, which = self.find(name), self.get_body_argument("id", "")
        text = self.get_body_argument("text", "").replace("\r\n", "\n")
        if which and self.get_body_argument("delete", ""):
            await self.in_thread(announcements.delete, room, which)
        elif which:
            await self.in_thread(announcements.edit, room, which, text, time.time())
        else:
            await self.in_thread(announcements.add, room, text, self.user.name, time.time())
        self.to_class(name, self.get_body_argument("assignment", ""))
