"""Grading: handing an assignment out, and taking its submissions in from a zip file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tornado import web

from studio.gradebook.handout import hand_out
from studio.gradebook.intake import take_in

from .grading_base import GradingPage

MOST_UPLOADED = 256 << 20  # bytes of one zip file


class Release(GradingPage):
    """Hands course notebooks out as an assignment."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), self.get_body_argument("assignment", "").strip()
        lessons = [self.desk.course.lesson(lesson_id) for lesson_id in self.get_body_arguments("lesson")]
        paths = [lesson.source for lesson in lessons if lesson is not None]
        await self.in_thread(hand_out, room, assignment, paths, self.language)
        self.to_class(name, assignment)


class TakeIn(GradingPage):
    """A zip file of submissions."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), self.get_body_argument("assignment")
        files = self.request.files.get("file", [])
        if len(files) != 1 or len(files[0].body) > MOST_UPLOADED:
            raise web.HTTPError(400, f"expected one zip file of at most {MOST_UPLOADED >> 20} MB")
        with tempfile.NamedTemporaryFile(suffix=".zip") as zipped:
            zipped.write(files[0].body)
            zipped.flush()
            self.desk.taken[name] = await self.in_thread(take_in, room, assignment, Path(zipped.name))
        self.to_class(name, assignment)
