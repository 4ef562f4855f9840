"""Courses: the notebooks, the learner's copies, and the check."""

from __future__ import annotations

import asyncio
from functools import partial

from jupyter_server.utils import url_path_join
from tornado import web
from tornado.escape import url_escape

from studio.course import Course, Lesson
from studio.grading.runner import CheckDesk, Verdict, grade, grader_command

from .base import StudioPage


class CoursePage(StudioPage):
    section = "courses"

    def initialize(self, course: Course, desk: CheckDesk) -> None:
        self.course = course
        self.desk = desk

    def find(self, lesson_id: str) -> Lesson:
        lesson = self.course.lesson(lesson_id)
        if lesson is None:
            raise web.HTTPError(404, f"no notebook named {lesson_id!r}")
        return lesson

    def back_to(self, lesson_id: str) -> None:
        self.redirect(f"{self.address('courses')}#lesson-{lesson_id}", status=303)


class Courses(CoursePage):
    """The list."""

    @web.authenticated
    async def get(self) -> None:
        lessons = await asyncio.to_thread(self.course.lessons)
        self.show("courses.html", lessons=lessons, job=self.desk.job)


class OpenCopy(CoursePage):
    """To the learner's copy in Lab; makes it on the first visit."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        copy = await self.course.open_copy(self.find(lesson_id))
        inside = copy.relative_to(self.course.workspace).as_posix()
        self.redirect(url_path_join(self.base_url, "lab/tree", url_escape(inside, plus=False)), status=303)


class StartAgain(CoursePage):
    """A fresh copy; the old one is kept under a dated name."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        await self.desk.cancel(lesson_id)
        await self.course.start_again(self.find(lesson_id))
        self.desk.forget(lesson_id)
        self.back_to(lesson_id)


class Check(CoursePage):
    """POST begins a check; GET is how it stands, as the piece of the page that shows it."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        if lesson.edited is None:
            raise web.HTTPError(409, f"there is no copy of {lesson_id} to check")
        self.desk.start(lesson_id, partial(self._grade, lesson))
        self.back_to(lesson_id)

    async def _grade(self, lesson: Lesson) -> Verdict:
        job = self.desk.job(lesson.id)
        assert job is not None  # this is its work
        return await grade(grader_command(lesson.copy, lesson.source), progress=job.moved)

    @web.authenticated
    async def get(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        job = self.desk.job(lesson_id)
        if job is not None and job.error is not None:
            self.log.warning("check of %s: %s", lesson_id, job.error)
        self.show("verdict.html", lesson=lesson, check=job)


class CancelCheck(CoursePage):
    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        await self.desk.cancel(self.find(lesson_id).id)
        self.back_to(lesson_id)
