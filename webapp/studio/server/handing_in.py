"""Handing in a notebook to the class, the receipts, and the marks that came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from tornado import web

from studio import moments
from studio.gradebook.classroom import COURSE
from studio.gradebook.feedback import Feedback
from studio.grading.client import GradingError
from studio.grading.verdict import parse_verdict
from studio.hub.receipts import Receipt
from studio.moments import minute
from studio.paths import state_folder
from studio.runtime import write_atomically

from .courses import CoursePage


def receipts_of(home: Path) -> Path:
    """The folder of the learner's receipts."""
    return state_folder(home) / "receipts"


def _keep(folder: Path, receipt: Receipt) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    moment = datetime.fromtimestamp(receipt.received).strftime("%Y-%m-%d %H.%M.%S")
    path = folder / f"{receipt.notebook} {moment}.json"
    write_atomically(path, json.dumps(asdict(receipt), indent=1).encode())
    return path


class HandingPage(CoursePage):
    def page(self, rows: list[dict[str, Any]], away: str = "", feedback: Sequence[Feedback] = ()) -> None:
        """`away` says why the class does not answer."""
        if away:
            self.set_status(503)
        receipts = receipts_of(self.course.workspace)
        self.show("handed_in.html", rows=rows, away=away, receipts=receipts, feedback=feedback, day=minute)


class HandIn(HandingPage):
    """Sends the learner's copy, as it is on the disk, to the class. The receipt is kept beside the other records. With
    `?part=1` the answer is a part of a page, for JupyterLab."""

    @web.authenticated
    async def post(self, lesson_id: str) -> None:
        taker, lesson = self.taker(), self.find(lesson_id)
        if lesson.edited is None or not lesson.graded:
            raise web.HTTPError(409, f"there is no copy of {lesson_id} to hand in")
        content = await asyncio.to_thread(lesson.copy.read_bytes)
        part = bool(self.get_query_argument("part", ""))
        try:
            receipt = await taker.hand_in(content, lesson.checked_as)
        except GradingError as error:
            self.refuse(error, "handing_said.html" if part else "handing_refused.html", receipt=None)
            return
        await asyncio.to_thread(_keep, receipts_of(self.course.workspace), receipt)
        if part:
            task = await self.terms_of(lesson)
            self.show("handing_said.html", receipt=receipt, refusal="", task=task, moments=moments)
        elif lesson.assignment == COURSE:
            self.redirect(self.address("courses", "handed-in"), status=303)
        else:
            self.redirect(f"{self.address('assignments')}#{lesson.mark_id}", status=303)


class HandedIn(HandingPage):
    """What this learner has handed in, with the marks."""

    @web.authenticated
    async def get(self) -> None:
        try:
            found = await self.taker().submissions()
            feedback = await self.taker().feedback()
        except GradingError as error:
            self.page([], error.words(self.language))
            return
        lessons = {lesson.id: lesson for lesson in await asyncio.to_thread(self.course.lessons)}
        self.page([_row(one, lessons.get(one["notebook"])) for one in found], feedback=feedback)


def _row(told: dict[str, Any], lesson: Any) -> dict[str, Any]:
    return {
        "lesson": lesson,
        "name": told["notebook"],
        "when": datetime.fromtimestamp(told["received"]).strftime("%Y-%m-%d %H:%M:%S"),
        "graded": told["graded"],
        "trouble": told["trouble"],
        "verdict": None if told["verdict"] is None else parse_verdict(told["verdict"]),
    }
