"""The teacher's pages over HTTP: for the admin alone, in words, and safe with what learners handed in."""

from __future__ import annotations

import html
import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest
import requests

from studio import identity
from studio.gradebook.classroom import Classroom
from studio.gradebook.run import Run
from studio.grading import release
from tests.webapp.gradebook.conftest import NOTEBOOK, ROOT, SOLVED, hand_in, outcomes_of
from tests.webapp.running import Studio, free_port, start_studio

pytestmark = pytest.mark.servers

DEADLINE_S = 180.0
CLASS = "Klasse 数学 Ü"


class Visitor:
    """A browser without a screen, at home in studio/grading."""

    def __init__(self, studio: Studio) -> None:
        self.session, self.base = requests.Session(), f"{studio.url}studio/grading"
        self.session.trust_env = False
        assert self.session.get(f"{studio.url}studio", params={"token": studio.token}).ok

    def get(self, path: str = "", **query: str) -> requests.Response:
        return self.session.get(self.base + path, params=query, headers={"Accept-Language": "en"})

    def post(self, path: str = "", files: object = None, **fields: object) -> requests.Response:
        data = {"_xsrf": self.session.cookies["_xsrf"], **fields}
        return self.session.post(self.base + path, data=data, files=files, headers={"Accept-Language": "en"})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def visitor(studio: Studio) -> Iterator[Visitor]:
    made = Visitor(studio)
    with made.session:
        yield made


@pytest.fixture(scope="module")
def classroom(studio: Studio, visitor: Visitor) -> Classroom:
    """Made, handed out and filled through the pages, as a teacher would."""
    assert visitor.post(name=CLASS).url.endswith(f"/grading/{quote(CLASS)}")
    reply = visitor.post(f"/{CLASS}/release", assignment="week1", lesson=[NOTEBOOK])
    assert reply.ok and "Nothing has been handed in yet." in reply.text
    made = Classroom(studio.home / "classes" / CLASS)
    copy = made.folder("release", "week1") / f"{NOTEBOOK}.ipynb"
    assert "BEGIN SOLUTION" not in copy.read_text()
    book = release.read(copy)
    for cell in book.cells:
        if release.slot_of(cell.source):
            cell.source = SOLVED + "# <script>alert(1)</script>"
    book.cells[0].source += "\n<img src=x onerror=alert(1)><script>alert(2)</script>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"amy/{NOTEBOOK}.ipynb", nbformat.writes(book))
        archive.writestr(f"../evil/{NOTEBOOK}.ipynb", "{}")
    reply = visitor.post(
        f"/{CLASS}/import", files={"file": ("work.zip", packed.getvalue())}, assignment="week1"
    )
    assert (
        "1 new or changed submissions" in reply.text
        and "the file name does not identify the learner" in reply.text
    )
    assert "Left out" not in visitor.get(f"/{CLASS}").text  # said once
    hand_in(made, "bob")
    (made.folder("submitted", "week1", "eve")).mkdir(parents=True)
    (made.folder("submitted", "week1", "eve") / f"{NOTEBOOK}.ipynb").symlink_to(
        made.path(made.submissions()[0])
    )
    return made


def test_a_run_by_the_button(visitor: Visitor, classroom: Classroom) -> None:
    assert "Grade 3 new" in visitor.get(f"/{CLASS}").text
    visitor.post(f"/{CLASS}/run", scope="new")
    assert "data-active" in visitor.get(f"/{CLASS}", assignment="week1", part="1").text
    deadline = time.monotonic() + DEADLINE_S
    while "data-active" in (board := visitor.get(f"/{CLASS}", assignment="week1", part="1").text):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert "The last run graded 3 of 3." in board and "1 of them could not be graded." in board
    assert "<html" not in board  # a piece of the page, not the page
    table = visitor.get(f"/{CLASS}").text
    for words in ("Passed", "Not attempted", "Could not be graded", "Grade the 2 not passed again"):
        assert words in table
    assert {o.student: o.trouble for o in outcomes_of(classroom)} == {"amy": "", "bob": "", "eve": "link"}


def test_marks_for_a_spreadsheet(visitor: Visitor, classroom: Classroom) -> None:
    reply = visitor.get(f"/{CLASS}/marks.csv")
    assert (
        reply.headers["Content-Type"] == "text/csv; charset=utf-8"
        and "attachment" in reply.headers["Content-Disposition"]
    )
    assert reply.text.startswith("assignment,duedate,timestamp,student_id,") and "week1,,20" in reply.text


def test_a_submission_can_be_looked_at_and_does_nothing(visitor: Visitor, classroom: Classroom) -> None:
    page = visitor.get(f"/{CLASS}/work/week1/{NOTEBOOK}/amy")
    assert page.ok and 'sandbox=""' in page.text and "Grade again" in page.text
    answer = html.unescape(re.sub(r'<span class="is-[a-z]+">|</span>', "", page.text))
    assert SOLVED in answer and "<script>alert" not in page.text and "&lt;script&gt;" in page.text
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    shown = visitor.get(f"/{CLASS}/work/week1/{NOTEBOOK}/amy/notebook")
    assert "clamp" in shown.text
    assert "<script" not in shown.text and "onerror" not in shown.text
    assert shown.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    link = visitor.get(f"/{CLASS}/work/week1/{NOTEBOOK}/eve")
    assert "A symbolic link was handed in" in link.text
    unread = visitor.get(f"/{CLASS}/work/week1/{NOTEBOOK}/eve/notebook")
    assert unread.text == "The submission cannot be shown." and "text/plain" in unread.headers["Content-Type"]


def fields(page: str) -> dict[str, str]:
    """What the form of a submission holds."""
    found = dict(re.findall(r'<input[^>]*? name="([a-z]+-[0-9-]+)"[^>]*? value="([^"]*)"', page))
    found |= dict(re.findall(r'<textarea[^>]*? name="(comment-\d+)"[^>]*>([^<]*)<', page))
    return {name: html.unescape(value) for name, value in found.items()}


def test_marks_by_hand_and_two_teachers(visitor: Visitor, classroom: Classroom) -> None:
    work = f"/{CLASS}/work/week1/{NOTEBOOK}/amy"
    first = fields(visitor.get(work).text)
    assert set(first) == {"seen-0", "manual-0-0", "extra-0-0", "comment-0"}
    reply = visitor.post(work, **{**first, "manual-0-0": "0,5", "comment-0": "Look at <b>ties</b>."})
    assert reply.url.endswith("amy?saved=1") and "Saved." in reply.text
    assert "Look at &lt;b&gt;ties&lt;/b&gt;." in reply.text
    # A second teacher, who has not seen this: refused in words, with both versions on the page.
    refused = visitor.post(work, **{**first, "manual-0-0": "1", "comment-0": "Mine."})
    assert refused.status_code == 409 and "another teacher has changed the parts below" in refused.text
    held = fields(refused.text)
    assert (held["manual-0-0"], held["comment-0"]) == ("1", "Mine.") and "0.5 by hand" in refused.text
    assert fields(visitor.get(work).text)["comment-0"] == "Look at <b>ties</b>."
    wrong = visitor.post(work, **{**held, "manual-0-0": "7"})
    assert wrong.status_code == 409 and 'aria-invalid="true"' in wrong.text
    assert fields(wrong.text)["comment-0"] == "Mine."
    assert visitor.post(work, **held, then="next").url.endswith("bob?saved=1")  # having seen it, on purpose
    assert fields(visitor.get(work).text)["comment-0"] == "Mine."
    assert visitor.session.post(visitor.base + work, data=held).status_code == 403  # from elsewhere


def test_returned_withdrawn_and_listed(visitor: Visitor, classroom: Classroom) -> None:
    work = f"/{CLASS}/work/week1/{NOTEBOOK}/amy"
    assert "Not returned to this learner." in visitor.get(work).text
    place = visitor.base.removeprefix(visitor.base.split("/studio/")[0])
    back = {"assignment": "week1", "learner": "amy", "next": f"{place}{quote(work)}"}
    assert "Returned 20" in visitor.post(f"/{CLASS}/return", **back).text
    assert "Returned to 1 of 3." in visitor.get(f"/{CLASS}").text
    assert (classroom.root / "feedback" / "amy" / "week1" / f"{NOTEBOOK}.html").is_file()
    assert "Returned to 3 of 3." in visitor.post(f"/{CLASS}/return", assignment="week1").text
    assert "Returned to 0 of 3." in visitor.post(f"/{CLASS}/return", assignment="week1", withdraw="1").text
    assert visitor.post(f"/{CLASS}/return", assignment="week9").status_code == 409


def test_versions_and_the_view_of_the_class(visitor: Visitor, classroom: Classroom) -> None:
    work = f"/{CLASS}/work/week1/{NOTEBOOK}/amy"
    key = re.findall(r"\?version=([0-9a-f-]+)", visitor.get(work).text)[0]
    earlier = visitor.get(work, version=key).text
    assert "An earlier version" in earlier and "clamp" in earlier and "manual-0-0" not in earlier
    assert "clamp" in visitor.get(f"{work}/notebook", version=key).text
    for wrong in ("0" * 16 + "-" + "0" * 16, "../x"):
        assert visitor.get(work, version=wrong).status_code == 404
    table = visitor.get(f"/{CLASS}", only="incomplete", find="BOB").text
    assert 'id="learner-bob"' in table and 'id="learner-amy"' not in table
    assert visitor.get(f"/{CLASS}", sort="shoe size").status_code == 400
    assert visitor.get(f"/{CLASS}/marks", form="xml").status_code == 400
    told = visitor.get(f"/{CLASS}/marks", form="lti", assignment="week1")
    assert told.headers["Content-Type"].startswith("application/x-ndjson")
    assert {json.loads(line)["userId"] for line in told.text.splitlines()} == {"amy", "bob", "eve"}


def test_similarity(visitor: Visitor, classroom: Classroom) -> None:
    reply = visitor.get(f"/{CLASS}/alike/week1/{NOTEBOOK}")
    assert reply.ok and "2 submissions compared" in reply.text and "Not compared" in reply.text
    pair = visitor.get(f"/{CLASS}/alike/week1/{NOTEBOOK}", first="amy", second="bob")
    assert pair.ok and "&lt;script&gt;alert(1)" in pair.text and "<script>alert" not in pair.text


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/..%2f..", "/%2e%2e", f"/{CLASS}/work/week1/{NOTEBOOK}/nobody", f"/{CLASS}/nothing"),
        *(f"/{CLASS}/work/..%2f..%2f/{NOTEBOOK}/amy", f"/{CLASS}/work/week1/..%2f{NOTEBOOK}/amy/notebook"),
    ],
)
def test_nothing_else_is_served(visitor: Visitor, classroom: Classroom, path: str) -> None:
    assert visitor.get(path).status_code == 404


def test_what_does_not_fit_is_said_in_words(visitor: Visitor, classroom: Classroom) -> None:
    for reply, words in (
        (visitor.post(name="../x"), "a name of letters"),
        (visitor.post(name=CLASS), "already"),
        (visitor.post(f"/{CLASS}/release", assignment="week2"), "at least one notebook"),
        (
            visitor.post(f"/{CLASS}/import", files={"file": ("a.zip", b"x")}, assignment="week1"),
            "not a readable zip file",
        ),
        (visitor.get(f"/{CLASS}/alike/week1/nothing"), "not possible in the current state"),
    ):
        assert reply.status_code == 409 and words in reply.text
    assert visitor.get(f"/{CLASS}", assignment="week9").status_code == 404
    assert visitor.post(f"/{CLASS}/run", scope="everything").status_code == 400
    assert not (classroom.root.parent / "x").exists()


def test_without_the_token_and_from_elsewhere(studio: Studio, visitor: Visitor, classroom: Classroom) -> None:
    with requests.Session() as stranger:
        stranger.trust_env = False
        for path in ("", f"/{CLASS}", f"/{CLASS}/marks.csv", f"/{CLASS}/work/week1/{NOTEBOOK}/amy/notebook"):
            assert "/login" in stranger.get(visitor.base + path).url
    for path in ("", *(f"/{CLASS}/{what}" for what in ("run", "cancel", "release", "import", "return"))):
        assert (
            visitor.session.post(visitor.base + path, data={"name": "x", "assignment": "week1"}).status_code
            == 403
        )


def test_only_for_the_admin(tmp_path: Path) -> None:
    """Under a hub every learner has a separate Studio, without the role of a teacher."""
    learner = start_studio(
        tmp_path / "sampan",
        *("--port", str(free_port())),
        HOME=str(tmp_path),
        JUPYTERHUB_USER="amy",
        SAMPAN_WARM_KERNELS="0",
    )
    try:
        visitor = Visitor(learner)
        with visitor.session:
            assert "/studio/grading" not in visitor.session.get(f"{learner.url}studio/courses").text
            assert visitor.get().status_code == visitor.post(name="mine").status_code == 403
            assert not (tmp_path / "sampan" / "classes").exists()
    finally:
        learner.stop()


def test_a_run_that_was_killed_is_said_so(visitor: Visitor, classroom: Classroom) -> None:
    path = classroom.private / "run.json"
    before = path.read_text()
    killed = Run(pid=2**22 + 1, started=1.0, scope="new", total=9, done=4)
    path.write_text(json.dumps(asdict(killed)))
    try:
        assert "The last run was interrupted: 4 of 9 were graded." in visitor.get(f"/{CLASS}").text
    finally:
        path.write_text(before)


def test_a_check_of_ones_own_lands_in_a_gradebook(studio: Studio, visitor: Visitor) -> None:
    base = f"{studio.url}studio/courses/{NOTEBOOK}"
    token = {"_xsrf": visitor.session.cookies["_xsrf"]}
    copy = studio.home / "notebooks" / f"{NOTEBOOK}.ipynb"
    if not copy.exists():
        copy.parent.mkdir(exist_ok=True)
        release.write(release.release(release.read(ROOT / "notebooks" / f"{NOTEBOOK}.ipynb")), copy)
    assert visitor.session.post(f"{base}/check", data=token).ok
    own = studio.home / "classes" / "own"
    deadline = time.monotonic() + DEADLINE_S
    while not own.is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    while "Not attempted" not in (page := visitor.get("/own").text):
        assert time.monotonic() < deadline, page
        time.sleep(0.2)
    assert identity.local().name in page and "This Studio" in page


def test_a_notebook_without_hidden_checks_is_named_and_has_no_button(
    visitor: Visitor, classroom: Classroom
) -> None:
    extra = classroom.folder("release", "week1") / "extra.ipynb"
    handed_in = classroom.folder("submitted", "week1", "amy") / extra.name
    for path in (extra, handed_in):
        path.write_bytes((extra.parent / f"{NOTEBOOK}.ipynb").read_bytes())
    try:
        page = visitor.get(f"/{CLASS}", assignment="week1").text
        assert "there are no hidden checks for: extra." in page and " new</button>" not in page
        work = visitor.get(f"/{CLASS}/work/week1/extra/amy").text
        assert "there are no hidden checks for: extra." in work and "Grade again" not in work
        assert "/run" not in work
    finally:
        extra.unlink()
        handed_in.unlink()
