"""Grading: a teacher's classes, the results, the submissions, and the run that grades them."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Any

from tornado import web

from studio.course import Course
from studio.environment import clean_environment
from studio.gradebook import classroom, exports, run, statistics, table
from studio.gradebook.classroom import Classroom

from . import charts
from .base import StudioPage
from .grading_base import Desk, GradingPage
from .grading_marks import Marks, Return
from .grading_release import Packed, Release, TakeIn
from .grading_terms import Announce, Extend, SetTerms, Withdraw, around
from .grading_work import Alike, WorkNotebook, WorkPage


class Classes(GradingPage):
    """The list of classes, and the form for a new one."""

    @web.authenticated
    async def get(self) -> None:
        names = list(await asyncio.to_thread(classroom.classes, self.desk.home))
        self.show("grading.html", names=names, own=classroom.OWN)

    @web.authenticated
    async def post(self) -> None:
        name = self.get_body_argument("name", "").strip()
        await self.in_thread(classroom.create, self.desk.home, name)
        self.to_class(name)


class ClassPage(GradingPage):
    """The results of one assignment."""

    @web.authenticated
    async def get(self, name: str) -> None:
        room = self.find(name)
        names = await self.in_thread(self.assignments, room)
        chosen = self.get_query_argument("assignment", names[0] if names else "")
        if names and chosen not in names:
            raise web.HTTPError(404, f"no assignment named {chosen!r}")
        standing = self.run_of(room)
        whole = await self.in_thread(self.table, room, chosen, standing["run"]) if names else None
        view = self.view()
        shown = None if whole is None else table.arranged(whole, *view)
        standing |= {
            "table": shown,
            "whole": whole,
            "view": view,
            "people": len(whole.rows) if whole else 0,
        }
        if self.get_query_argument("part", ""):
            self.show("grading_board.html", **standing)
            return
        self.show(
            "grading_class.html",
            **standing,
            **(await self.in_thread(self.over_time, room, whole) if whole else {}),
            forms=exports.FORMS,
            sorts=table.SORTS,
            choices=table.ONLY,
            assignments=names,
            lessons=[lesson for lesson in await asyncio.to_thread(self.desk.course.lessons) if lesson.graded],
            taken=self.desk.taken.pop(name, None),
            told=self.desk.said.pop(name, None),
            **await self.in_thread(around, room, chosen),
            learners=[row.student for row in whole.rows] if whole else [],
            in_class=bool(self.settings.get("studio_class")),
            brings_checks=self.user.admin,
            own=classroom.OWN,
        )

    def view(self) -> tuple[table.Sort, table.Only, str]:
        """How the visitor wants the table: sorted by what, which learners, and a text that their names contain."""
        sort, only = self.get_query_argument("sort", "name"), self.get_query_argument("only", "all")
        if sort not in table.SORTS or only not in table.ONLY:
            raise web.HTTPError(400, f"sort: {', '.join(table.SORTS)}; only: {', '.join(table.ONLY)}")
        return sort, only, self.get_query_argument("find", "")[:100]

    def over_time(self, room: Classroom, whole: table.Table) -> dict[str, Any]:
        """What grading_statistics.html shows."""
        days = statistics.days(room, whole.assignment)
        counts = statistics.distribution(whole.shares())
        tenth = 100 // statistics.BINS
        return {
            "chart": charts,
            "days": charts.bars(
                [f"{day.day:%m-%d}" for day in days],
                [day.submissions for day in days],
                [day.passed for day in days],
            ),
            "distribution": charts.bars(
                [f"{n * tenth}–{(n + 1) * tenth} %" for n in range(len(counts))], counts
            ),
            "marked": sum(counts),
        }

    def table(self, room: Classroom, assignment: str, state: run.Run | None) -> table.Table:
        """During a run the page polls twice a second: the table is cached until one more is graded."""
        progress = (state.began, state.done) if state is not None and state.lives else None
        known = self.desk.tables.get((room.name, assignment))
        if known is None or progress is None or known[0] != progress:
            known = self.desk.tables[room.name, assignment] = (progress, table.table(room, assignment))
        return known[1]


class RunPage(GradingPage):
    """Starts a run."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room = self.find(name)
        scope, only = self.get_body_argument("scope", "new"), self.get_body_argument("only", "")
        exercise = self.get_body_argument("exercise", "")
        if scope not in ("new", "failed", "all"):
            raise web.HTTPError(400, f"scope must be new, failed or all, got {scope!r}")
        begun = self.desk.begun.get(name)
        state = run.state(room)
        if (begun is None or begun.returncode is not None) and not (state and state.lives):
            self.desk.begun[name] = await _begin(room, scope, only, exercise)
        self.go_back(name)


async def _begin(room: Classroom, scope: str, only: str, exercise: str) -> Process:
    """`sampan grade` as from a terminal, so that it outlives this server."""
    command = [sys.executable, "-m", "studio.cli", "grade", str(room.root), "--course", str(room.course)]
    command += [] if scope == "new" else ["--regrade", scope]
    command += [f"--only={only}"] if only else []
    command += [f"--exercise={exercise}"] if exercise else []
    with (room.private / "run.log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *command,
            env=clean_environment(os.environ),
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


class CancelRun(GradingPage):
    @web.authenticated
    async def post(self, name: str) -> None:
        room = self.find(name)
        await asyncio.to_thread(run.cancel, room)
        self.to_class(name)


def routes(home: Path, course: Course) -> list[tuple[Any, ...]]:
    shared = {"desk": Desk(home, course)}
    part = "([^/]+)"
    one = f"/grading/{part}"
    work = f"{one}/work/{part}/{part}/{part}"
    return [
        ("/grading", Classes, shared),
        (one, ClassPage, shared),
        (f"{one}/release", Release, shared),
        (rf"{one}/release/{part}\.zip", Packed, shared),
        (f"{one}/terms", SetTerms, shared),
        (f"{one}/extension", Extend, shared),
        (f"{one}/visible", Withdraw, shared),
        (f"{one}/announcements", Announce, shared),
        (f"{one}/import", TakeIn, shared),
        (f"{one}/run", RunPage, shared),
        (f"{one}/cancel", CancelRun, shared),
        (f"{one}/marks", Marks, shared),
        (f"{one}/marks.csv", Marks, shared),
        (f"{one}/return", Return, shared),
        (work, WorkPage, shared),
        (f"{work}/notebook", WorkNotebook, shared),
        (f"{one}/alike/{part}/{part}", Alike, shared),
    ]


class Elsewhere(StudioPage):
    """In a class, grading is at the service that runs under the grading account."""

    def initialize(self, there: str) -> None:
        self.there = there

    @web.authenticated
    def get(self) -> None:
        self.redirect(self.there)


def routes_elsewhere(there: str) -> list[tuple[Any, ...]]:
    return [("/grading(?:/.*)?", Elsewhere, {"there": there})]
