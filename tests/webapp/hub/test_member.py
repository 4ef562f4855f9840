"""A learner's client of the grading service: what it does when the service is away or says nonsense."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from studio.gradebook.feedback import Feedback, Returned, ReturnedNotebook
from studio.grading.checker import Assignment
from studio.grading.client import GradingError
from studio.grading.verdict import Result, StoppedCell, Verdict, parse_verdict
from studio.hub.member import Membership, RemoteChecker, membership
from tests.webapp.running import free_port

VERDICT = Verdict(
    (
        Result(
            "ops.relu",
            "Relu",
            "线性整流",
            2.0,
            1.0,
            False,
            "no",
            "不",
            verdict="timed_out",
            case="a",
            hint="h",
        ),
    ),
    (StoppedCell(3, "while True:"),),
    sandboxed=False,
    programs={"ops.relu": "def relu(x): ..."},
)


def member(port: int) -> Membership:
    return Membership("7b", f"http://127.0.0.1:{port}/services/sampan-7b/", "/x", Path("/"), "the-token")


def test_a_verdict_survives_the_way() -> None:
    assert parse_verdict(json.loads(json.dumps(asdict(VERDICT)))) == VERDICT


@pytest.mark.parametrize(
    "broken", [{}, {"exercises": [{}], "stopped": [], "sandboxed": True, "programs": {}}, []]
)
def test_what_is_no_verdict_is_not_taken_for_one(broken: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        parse_verdict(broken)


def test_a_service_that_is_away_is_said_in_both_languages() -> None:
    async def ask() -> dict[str, str] | None:
        return await RemoteChecker(member(free_port())).ready()

    told = asyncio.run(ask())
    assert told is not None and "does not answer" in told["en"] and "没有应答" in told["zh"]


def answering(
    status: int, body: bytes, act: Callable[[RemoteChecker], Awaitable[Any]]
) -> tuple[Any, list[Any]]:
    """What `act` gives when the service answers this, and the requests that it got."""
    asked: list[Any] = []

    class Answer(web.RequestHandler):
        def prepare(self) -> None:
            request = self.request
            asked.append((request.method, request.path, request.headers.get("Authorization"), request.body))
            self.set_status(status)
            self.finish(body)

    async def run() -> Any:
        (listening,) = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
        server = HTTPServer(web.Application([(".*", Answer)]))
        server.add_sockets([listening])
        try:
            return await act(RemoteChecker(member(listening.getsockname()[1])))
        finally:
            server.stop()
            await server.close_all_connections()

    return asyncio.run(run()), asked


def check(checker: RemoteChecker) -> Awaitable[Verdict]:
    return checker.check(b"bytes", Assignment("week 1", "a/b"), lambda step: None)


def test_a_check_sends_the_bytes_and_the_token_and_no_name() -> None:
    body = json.dumps({"verdict": asdict(VERDICT)}).encode()
    verdict, asked = answering(200, body, check)
    assert verdict == VERDICT
    assert asked == [("POST", "/services/sampan-7b/api/check/week%201/a%2Fb", "token the-token", b"bytes")]


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (200, b'{"error": "broken", "words": ["not a notebook", "x"]}', "broken", "not a notebook"),
        (200, b'{"verdict": {"exercises": 1}}', "unreadable", "verdict"),
        (200, b"<html>", "refused", "does not answer"),
        (403, b"{}", "refused", "does not answer"),
        (502, b"{}", "refused", "does not answer"),
        (409, b"{}", "refused", "Another check of yours"),
    ],
)
def test_other_answers_are_no_verdict(status: int, body: bytes, kind: str, words: str) -> None:
    with pytest.raises(GradingError, match=words) as caught:
        answering(status, body, check)
    assert caught.value.kind == kind


def test_feedback_of_the_learner_whom_the_token_names() -> None:
    exercise = Returned("A", "甲", 2.0, 1.5, by_hand=True, comment="<b>", verdict="failed")
    sent = Feedback("week1", "ada", (ReturnedNotebook("a", (exercise,)),), penalty=0.5, returned=1.7e9)
    body = json.dumps({"feedback": [sent.as_json()]}).encode()
    found, asked = answering(200, body, lambda checker: checker.feedback())
    assert found == [sent] and found[0].score == 1.0
    assert asked == [("GET", "/services/sampan-7b/api/feedback", "token the-token", b"")]
    for wrong in (b"{}", b'{"feedback": [{"assignment": "x"}]}', b'{"feedback": 3}'):
        with pytest.raises(GradingError):
            answering(200, wrong, lambda checker: checker.feedback())


def test_a_personal_studio_belongs_to_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAMPAN_CLASS", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert membership() is None
    monkeypatch.setenv("SAMPAN_CLASS", "7b")  # inherited by a program without the Hub's token
    assert membership() is None
