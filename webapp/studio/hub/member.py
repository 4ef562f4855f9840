"""The class that a learner's server belongs to, and its client of the grading service."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tornado.escape import json_decode
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

from studio.gradebook.feedback import Feedback, parse
from studio.grading.checker import Assignment, Progress
from studio.grading.client import TOTAL_LIMIT_S, GradingError
from studio.grading.model_answer import ModelAnswer
from studio.grading.verdict import Verdict, parse_verdict
from studio.uploads import bounds, store

from .receipts import Receipt

QUICK_S = 20.0
SHARE_S = bounds.EXAMINE_S + 60.0
FRESH_S = 15.0  # the assignments are asked for again after that
# A check may wait for those of other learners before its own time begins.
CHECK_S = 3 * TOTAL_LIMIT_S
AWAY = (
    "The grading service of the class does not answer. Your work is safe; try again in a minute.",
    "课程的评分服务没有应答。你的作业不会丢失；请一分钟后再试。",
)
BUSY = (
    "Another check of yours is under way, in this or another window.",
    "你的另一次检查正在进行，可能在本窗口或其他窗口中。",
)


@dataclass(frozen=True)
class Membership:
    """From the environment that the Hub gave this server. `address` is the service's for a browser, `service` for this
    program; `released` has the learners' copies by language."""

    name: str
    service: str
    address: str
    released: Path
    token: str


def membership() -> Membership | None:
    """None for a personal Studio."""
    name = os.environ.get("SAMPAN_CLASS", "")
    if not name or "JUPYTERHUB_API_TOKEN" not in os.environ:
        return None
    return Membership(
        name,
        os.environ["SAMPAN_CLASS_SERVICE"],
        os.environ["SAMPAN_CLASS_ADDRESS"],
        Path(os.environ["SAMPAN_CLASS_RELEASED"]),
        os.environ["JUPYTERHUB_API_TOKEN"],
    )


class RemoteChecker:
    """The grading service as a `Checker`; it takes submissions too."""

    def __init__(self, member: Membership) -> None:
        self.member = member
        self._board: tuple[float, dict[str, Any] | GradingError] | None = None

    async def ready(self) -> dict[str, str] | None:
        try:
            await self._ask("GET", "submissions", QUICK_S)
        except GradingError as error:
            return {lang: error.words(lang) for lang in ("en", "zh")}
        return None

    async def check(self, notebook: bytes, assignment: Assignment, progress: Progress) -> Verdict:
        told = await self._ask("POST", _path("check", assignment), CHECK_S, notebook)
        if "error" in told:
            raise GradingError(told["error"], *(str(words) for words in told["words"]))
        try:
            return parse_verdict(told["verdict"])
        except (ValueError, KeyError, TypeError) as error:
            raise GradingError("unreadable", f"the service's verdict: {error!r}") from error

    async def model_answer(self, assignment: Assignment, slot: str) -> ModelAnswer:
        body = json.dumps({"slot": slot}).encode()
        told = await self._ask("POST", _path("model-answers", assignment), QUICK_S, body)
        try:
            return ModelAnswer(**told["answer"])
        except (KeyError, TypeError) as error:
            raise GradingError("unreadable", f"the service's model answer: {error!r}") from error

    async def hand_in(self, notebook: bytes, assignment: Assignment) -> Receipt:
        """Returns once the service has stored it. Raises `GradingError`."""
        try:
            return Receipt(**await self._ask("POST", _path("submissions", assignment), QUICK_S, notebook))
        finally:
            self._board = None

    async def board(self) -> dict[str, Any]:
        """The class's assignments for this learner, and its announcements, at most `FRESH_S` old. Raises `GradingError`."""
        if self._board is None or time.monotonic() - self._board[0] > FRESH_S:
            told: dict[str, Any] | GradingError
            try:
                told = await self._ask("GET", "assignments", QUICK_S)
            except (
                GradingError
            ) as error:  # not asked again at once: a page that is refreshed would wait each time
                told = error
            self._board = time.monotonic(), told
        if isinstance(self._board[1], GradingError):
            raise self._board[1]
        return self._board[1]

    async def released(self, assignment: Assignment) -> bytes:
        """The learners' copy of a notebook of an assignment. Raises `GradingError`."""
        return await self._fetch("GET", _path("assignments", assignment), QUICK_S)

    async def data_file(self, assignment: str, name: str) -> bytes:
        """A file of data beside the notebooks of an assignment. Raises `GradingError`."""
        return await self._fetch("GET", _path("data", Assignment(assignment, name)), QUICK_S)

    async def share(self, card: dict[str, Any], content: bytes) -> None:
        """Gives the class a data set of this teacher: its card and its file. Raises `GradingError`."""
        words = {word: card[word] for word in store.WORDS}
        query = urlencode({**words, "file": card["file"]})
        await self._fetch("POST", f"datasets/{card['name']}?{query}", SHARE_S, content)

    async def withdraw(self, card: dict[str, Any]) -> None:
        """Takes a version of a data set from the class again. Raises `GradingError`."""
        await self._fetch("DELETE", f"datasets/{card['name']}/{card['version']}", QUICK_S)

    async def submissions(self) -> list[dict[str, Any]]:
        """The learner's submissions, with their verdicts."""
        found: list[dict[str, Any]] = (await self._ask("GET", "submissions", QUICK_S))["submissions"]
        return found

    async def feedback(self) -> list[Feedback]:
        """What teachers have returned to the learner. Raises `GradingError`."""
        told = await self._ask("GET", "feedback", QUICK_S)
        try:
            return [parse(one) for one in told["feedback"]]
        except (ValueError, KeyError, TypeError) as error:
            raise GradingError("unreadable", f"the service's feedback: {error!r}") from error

    async def _ask(self, method: str, path: str, seconds: float, body: bytes | None = None) -> dict[str, Any]:
        answer = await self._fetch(method, path, seconds, body)
        try:
            told: dict[str, Any] = json_decode(answer)
        except ValueError as error:
            raise _away(error) from error
        return told

    async def _fetch(self, method: str, path: str, seconds: float, body: bytes | None = None) -> bytes:
        request = HTTPRequest(
            f"{self.member.service}api/{path}",
            method,
            {"Authorization": f"token {self.member.token}", "Content-Type": "application/octet-stream"},
            body,
            request_timeout=seconds,
        )
        try:
            return (await AsyncHTTPClient().fetch(request)).body
        except HTTPClientError as error:
            if error.code == 409:
                raise GradingError("refused", *_words(error)) from error
            raise _away(error) from error
        except OSError as error:
            raise _away(error) from error


def _words(error: HTTPClientError) -> tuple[str, str]:
    """What the service says about a refusal, in both languages; without words, another check is under way."""
    try:
        english, chinese = json_decode(error.response.body)["words"]  # type: ignore[union-attr]  # no response: no words
        return str(english), str(chinese)
    except (AttributeError, ValueError, KeyError, TypeError):
        return BUSY


class Away(GradingError):
    """The grading service does not answer."""


def _away(error: Exception) -> Away:
    refused = Away("refused", *AWAY)
    refused.add_note(repr(error))
    return refused


def _path(call: str, assignment: Assignment) -> str:
    return "/".join([call, *map(partial(quote, safe=""), assignment)])
