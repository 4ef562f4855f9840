"""The calls of the grading service: learners' servers make them with the learner's token of the Hub.

The learner's name is always the name that the Hub gives for the token, never one in the request.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado import web

from studio import identity
from studio.gradebook.classroom import COURSE
from studio.gradebook.received import NotTaken
from studio.gradebook.submissions import MOST_BYTES
from studio.grading.checker import Assignment
from studio.grading.client import GradingError
from studio.i18n import LANGUAGES, t
from studio.identity import User

from . import receipts
from .desk import AlreadyChecking, ServiceDesk


class Call(APIHandler):
    """Answers JSON. Members of the class may make it; a service's token names no member."""

    def initialize(self, desk: ServiceDesk) -> None:
        self.desk = desk
        self.work: asyncio.Task[Any] | None = None

    @property
    def user(self) -> User:
        return identity.of_request(self.current_user)

    @property
    def teaches(self) -> bool:
        return self.user.teaches_in(self.desk.folder.name)

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    async def prepare(self) -> None:  # type: ignore[override]  # as in APIHandler itself
        await super().prepare()
        if self.current_user and getattr(self.current_user, "hub_user", {}).get("kind") != "user":
            raise web.HTTPError(403, "only people have submissions")

    def assignment(self, name: str, notebook: str) -> Assignment:
        found = Assignment(name, notebook)
        if not self.desk.knows(found):
            raise web.HTTPError(404, f"no notebook {notebook!r} in an assignment {name!r}")
        return found

    async def open_assignment(self, name: str, notebook: str) -> Assignment:
        """One that the caller may see now: a hidden one is not there, and one that has not opened is refused."""
        found = self.assignment(name, notebook)
        if name != COURSE and not self.teaches:
            state = await asyncio.to_thread(self.desk.board.state, self.user.name, found, time.time())
            if state == "hidden":
                raise web.HTTPError(404, f"no notebook {notebook!r} in an assignment {name!r}")
            if state == "early":
                raise NotTaken(state)
        return found

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if not isinstance(value, NotTaken):
            super().log_exception(typ, value, tb)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """What the terms do not allow is said in words."""
        error = kwargs.get("exc_info", (None, None))[1]
        if not isinstance(error, NotTaken):
            super().write_error(status_code, **kwargs)
            return
        self.refuse(error.state, partial(t, f"assignments.refused.{error.state}"))

    def refuse(self, kind: str, words: Callable[[str], str], status: int = 409) -> None:
        """Says why something is not done; `words` gives the sentence in a language."""
        self.set_status(status)
        self.finish({"error": kind, "words": [words(lang) for lang in LANGUAGES]})

    def content(self) -> bytes:
        if not 0 < len(self.request.body) <= MOST_BYTES:
            raise web.HTTPError(413, f"expected a notebook of at most {MOST_BYTES >> 20} MB")
        return self.request.body

    def on_connection_close(self) -> None:
        """The learner's server has gone or has cancelled."""
        super().on_connection_close()
        if self.work is not None:
            self.work.cancel()


class Check(Call):
    """The verdict on the notebook in the body; nothing is stored."""

    @web.authenticated
    async def post(self, name: str, notebook: str) -> None:
        assignment, content = await self.open_assignment(name, notebook), self.content()
        self.work = asyncio.ensure_future(self.desk.check(self.user.name, content, assignment))
        try:
            self.finish({"verdict": asdict(await self.work)})
        except AlreadyChecking as error:
            raise web.HTTPError(409, str(error)) from error
        except GradingError as error:
            self.refuse(error.kind, error.words, status=200)


class ModelAnswers(Call):
    """The model answer of the exercise in the body, if the learner may open it; that it was opened is recorded."""

    @web.authenticated
    async def post(self, name: str, notebook: str) -> None:
        assignment = await self.open_assignment(name, notebook)
        try:
            slot = str(json.loads(self.request.body)["slot"])
        except (ValueError, TypeError, KeyError) as error:
            raise web.HTTPError(400, "expected the exercise as JSON") from error
        try:
            self.finish(asdict(await self.desk.model_answer(self.user.name, assignment, slot)))
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error
        except GradingError as error:
            self.refuse(error.kind, error.words)


class Submissions(Call):
    """The submissions of the learner; a teacher may ask for those of another one, `?learner=`."""

    @web.authenticated
    async def get(self) -> None:
        learner = self.get_query_argument("learner", self.user.name)
        if learner != self.user.name and not self.teaches:
            raise web.HTTPError(403, "only a teacher may read the submissions of others")
        found = await asyncio.to_thread(self.desk.submissions_of, learner)
        self.finish({"learner": learner, "submissions": found})


class Feedback(Call):
    """What was returned to the learner: marks and comments."""

    @web.authenticated
    async def get(self) -> None:
        self.finish({"feedback": await asyncio.to_thread(self.desk.feedback_of, self.user.name)})


class HandIn(Call):
    """Stores the notebook in the body and answers with a receipt; it is graded afterwards. Whether it is late is decided by
    the time at which the whole body has arrived here."""

    @web.authenticated
    async def post(self, name: str, notebook: str) -> None:
        arrived = time.time()
        assignment, content = await self.open_assignment(name, notebook), self.content()
        what = (self.user.name, content, assignment, arrived)
        receipt = await asyncio.to_thread(self.desk.hand_in, *what)
        self.desk.wake()
        self.set_status(201)
        self.finish(asdict(receipt))


class Assignments(Call):
    """The assignments that the learner may see, and the announcements of the class."""

    @web.authenticated
    async def get(self) -> None:
        self.finish(await asyncio.to_thread(self.desk.board.told, self.user.name, time.time()))


class Released(Call):
    """The learners' copy of a notebook of an assignment."""

    @web.authenticated
    async def get(self, name: str, notebook: str) -> None:
        place = await self.open_assignment(name, notebook)
        found = await asyncio.to_thread(self.desk.board.released, self.user.name, place, time.time())
        if found is None:
            raise web.HTTPError(404, f"no notebook {notebook!r} in an assignment {name!r}")
        self.set_header("Content-Type", "application/octet-stream")
        self.finish(found)


class DataFile(Call):
    """A file of data beside the notebooks of an assignment."""

    @web.authenticated
    async def get(self, name: str, file: str) -> None:
        found = None
        if name in self.desk.classroom.assignments():
            found = await asyncio.to_thread(self.desk.board.data, self.user.name, name, file, time.time())
        if found is None:
            raise web.HTTPError(404, f"no file {file!r} in an assignment {name!r}")
        self.set_header("Content-Type", "application/octet-stream")
        self.finish(found)


class Receipts(Call):
    """Whether the receipt in the body is one of this class, for teachers."""

    @web.authenticated
    async def post(self) -> None:
        if not self.teaches:
            raise web.HTTPError(403)
        try:
            receipt = receipts.Receipt(**json.loads(self.request.body))
            good = receipts.valid(self.desk.key, receipt)
        except (ValueError, TypeError) as error:
            raise web.HTTPError(400, "expected a receipt as JSON") from error
        self.finish({"valid": good})


def routes(desk: ServiceDesk) -> list[tuple[Any, ...]]:
    shared, place = {"desk": desk}, "([^/]+)/([^/]+)"
    return [
        (f"/check/{place}", Check, shared),
        (f"/model-answers/{place}", ModelAnswers, shared),
        ("/submissions", Submissions, shared),
        (f"/submissions/{place}", HandIn, shared),
        ("/assignments", Assignments, shared),
        (f"/assignments/{place}", Released, shared),
        (f"/data/{place}", DataFile, shared),
        ("/feedback", Feedback, shared),
        ("/receipts", Receipts, shared),
    ]
