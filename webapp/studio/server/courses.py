"""Courses: the notebooks, the learner's copies, and the check."""

from __future__ import annotations

import asyncio
import time
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tornado import web
from tornado.escape import url_escape

from studio import engine, moments
from studio.attempts import Attempt, Attempts
from studio.changes import changes
from studio.course import Course, KeptCopy, Lesson
from studio.gradebook import own
from studio.gradebook.classroom import COURSE
from studio.grading import release
from studio.grading.checker import Checker
from studio.grading.client import GradingError
from studio.grading.desk import CheckDesk
from studio.grading.translation import language_of
from studio.grading.verdict import Verdict
from studio.hub.member import Away, RemoteChecker
from studio.model_answers import ModelAnswers, Rule

from .base import StudioPage


class CoursePage(StudioPage):
    section = "courses"

    def initialize(
        self,
        course: Course,
        desk: CheckDesk,
        checker: Checker,
        attempts: Attempts,
        model_answers: ModelAnswers,
        handing_in: RemoteChecker | None = None,
    ) -> None:
        """`handing_in`: in a class, what takes submissions."""
        self.course = course
        self.handing_in = handing_in
        self.desk = desk
        self.checker = checker
        self.attempts = attempts
        self.model_answers = model_answers

    def taker(self) -> RemoteChecker:
        """What takes submissions; in a personal Studio there is nothing."""
        if self.handing_in is None:
            raise web.HTTPError(404, "this Studio belongs to no class")
        return self.handing_in

    def lesson_or_none(self, lesson_id: str) -> Lesson | None:
        return self.course.lesson(lesson_id)

    async def terms_of(self, lesson: Lesson) -> dict[str, Any] | None:
        """What the class says about handing this notebook in. None in a personal Studio; without terms, or while the class
        does not answer, nothing limits it here: the class decides when it is sent."""
        if self.handing_in is None:
            return None
        free = {"due": None, "attempts": 0, "used": 0, "state": "open", "late": "marked", "checked": True}
        try:
            board = await self.handing_in.board()
        except GradingError:
            return {**free, "now": 0.0}
        for one in board["assignments"]:
            for notebook in one["notebooks"]:
                if (one["name"], notebook["name"]) == (lesson.assignment, lesson.notebook):
                    return {**one, **notebook, "now": board["now"]}
        return {**free, "now": board["now"]}

    async def answering(self, assignment: str) -> dict[str, Any]:
        """When the model answers of an assignment may be opened, and what time it is there. While the class does not answer,
        as in a personal Studio: the class decides when one is asked for."""
        if self.handing_in is None:
            return {"rule": Rule(), "now": time.time()}
        try:
            board = await self.handing_in.board()
        except GradingError:
            return {"rule": Rule(), "now": 0.0}
        its = [one["answers"] for one in board["assignments"] if one["name"] == assignment]
        return {"rule": Rule(**(its[0] if its else board["answers"])), "now": board["now"]}

    def refuse(self, error: GradingError, template: str = "handing_refused.html", **values: Any) -> None:
        """Says why: the class does not answer, or it does not allow it."""
        self.set_status(503 if isinstance(error, Away) else 409)
        self.show(template, refusal=error.words(self.language), **values)

    def find(self, lesson_id: str) -> Lesson:
        lesson = self.lesson_or_none(lesson_id)
        if lesson is None:
            raise web.HTTPError(404, f"no notebook named {lesson_id!r}")
        return lesson

    def standing(self, lesson: Lesson) -> dict[str, Any]:
        """What course_card.html shows: the running or failed check, else the last verdict on the present copy."""
        # As it was before the history is read: a check that ends in between would be neither running nor in it.
        check = copy(self.desk.job(lesson.id))
        history = self.attempts.history(lesson.id)
        lessons = self.course.lessons() if lesson.assignment == COURSE else []
        following = [one for one in lessons if one.graded and one.id > lesson.id]
        return {
            "next": following[0] if following else None,
            "lesson": lesson,
            "check": check,
            "last": history.last,
            "best": history.best,
            "answers": self.model_answers.of(lesson.checked_as),
            "in_class": self.handing_in is not None,
        }

    async def standings(self) -> list[dict[str, Any]]:
        return await asyncio.to_thread(lambda: [self.standing(one) for one in self.course.lessons()])

    def find_kept(self, lesson: Lesson, name: str) -> KeptCopy | None:
        """The former copy of that file name; None without a name."""
        if not name:
            return None
        for kept in lesson.kept():
            if kept.path.name == name:
                return kept
        raise web.HTTPError(404, f"no former copy of {lesson.id} is named {name!r}")

    async def forget(self, lesson_id: str) -> None:
        """The verdict on an archived copy does not apply to the copy that replaced it."""
        self.desk.forget(lesson_id)
        await asyncio.to_thread(self.attempts.put_aside, lesson_id)

    def back_to(self, lesson_id: str) -> None:
        self.redirect(f"{self.address('courses')}#lesson-{lesson_id}", status=303)


class Courses(CoursePage):
    """The list."""

    @web.authenticated
    async def get(self) -> None:
        standings = await self.standings()
        self.show(
            "courses.html",
            no_sandbox=await self.checker.ready(),
            in_class=self.handing_in is not None,
            standings=standings,
            **await self.answering(COURSE),
            **progress(standings),
        )


class Progress(CoursePage):
    """The progress in the whole course: the part of the page that a check changes besides its own card."""

    @web.authenticated
    async def get(self) -> None:
        self.show("progress.html", **progress(await self.standings()))


def progress(standings: list[dict[str, Any]]) -> dict[str, float]:
    """The solved exercises of the best attempts at all notebooks, and the total."""
    best = [standing["best"].verdict for standing in standings if standing["best"]]
    return {
        "passed": sum(verdict.passed for verdict in best),
        "earned": sum(verdict.earned for verdict in best),
        "exercises": sum(standing["lesson"].exercises for standing in standings),
        "points": sum(standing["lesson"].points for standing in standings),
    }


class OpenCopy(CoursePage):
    """Redirects to the learner's copy in Lab, through the queue if there is one; creates the copy on the first
    visit."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        copy = await self.course.open_copy(self.find(lesson_id), self.language)
        inside = copy.relative_to(self.course.workspace).as_posix()
        self.redirect(self.address("open/lab", url_escape(inside, plus=False)), status=303)


class StartAgain(CoursePage):
    """A fresh copy; the old one is kept under a dated name."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        await self.desk.cancel(lesson_id)
        await self.course.start_again(self.find(lesson_id), self.language)
        await self.forget(lesson_id)
        self.back_to(lesson_id)


class Translate(CoursePage):
    """The copy in the language of the page, with all that the learner wrote; the copy of before is kept."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        if lesson.edited is None:
            raise web.HTTPError(409, f"no copy of {lesson_id} exists, so there is nothing to translate")
        await self.desk.cancel(lesson_id)
        await self.course.translate(lesson, self.language)
        self.back_to(lesson_id)


class MyCopy(CoursePage):
    """The changes in the learner's copy (or in a former one, `?kept=`), all attempts, all former copies."""

    @web.authenticated
    async def get(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        kept = self.find_kept(lesson, self.get_query_argument("kept", ""))
        if kept is None and lesson.edited is None:
            raise web.HTTPError(404, f"there is no copy of {lesson_id}")
        self.show(
            "copy.html",
            lesson=lesson,
            kept=kept,
            **await asyncio.to_thread(_compare, lesson, kept.path if kept else lesson.copy),
            history=await asyncio.to_thread(self.attempts.history, lesson_id),
        )


def _compare(lesson: Lesson, path: Path) -> dict[str, Any]:
    try:
        mine = release.read(path)
        found = changes(lesson.handed_out(language_of(mine)), mine)
        return {"changes": found, "unreadable": ""}
    except ValueError as error:
        return {"changes": [], "unreadable": str(error)}


class Restore(CoursePage):
    """Makes a former copy the present one; the present one is archived."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        kept = self.find_kept(lesson, self.get_body_argument("kept"))
        if kept is None:
            raise web.HTTPError(404, f"there is no former copy of {lesson_id} without a name")
        await self.desk.cancel(lesson_id)
        await self.course.restore(lesson, kept)
        await self.forget(lesson_id)
        self.redirect(self.address("courses", lesson_id, "copy"), status=303)


_entering: set[asyncio.Task[None]] = set()  # asyncio keeps only weak references to tasks


class Check(CoursePage):
    """POST starts a check; GET returns its state as the part of the page that shows it."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        if lesson.edited is None:
            raise web.HTTPError(409, f"there is no copy of {lesson_id} to check")
        self.desk.start(lesson_id, partial(self._grade, lesson))
        self.back_to(lesson_id)

    async def _grade(self, lesson: Lesson) -> Verdict:
        job = self.desk.job(lesson.id)
        assert job is not None  # the check uses the Studio
        content = await asyncio.to_thread(lesson.copy.read_bytes)
        verdict = await self.checker.check(content, lesson.checked_as, job.moved)
        await asyncio.to_thread(self.model_answers.checked, lesson.checked_as, verdict)
        attempt = await asyncio.to_thread(self.attempts.add, lesson.id, replace(verdict, programs={}))
        await asyncio.to_thread(engine.keep, self.course.workspace, lesson.id, verdict)
        if self.handing_in is not None:
            return verdict  # the gradebook of a class has what was handed in
        # Not awaited: the learner sees the verdict at once, the gradebook takes seconds the first time.
        entering = asyncio.create_task(self._enter(lesson, content, attempt))
        _entering.add(entering)
        entering.add_done_callback(_entering.discard)
        return verdict

    async def _enter(self, lesson: Lesson, content: bytes, attempt: Attempt) -> None:
        what = (self.course.workspace, lesson.source, content, attempt.verdict, attempt.number)
        try:
            await asyncio.to_thread(own.enter, *what)
        except Exception:  # the learner has the verdict anyway
            self.log.exception("the verdict on %s is not in the gradebook", lesson.id)

    @web.authenticated
    async def get(self, lesson_id: str) -> None:
        lesson = self.find(lesson_id)
        job = self.desk.job(lesson_id)
        if job is not None and job.error is not None:
            self.log.warning("check of %s: %s", lesson_id, job.error)
        standing = await asyncio.to_thread(self.standing, lesson)
        self.show("course_card.html", **standing, **await self.answering(lesson.assignment))


class Panel(CoursePage):
    """The state of a check for JupyterLab; 204 for a notebook that is not a graded lesson, such as a former copy."""

    @web.authenticated
    async def get(self, lesson_id: str) -> None:
        lesson = self.lesson_or_none(lesson_id)
        if lesson is None or lesson.edited is None or not lesson.graded:
            self.set_status(204)
            self.finish()
            return
        standing = await asyncio.to_thread(self.standing, lesson)
        task, answering = await self.terms_of(lesson), await self.answering(lesson.assignment)
        self.show("lesson_panel.html", **standing, **answering, task=task, moments=moments)


class CancelCheck(CoursePage):
    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        await self.desk.cancel(self.find(lesson_id).id)
        self.back_to(lesson_id)


class OpenAnswer(CoursePage):
    """Opens the model answer of one exercise, `slot`; this is recorded, in a class by the class too."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        lesson, slot = self.find(lesson_id), self.get_body_argument("slot")
        if slot not in lesson.slots:
            raise web.HTTPError(404, f"no exercise {slot!r} in {lesson_id}")
        record = await asyncio.to_thread(self.model_answers.of, lesson.checked_as)
        free = slot in record.opened or Rule().allows(record.failed.get(slot, 0), time.time())
        if self.handing_in is None and not free:
            raise web.HTTPError(409, f"the model answer of {slot} cannot be opened yet")
        try:
            answer = await self.desk.between(self.checker.model_answer(lesson.checked_as, slot))
        except GradingError as error:
            self.refuse(error)
            return
        await asyncio.to_thread(self.model_answers.open, lesson.checked_as, slot, answer)
        self.back_to(lesson_id)
