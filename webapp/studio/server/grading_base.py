"""What every page of Grading shares: the teacher's classes, errors in words, the state of a run."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from tornado import web

from studio.course import Course
from studio.gradebook import classroom, run, table
from studio.gradebook.classroom import Classroom
from studio.gradebook.commands import duration
from studio.gradebook.intake import Taken
from studio.moments import minute

from .base import StudioPage

T = TypeVar("T")


@dataclass
class Desk:
    """Shared by the pages: the course, the runs that this server has started, and the result of the last intake."""

    home: Path
    course: Course
    begun: dict[str, Process] = field(default_factory=dict)
    taken: dict[str, Taken] = field(default_factory=dict)
    said: dict[str, tuple[str, int]] = field(default_factory=dict)  # `assignments.said.<key>`, with a count
    tables: dict[tuple[str, str], tuple[Any, table.Table]] = field(default_factory=dict)


class GradingPage(StudioPage):
    """Only for teachers: the user of a personal Studio is one."""

    section = "grading"

    def initialize(self, desk: Desk) -> None:
        self.desk = desk

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        name = self.settings.get("studio_class")  # in the grading service of a class
        teaches = self.user.teaches if name is None else self.user.teaches_in(name)
        if self.current_user and not teaches:
            raise web.HTTPError(403)

    def find(self, name: str) -> Classroom:
        folder = classroom.classes(self.desk.home).get(name)
        if folder is None:
            raise web.HTTPError(404, f"no class named {name!r}")
        return self.tried(lambda: Classroom(folder, self.desk.course.folder))

    def tried(self, work: Callable[[], T]) -> T:
        """The result of `work`; the visitor sees the message of its ValueError."""
        try:
            return work()
        except ValueError as error:
            raise web.HTTPError(409, str(error), reason=one_line(str(error))) from error

    def assignments(self, room: Classroom) -> list[str]:
        """Those of the class; where learners have a Studio of their own, the course is one from the start."""
        names = set(table.assignments(room))
        return sorted(names | {classroom.COURSE} if self.settings.get("studio_class") else names)

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.to_thread(self.tried, lambda: work(*arguments))

    def to_class(self, name: str, assignment: str = "") -> None:
        query = f"?assignment={quote(assignment)}" if assignment else ""
        self.redirect(self.address("grading", quote(name)) + query, status=303)

    def go_back(self, name: str, assignment: str = "") -> None:
        """To the page of Grading that the form names in `next`, else to the class."""
        back = self.get_body_argument("next", "")
        if back.startswith(self.address("grading") + "/"):
            self.redirect(back, status=303)
        else:
            self.to_class(name, assignment)

    def run_of(self, room: Classroom) -> dict[str, Any]:
        """What grading_run.html shows."""
        found, begun = run.state(room), self.desk.begun.get(room.name)
        starting = (
            begun is not None and begun.returncode is None and (found is None or found.pid != begun.pid)
        )
        failed = begun is not None and begun.returncode == 2 and (found is None or found.pid != begun.pid)
        words = (room.private / "run.log").read_text("utf-8", "replace") if failed else ""
        return {
            **{"room": room, "run": found, "starting": starting, "said": words.strip()[-500:]},
            **{"clock": duration, "day": minute, "place": self.request.path},
        }


def one_line(text: str) -> str:
    """Converted for a status line, which must be Latin-1 without line ends."""
    return " ".join(text.split())[:300].encode("latin-1", "replace").decode("latin-1")
