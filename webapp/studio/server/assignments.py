"""Assignments: what a class gives a learner to do, until when, and the class's announcements."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from tornado import web
from tornado.escape import url_escape

from studio import moments
from studio.course import Course, Lesson
from studio.gradebook import data_files
from studio.gradebook.announcements import Announcement
from studio.gradebook.classroom import COURSE, NAME
from studio.gradebook.submissions import mark
from studio.grading.checker import Assignment
from studio.grading.client import GradingError
from studio.grading.release import DATA
from studio.grading.verdict import parse_verdict
from studio.hub.receipts import Receipt
from studio.paths import state_folder
from studio.runtime import write_atomically

from .courses import CancelCheck, Check, CoursePage, OpenAnswer, Panel
from .handing_in import HandIn, receipts_of

FOLDER = "assignments"  # of the learner's copies, in the workspace


class TaskPage(CoursePage):
    """A page about a notebook of an assignment; its `lesson_id` is ASSIGNMENT/NOTEBOOK."""

    section = "assignments"

    def find(self, lesson_id: str) -> Lesson:
        self.taker()
        lesson = task(self.course.workspace, lesson_id)
        if lesson is None:
            raise web.HTTPError(404, f"no notebook {lesson_id!r} was fetched")
        return lesson

    def lesson_or_none(self, lesson_id: str) -> Lesson | None:
        return None if self.handing_in is None else task(self.course.workspace, lesson_id)

    def back_to(self, lesson_id: str) -> None:
        self.redirect(self.address("assignments"), status=303)


def _fetched(workspace: Path, assignment: str) -> Path:
    """The folder of the notebooks of an assignment as they were released."""
    return state_folder(workspace) / FOLDER / assignment


def task(workspace: Path, lesson_id: str) -> Lesson | None:
    """A notebook of an assignment that was fetched."""
    assignment, _, notebook = lesson_id.partition("/")
    if not all(map(NAME.fullmatch, (assignment, notebook))):
        return None
    course = Course(_fetched(workspace, assignment), workspace, assignment)
    return course.lesson(notebook)


class Assignments(TaskPage):
    """The list, by deadline, and the announcements."""

    @web.authenticated
    async def get(self) -> None:
        taker, away = self.taker(), ""
        board: dict[str, Any] = {"now": 0.0, "assignments": [], "announcements": []}
        results: dict[tuple[str, str], dict[str, Any]] = {}
        try:
            board = await taker.board()
            found = await taker.submissions()
            results = {(one["assignment"], one["notebook"]): one for one in found}
            for feedback in await taker.feedback():
                for notebook in feedback.notebooks:
                    results.setdefault((feedback.assignment, notebook.name), {})["returned"] = notebook
        except GradingError as error:
            away = error.words(self.language)
            self.set_status(503)
        workspace = self.course.workspace
        rows = await asyncio.to_thread(
            lambda: [_row(workspace, one, results) for one in board["assignments"]]
        )
        news = await asyncio.to_thread(unread, workspace, board["announcements"])
        self.show(
            "assignments.html",
            away=away,
            assignments=sorted(rows, key=_order),
            news=news,
            now=board["now"],
            moments=moments,
        )
        if not away:
            await asyncio.to_thread(_remember, workspace, [one for one, _ in news])


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    """What can still be handed in is first, by deadline; then what has not opened, then what is closed."""
    states = {notebook["state"] for notebook in row["notebooks"]}
    rank = 1 if row["early"] else 0 if states & {"open", "late"} else 2
    return rank, row["due"] is None, row["due"] or 0.0, row["name"]


def _row(workspace: Path, told: dict[str, Any], results: dict[tuple[str, str], Any]) -> dict[str, Any]:
    notebooks = []
    for one in told["notebooks"]:
        place = Assignment(told["name"], one["name"])
        result = results.get(place)
        graded = result is not None and result.get("verdict") is not None
        lesson = None if place.name == COURSE else task(workspace, "/".join(place))
        original = _fetched(workspace, place.name) / f"{place.notebook}.ipynb"
        newer = lesson is not None and mark(original.read_bytes()) != one["mark"]
        notebooks.append(
            {
                **one,
                "id": re.sub(r"\W+", "-", "/".join(place)),  # as Lesson.mark_id
                "fetched": lesson is not None and lesson.edited is not None,
                "newer": newer,
                "received": result["received"] if result and "received" in result else one["last"],
                "returned": result.get("returned") if result else None,
                "verdict": parse_verdict(result["verdict"]) if result and graded else None,
                "waits": result is not None and result.get("graded") is False,
                "receipt": _last_receipt(workspace, place),
            }
        )
    return {**told, "notebooks": notebooks, "course": told["name"] == COURSE}


def _last_receipt(workspace: Path, place: Assignment) -> str:
    """The number of the newest receipt for a notebook; "" if there is none."""
    found: list[Receipt] = []
    for path in receipts_of(workspace).glob(f"{place.notebook} *.json"):
        try:
            receipt = Receipt(**json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            continue  # the learner's own folder: whatever is in it
        if (receipt.assignment, receipt.notebook) == place:
            found.append(receipt)
    return max(found, key=lambda receipt: receipt.received).number if found else ""


# ---- announcements


def _read_file(workspace: Path) -> Path:
    return state_folder(workspace) / "announcements-read.json"


def unread(workspace: Path, told: list[dict[str, Any]]) -> list[tuple[Announcement, bool]]:
    """[(announcement, whether the learner has not read this version)]"""
    try:
        read = dict(json.loads(_read_file(workspace).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        read = {}
    return [(one, read.get(one.id) != one.version) for one in (Announcement(**each) for each in told)]


def _remember(workspace: Path, shown: list[Announcement]) -> None:
    _read_file(workspace).parent.mkdir(parents=True, exist_ok=True)
    told = json.dumps({one.id: one.version for one in shown})
    write_atomically(_read_file(workspace), told.encode())


class News(TaskPage):
    """For Home: the announcements that are new to the learner, and what is due next."""

    @web.authenticated
    async def get(self) -> None:
        try:
            board = await self.taker().board()
        except GradingError:  # Home works without the class
            board = {"now": 0.0, "assignments": [], "announcements": []}
        news = await asyncio.to_thread(unread, self.course.workspace, board["announcements"])
        todo = [one for one in board["assignments"] if _order(one)[0] == 0 and one["due"] is not None]
        self.show(
            "assignments_news.html",
            news=[one for one, new in news if new],
            due=min(todo, key=_order, default=None),
            now=board["now"],
            moments=moments,
        )


# ---- one notebook


class Fetch(TaskPage):
    """Opens the learner's copy in Lab; fetches it on the first visit, and with `newer` in place of an older version, which is
    kept under a dated name."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        taker, (assignment, _, notebook) = self.taker(), lesson_id.partition("/")
        if not all(map(NAME.fullmatch, (assignment, notebook))):
            raise web.HTTPError(404)
        newer = bool(self.get_body_argument("newer", ""))
        lesson = self.lesson_or_none(lesson_id)
        if lesson is None or newer:
            try:
                content = await taker.released(Assignment(assignment, notebook))
            except GradingError as error:
                self.refuse(error)
                return
            await asyncio.to_thread(_store, _fetched(self.course.workspace, assignment), notebook, content)
            lesson = self.find(lesson_id)
        course = Course(_fetched(self.course.workspace, assignment), self.course.workspace, assignment)
        try:
            await self.fetch_data(course)
        except GradingError as error:  # what is there can be worked with
            self.log.warning("the data of %s: %s", assignment, error)
        if newer:
            await self.desk.cancel(lesson.id)
            await course.start_again(lesson, lesson.copy_language)
            await self.forget(lesson.id)
        copy = await course.open_copy(lesson, self.language)
        inside = copy.relative_to(self.course.workspace).as_posix()
        self.redirect(self.address("open/lab", url_escape(inside, plus=False)), status=303)

    async def fetch_data(self, course: Course) -> None:
        """The files of data beside the notebooks, those that are not there or that the class has changed."""
        taker, assignment, folder = self.taker(), course.assignment, course.copies / DATA
        board = await taker.board()
        listed: list[dict[str, Any]] = next(
            (one["data"] for one in board["assignments"] if one["name"] == assignment), []
        )
        for name in await asyncio.to_thread(_missing, folder, listed):
            data_files.checked_name(name)
            content = await taker.data_file(assignment, name)
            await asyncio.to_thread(_store_data, folder, name, content)


def _missing(folder: Path, listed: list[dict[str, Any]]) -> list[str]:
    """The names of the files that are not in `folder` as the class has them."""

    def same(file: dict[str, Any]) -> bool:
        path = folder / file["name"]
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"]

    return [file["name"] for file in listed if not same(file)]


def _store_data(folder: Path, name: str, content: bytes) -> None:
    """Read-only: a notebook that writes beside its data would lose that when the class brings another version."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / name, content)
    (folder / name).chmod(0o444)


def _store(folder: Path, notebook: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{notebook}.ipynb", content)


class TaskPanel(TaskPage, Panel):
    """The panel in Lab."""


class TaskCheck(TaskPage, Check):
    """A check of the learner's copy."""


class TaskCancelCheck(TaskPage, CancelCheck):
    """Stops it."""


class TaskAnswer(TaskPage, OpenAnswer):
    """Opens a model answer."""


class TaskHandIn(TaskPage, HandIn):
    """Hands the learner's copy in."""


def routes(shared: dict[str, Any]) -> list[tuple[Any, ...]]:
    one = "/assignments/(?P<lesson_id>[^/]+/[^/]+)"
    return [
        ("/assignments", Assignments, shared),
        ("/assignments/news", News, shared),
        (f"{one}/open", Fetch, shared),
        (f"{one}/panel", TaskPanel, shared),
        (f"{one}/check", TaskCheck, shared),
        (f"{one}/check/cancel", TaskCancelCheck, shared),
        (f"{one}/answer", TaskAnswer, shared),
        (f"{one}/hand-in", TaskHandIn, shared),
    ]
