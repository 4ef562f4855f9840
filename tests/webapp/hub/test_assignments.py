"""Assignments of a class, from the teacher's form to a learner's receipt, over HTTP: the service decides, by its clock."""

from __future__ import annotations

import json
import re
import socket
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import numpy as np
import pytest
import requests

from studio import moments
from studio.gradebook import announcements, book, data_files, openings, received, terms
from studio.gradebook.classroom import Submission
from studio.grading.checker import Assignment
from studio.grading.client import GradingError
from studio.grading.release import read, release
from studio.grading.verdict import Result, Verdict
from studio.paths import NOTEBOOKS

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")

from tests.webapp.hub.service_alone import NOTEBOOK, PREFIX, Alone, serving_alone

pytestmark = pytest.mark.servers
COURSE_COPY = Assignment("course", NOTEBOOK)
ESSAY = Assignment("week 1", "essay")


def essay(points: float = 2.0) -> bytes:
    """A plain notebook of nbgrader: a written answer, marked by hand."""
    cell = nbformat.v4.new_markdown_cell("### BEGIN SOLUTION\nThe sun warms it.\n### END SOLUTION", id="a1")
    cell.metadata["nbgrader"] = {
        **{"grade": True, "solution": True, "locked": False, "task": False, "schema_version": 3},
        **{"grade_id": "why", "points": points},
    }
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode()


def untouched() -> bytes:
    return nbformat.writes(release(read(NOTEBOOKS / f"{NOTEBOOK}.ipynb"))).encode()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with serving_alone(tmp_path_factory.mktemp("alone")) as running:
        yield running


Ask = Callable[..., requests.Response]


@pytest.fixture(scope="module")
def ask(alone: Alone) -> Ask:
    """`ask(who, method, path, **options)`; a path without a slash in front is a teacher's page of the class."""

    def once(who: str, method: str, path: str, **options: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            place = path if path.startswith("/") else f"{PREFIX}studio/grading/7b{'/' if path else ''}{path}"
            headers = {"Authorization": f"token {who}-token", "Accept-Language": "en"}
            return session.request(
                method, alone.url + place, headers=headers, allow_redirects=False, timeout=60, **options
            )

    return once


@pytest.fixture(scope="module")
def released(alone: Alone, ask: Ask) -> None:
    """The teacher's own notebook, by the form."""
    reply = ask(
        *("tia", "POST", "release"),
        data={"assignment": "week 1", "visible": "1"},
        files=[("own", ("essay.ipynb", essay()))],
    )
    assert reply.status_code == 303, reply.text


def seconds_from_now(seconds: float) -> str:
    return moments.field(time.time() + seconds)


def set_terms(ask: Ask, assignment: str, **values: str) -> requests.Response:
    return ask("tia", "POST", "terms", data={"assignment": assignment, "late": "marked", **values})


def test_a_released_notebook_reaches_a_learner_without_its_solution(
    alone: Alone, ask: Ask, released: None
) -> None:
    learner = alone.member("ada")
    (one,) = alone.run(learner.board())["assignments"]
    assert one["name"] == "week 1" and one["due"] is None
    (notebook,) = one["notebooks"]
    assert notebook["name"] == "essay" and notebook["points"] == 2.0 and not notebook["checked"]
    copy = alone.run(learner.released(ESSAY)).decode()
    assert "The sun warms it" not in copy and "write here" in copy
    packed = ask("tia", "GET", "release/week%201.zip")
    with zipfile.ZipFile(BytesIO(packed.content)) as archive:
        assert archive.namelist() == ["week 1/essay.ipynb"]
        assert archive.read("week 1/essay.ipynb").decode() == copy
    assert ask("ada", "GET", "release/week%201.zip").status_code == 403
    receipt = alone.run(learner.hand_in(copy.encode(), ESSAY))
    assert re.fullmatch(r"([0-9A-F]{4}-){2}[0-9A-F]{4}", receipt.number)
    page = ask("tia", "GET", "?assignment=week%201").text
    assert "essay" in page and "Download release.zip" in page


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("plain.ipynb", nbformat.writes(nbformat.v4.new_notebook()).encode(), "no graded cell"),
        ("broken.ipynb", b"{", "is not a Jupyter notebook"),
        ("notes.txt", b"", "expected notebooks"),
        ("../up.ipynb", essay(), None),
        ("marked.ipynb", essay().replace(b"### BEGIN SOL", b"<!-- BEGIN SOL"), "without"),
        ("slots.ipynb", (NOTEBOOKS / f"{NOTEBOOK}.ipynb").read_bytes(), "no hidden checks"),
    ],
)
def test_what_cannot_be_released_is_refused_in_words(
    alone: Alone, ask: Ask, name: str, content: bytes, words: str | None
) -> None:
    reply = ask("tia", "POST", "release", data={"assignment": "bad"}, files=[("own", (name, content))])
    if words is None:  # only the last part of a name counts
        assert reply.status_code == 303 and alone.classroom.assignments()["bad"] == ["up"]
        return
    assert reply.status_code == 409 and words in reply.text
    assert not (alone.classroom.root / "source" / "bad" / name).exists()


def test_hidden_checks_are_brought_by_administrators_alone(ask: Ask) -> None:
    """They would run with the rights of the grading account."""
    files = [("own", ("essay.ipynb", essay())), ("own", ("essay.py", b"EXERCISES = []"))]
    reply = ask("tia", "POST", "release", data={"assignment": "code"}, files=files)
    assert reply.status_code == 403


def test_a_version_with_other_graded_cells_is_refused_once_something_was_handed_in(
    alone: Alone, ask: Ask, released: None
) -> None:
    alone.run(alone.member("ada").hand_in(b"{}", ESSAY))
    with book.opened(alone.classroom) as gradebook:
        book.enter_by_hand(gradebook, Submission("ada", *ESSAY), time.time())
    other = essay().replace(b'"why"', b'"what"')
    before = (alone.classroom.folder("source", "week 1") / "essay.ipynb").read_bytes()
    reply = ask(
        "tia", "POST", "release", data={"assignment": "week 1"}, files=[("own", ("essay.ipynb", other))]
    )
    assert reply.status_code == 409, reply.text
    assert terms.of(alone.classroom, "week 1").visible
    assert (alone.classroom.folder("source", "week 1") / "essay.ipynb").read_bytes() == before
    newer = essay().replace(b"The sun warms it.", b"The sun heats it.")
    data = {"assignment": "week 1", "visible": "1"}
    assert (
        ask("tia", "POST", "release", data=data, files=[("own", ("essay.ipynb", newer))]).status_code == 303
    )
    assert "Submissions of the earlier one: 1." in ask("tia", "GET", "?assignment=week%201").text


def test_the_deadline_is_the_services(alone: Alone, ask: Ask, released: None) -> None:
    learner = alone.member("ada")
    before = received.used(alone.classroom, Submission("ada", *ESSAY))
    set_terms(ask, "week 1", deadline=seconds_from_now(-3600), late="refused")
    with pytest.raises(GradingError, match="The deadline has passed") as refused:
        alone.run(learner.hand_in(b"{}", ESSAY))
    assert "截止时间已过" in refused.value.words("zh")
    assert alone.run(learner.board())["assignments"][0]["notebooks"][0]["state"] == "closed"
    assert received.used(alone.classroom, Submission("ada", *ESSAY)) == before

    data = {"assignment": "week 1", "learner": "ada", "days": "1"}
    assert ask("tia", "POST", "extension", data=data).status_code == 303
    assert alone.run(learner.hand_in(b"{}", ESSAY))
    with pytest.raises(GradingError):
        alone.run(alone.member("bob").hand_in(b"{}", ESSAY))

    set_terms(ask, "week 1", deadline=seconds_from_now(-90_000), late="penalty", percent="50")
    assert alone.run(alone.member("ada").board())["assignments"][0]["notebooks"][0]["penalty"] == 1.0

    set_terms(ask, "week 1", opens=seconds_from_now(3600))
    with pytest.raises(GradingError, match="not open yet"):
        alone.run(learner.released(ESSAY))
    (one,) = [one for one in alone.run(alone.member("bob").board())["assignments"] if one["name"] == "week 1"]
    assert one["early"] and one["notebooks"] == []

    ask("tia", "POST", "visible", data={"assignment": "week 1", "visible": ""})
    assert "week 1" not in [one["name"] for one in alone.run(alone.member("bob").board())["assignments"]]
    for call in ("check", "submissions", "assignments"):
        method = "GET" if call == "assignments" else "POST"
        assert ask("bob", method, f"{PREFIX}api/{call}/week%201/essay", data=b"{}").status_code == 404
    ask("tia", "POST", "visible", data={"assignment": "week 1", "visible": "1"})
    set_terms(ask, "week 1")


def test_as_many_hand_ins_as_allowed_from_many_windows(alone: Alone, ask: Ask) -> None:
    assert set_terms(ask, "course", attempts="3").status_code == 303
    call, bob = f"{PREFIX}api/submissions/course/{NOTEBOOK}", Submission("bob", *COURSE_COPY)

    def send(number: int) -> requests.Response:
        return ask("bob", "POST", call, data=untouched() + b" " * number)

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(send, range(8)))
    assert sorted(reply.status_code for reply in replies) == [201] * 3 + [409] * 5
    receipts = {reply.json()["sha256"] for reply in replies if reply.ok}
    history = received.history(alone.classroom, bob)
    assert [one.number for one in history] == [1, 2, 3]
    assert {one.mark.partition(":")[2] for one in history} == receipts
    assert next(reply for reply in replies if not reply.ok).json()["error"] == "used"
    board = alone.run(alone.member("bob").board())["assignments"]
    (course,) = [one for one in board if one["name"] == "course"]
    assert course["notebooks"][0]["used"] == 3 and course["notebooks"][0]["state"] == "used"
    set_terms(ask, "course")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"deadline": "tomorrow"}, "such as 2026-12-01 23:59"),
        ({"percent": "x"}, "percent: expected a number"),
        ({"percent": "nan"}, "percentages from 0 to 100"),
        ({"attempts": "1.5"}, "attempts: expected a whole number"),
        ({"late": "never"}, "late: expected one of"),
    ],
)
def test_terms_that_do_not_fit_change_nothing(
    alone: Alone, ask: Ask, released: None, values: dict[str, str], words: str
) -> None:
    before = terms.load(alone.classroom)
    reply = set_terms(ask, "week 1", **values)
    assert reply.status_code == 409 and words in reply.text
    assert terms.load(alone.classroom) == before
    assert set_terms(ask, "none such").status_code == 404


def test_announcements_are_plain_text_with_links(alone: Alone, ask: Ask) -> None:
    text = "Hello <b>all</b>,\r\n\r\nread https://example.org/a?b=1&c=2. And javascript:alert(1)"
    assert ask("tia", "POST", "announcements", data={"text": text}).status_code == 303
    page = ask("tia", "GET", "").text
    assert "Hello &lt;b&gt;all&lt;/b&gt;," in page and "<b>all" not in page
    assert (
        '<a href="https://example.org/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer nofollow">'
        in page
    )
    assert 'href="javascript' not in page
    (one,) = alone.run(alone.member("ada").board())["announcements"]
    assert one["author"] == "tia" and one["edited"] == 0
    ask("tia", "POST", "announcements", data={"id": one["id"], "text": "Shorter"})
    (edited,) = announcements.load(alone.classroom)
    assert edited.text == "Shorter" and edited.version > one["written"]
    assert ask("tia", "POST", "announcements", data={"text": " "}).status_code == 409
    assert ask("tia", "POST", "announcements", data={"text": "x" * 5001}).status_code == 409
    for who in ("ada", "nobody"):
        assert ask(who, "POST", "announcements", data={"text": "I"}).status_code == 403
    ask("tia", "POST", "announcements", data={"id": edited.id, "delete": "1"})
    assert announcements.load(alone.classroom) == []


@pytest.mark.parametrize(
    ("who", "size", "closed"), [("tia", 256, False), ("ada", 21, False), ("ada", 22, True)]
)
def test_a_teacher_sends_a_large_zip_file_and_a_learner_one_notebook(
    alone: Alone, who: str, size: int, closed: bool
) -> None:
    """As large as the page says. The size is refused, or not, before a byte of the body is sent."""
    address = urlsplit(alone.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"POST {PREFIX}studio/grading/7b/import HTTP/1.1\r\nHost: x\r\nAuthorization: token {who}-token\r\n"
        connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {size << 20}\r\n\r\n".encode())
        answer = connection.recv(100)
        while closed and (part := connection.recv(100)):
            answer += part
    assert answer.startswith(b"HTTP/1.1 100") and (b"HTTP/1.1 400" in answer) == closed


def test_when_a_zip_file_was_handed_in_is_said_by_the_teacher(alone: Alone, ask: Ask, released: None) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("cy/essay.ipynb", b"{}")
    data = {"assignment": "week 1", "received": "2026-01-02 03:04"}
    assert (
        ask("tia", "POST", "import", data=data, files={"file": ("x.zip", packed.getvalue())}).status_code
        == 303
    )
    stamp = alone.classroom.folder("submitted", "week 1", "cy") / "timestamp.txt"
    when = moments.parse("2026-01-02 03:04")
    assert when is not None and stamp.read_text().startswith(
        time.strftime("%Y-%m-%d %H:%M", time.gmtime(when))
    )


# ---- what the learner's own Studio does with it


def test_receipts_and_terms_are_no_part_of_a_request(alone: Alone, ask: Ask, released: None) -> None:
    """A learner cannot say when, or as whom."""
    call = f"{PREFIX}api/submissions/week%201/essay"
    reply = ask("bob", "POST", call, data=b"{}", params={"received": "1", "learner": "ada"})
    told = json.loads(reply.text)
    assert told["learner"] == "bob" and abs(told["received"] - time.time()) < 60
    for path in ("terms", "extension", "visible", "release", "import"):
        assert ask("bob", "POST", path, data={"assignment": "week 1"}).status_code == 403, path
    its = terms.of(alone.classroom, "week 1")
    assert its.deadline is None and its.visible and its.extensions == {"ada": 86400.0}


def test_data_comes_with_a_teachers_notebook(alone: Alone, ask: Ask, tmp_path: Path) -> None:
    table, pixels = b"title,year\nStalker,1979\n", BytesIO()
    np.save(pixels, np.zeros((2, 3), np.float32))

    def release(*files: tuple[str, bytes]) -> requests.Response:
        sent = [("own", file) for file in (("films.ipynb", essay()), *files)]
        return ask("tia", "POST", "release", data={"assignment": "films", "visible": "1"}, files=sent)

    assert release(("films.csv", table), ("pixels.npy", pixels.getvalue())).status_code == 303
    (one,) = [one for one in alone.run(alone.member("ada").board())["assignments"] if one["name"] == "films"]
    assert [(file["name"], file["size"]) for file in one["data"]] == [("films.csv", 24), ("pixels.npy", 152)]
    assert alone.run(alone.member("ada").data_file("films", "films.csv")) == table
    with zipfile.ZipFile(BytesIO(ask("tia", "GET", "release/films.zip").content)) as archive:
        assert archive.read("films/data/films.csv") == table
    assert "data/films.csv" in ask("tia", "GET", "?assignment=films").text
    for name, content, words in (
        ("films.npy", table, "films.npy"),  # its name says another format
        ("films.csv", b"\x7fELF" + bytes(40), "films.csv"),
        ("films.exe", b"MZ", "films.exe"),
        ("large.csv", b"a,b\n" + b"1,2\n" * (5 << 20), "at most 16 MB"),
    ):
        refused = release((name, content))
        assert refused.status_code in (403, 409) and words in refused.text, name
    assert alone.run(alone.member("ada").data_file("films", "films.csv")) == table  # as before
    for path in ("films/..%2Ffilms.ipynb", "films/none.csv", "course/films.csv", "none/films.csv"):
        assert ask("ada", "GET", f"{PREFIX}api/data/{path}").status_code == 404, path
    ask("tia", "POST", "visible", data={"assignment": "films", "visible": ""})
    assert ask("ada", "GET", f"{PREFIX}api/data/films/films.csv").status_code == 404
    assert release(("other.csv", table)).status_code == 303  # the files of before are gone
    assert [file.name for file in data_files.released(alone.classroom, "films")] == ["other.csv"]


def test_a_model_answer_comes_from_the_service_when_the_class_allows_it(alone: Alone, ask: Ask) -> None:
    learner, slot = alone.member("ada"), "ops.relu"
    call = f"{PREFIX}api/model-answers/course/{NOTEBOOK}"
    assert alone.run(learner.board())["answers"] == {"when": "failures", "failures": 3, "deadline": None}
    with pytest.raises(GradingError, match="after 3 failed checks"):
        alone.run(learner.model_answer(COURSE_COPY, slot))
    set_terms(ask, "course", answers="failures", failures="1")
    wrong = (Result(slot, "A", "甲", 1, 0, False, "", ""),)
    openings.of(alone.classroom, "ada").checked(COURSE_COPY, Verdict(wrong))
    with pytest.raises(GradingError, match="after 1 failed check"):
        alone.run(alone.member("bob").model_answer(COURSE_COPY, slot))  # has not tried
    answer = alone.run(learner.model_answer(COURSE_COPY, slot))
    assert "threshold_backward" in answer.source and answer.why_zh
    assert ask("ada", "POST", call, json={"slot": "ops.exp"}).status_code == 404  # not of this notebook
    assert ask("ada", "POST", call, data=b"[]").status_code == 400
    set_terms(ask, "course", answers="never")
    assert alone.run(learner.model_answer(COURSE_COPY, slot)) == answer  # it was opened before
    with pytest.raises(GradingError, match="no model answers") as refused:
        alone.run(alone.member("bob").model_answer(COURSE_COPY, slot))
    assert "不提供" in refused.value.words("zh")
    page = ask("tia", "GET", "?assignment=course").text
    assert "Model answers that were opened: 1" in page and "ada: " in page

    set_terms(ask, "course", answers="deadline", deadline=seconds_from_now(-5))
    with pytest.raises(GradingError, match="still being graded"):  # what bob has handed in above
        alone.run(alone.member("bob").model_answer(COURSE_COPY, slot))
    assert set_terms(ask, "course", answers="always").status_code == 409


def test_moments_are_said_with_their_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        summer = moments.parse("2026-07-01T23:59")
        assert summer is not None and moments.shown(summer) == "2026-07-01 23:59 UTC+02:00"
        assert moments.zone(summer) == "CEST, UTC+02:00" and moments.field(summer) == "2026-07-01T23:59:00"
    finally:
        monkeypatch.undo()
        time.tzset()
    spoken = [moments.left(seconds, "en") for seconds in (59, 61, 3600, 5400, 2 * 86400 + 3 * 3600 + 1)]
    assert spoken == ["less than a minute", "1 minute", "1 hour", "1 hour 30 minutes", "2 days 3 hours"]
    assert moments.left(2 * 86400 + 3 * 3600, "zh") == "2 天 3 小时"


def test_the_folder_of_a_class_is_all_there_is(alone: Alone) -> None:
    """Nothing of these tests is left beside it."""
    root = Path(alone.desk.folder.root)
    assert {path.name for path in root.iterdir()} == {"grading", "released"}
