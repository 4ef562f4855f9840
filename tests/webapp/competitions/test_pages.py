"""Who may do what on the pages, and what a learner can read before the end."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from studio import i18n
from studio.hub import receipts
from studio.hub.receipts import Receipt
from tests.webapp.competitions.rooms import ROWS, answer, solution
from tests.webapp.competitions.serving import Person, service
from tests.webapp.running import until

pytest.importorskip("jupyterhub", reason="needs the extra `hub`")
pytestmark = pytest.mark.servers
NAME = "flowers"
FORM = {
    **{
        "name": NAME,
        "title": "Flowers",
        "title_zh": "花",
        "description": "# Name *flowers*\n\n<script>alert(1)</script>\n\n[x](javascript:y) ![x](http://evil.example/x.png) <b onclick='z()'>c</b>",
    },
    **{
        "description_zh": "",
        "metric": "accuracy",
        "k": "5",
        "id_column": "id",
        "split_column": "Usage",
        "share": "50",
    },
    **{
        "start": "2020-01-01T00:00",
        "deadline": "2099-01-01T00:00",
        "daily": "3",
        "team_size": "2",
        "most_mb": "0.5",
    },
    **{"notebook_seconds": "0", "code": ""},
}
# 10 public and 10 private rows.
LABELS = solution().replace(b"id,label", b"id,label,Usage")
LABELS = b"\n".join(
    line + (b"" if b"id" in line else b",Public" if n <= 10 else b",Private")
    for n, line in enumerate(LABELS.split(b"\n"))
    if line
)


def guess(public: int, private: int) -> bytes:
    """Predictions with so many right ones in each part."""
    right = [n < public if n < 10 else n - 10 < private for n in range(ROWS)]
    return (
        "id,label\n" + "".join(f"r{n},{'ab'[(n + (not ok)) % 2]}\n" for n, ok in enumerate(right))
    ).encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with service(tmp_path_factory.mktemp("srv")) as found:
        yield found


@pytest.fixture(scope="module")
def people(place: tuple[str, Any]) -> dict[str, Person]:
    return {name: Person(place[0], name) for name in ("tia", "other", "ada", "bob", "")}


@pytest.fixture(scope="module")
def entry(people: dict[str, Person]) -> str:
    """The number of ada's submission, scored: public 0.7, private 0.3."""
    made = people["tia"].post(
        "/new", {"solution": ("s.csv", LABELS), "data": ("train.csv", b"x\n1\n")}, **FORM
    )
    assert made.status_code == 303, made.text
    return send(people["ada"], guess(7, 3))


def send(person: Person, content: bytes, file: str = "p.csv") -> str:
    """Submits, and waits for the score."""
    reply = person.post(f"/{NAME}/submit", {"file": (file, content)})
    assert reply.status_code == 303, reply.text
    id = reply.headers["Location"].rpartition("/")[2]
    until(lambda: "data-active" not in person.get(f"/{NAME}/mine/{id}?part=1").text, 150)
    return id


LEARNERS = (
    "",
    f"/{NAME}",
    f"/{NAME}/data",
    f"/{NAME}/data/train.csv",
    f"/{NAME}/submit",
    f"/{NAME}/board",
    f"/{NAME}/mine",
)
TEACHERS = ("/new", f"/{NAME}/manage", f"/{NAME}/manage/board.csv")
ACTS = (
    "/new",
    "/example",
    f"/{NAME}/manage",
    *(f"/{NAME}/manage/{act}" for act in ("end", "rescore", "labels", "data", "remove")),
)


def test_every_route_by_role(people: dict[str, Person], entry: str, place: tuple[str, Any]) -> None:
    mine = f"/{NAME}/mine/{entry}"
    own = (mine, f"{mine}/receipt.json", f"{mine}/choose", f"/{NAME}/team", f"/{NAME}/baseline")
    known = {re.sub(entry, "ID", path) for path in (*LEARNERS, *TEACHERS, *ACTS, *own)}
    from studio.server import competitions

    patterns = [route[0] for route in competitions.routes(place[1])]
    missing = [
        one
        for one in patterns
        if not any(re.fullmatch(one.replace("[0-9a-f]{32}", "ID"), f"/competitions{path}") for path in known)
    ]
    assert missing == []  # a new route needs a line above
    for path in (*LEARNERS, *TEACHERS, *ACTS, *own):
        for reply in (people[""].get(path), people[""].post(path)):
            assert reply.status_code in (302, 403, 405) and "Flowers" not in reply.text, path
    for path in (*TEACHERS, *ACTS):
        for name in ("ada", "other"):  # a teacher of another class is a learner here
            assert people[name].get(path).status_code in (403, 405), (name, path)
            assert people[name].post(path).status_code in (403, 405), (name, path)
    for path in (*LEARNERS, f"/{NAME}/mine/{entry}"):
        assert people["ada"].get(path).status_code == 200, path
    for path in TEACHERS:
        assert people["tia"].get(path).status_code == 200, path
    for name in ("bob", "tia"):
        assert people[name].get(f"/{NAME}/mine/{entry}").status_code == 404
        assert people[name].post(f"/{NAME}/mine/{entry}/choose", on="1").status_code == 404


def test_a_receipt_is_signed_with_the_key_of_the_class(
    people: dict[str, Person], entry: str, place: tuple[str, Any]
) -> None:
    page = people["ada"].get(f"/{NAME}/mine/{entry}").text
    file = people["ada"].get(f"/{NAME}/mine/{entry}/receipt.json")
    told = file.json()
    assert (told["learner"], told["assignment"], told["notebook"]) == ("ada", f"competition/{NAME}", "p.csv")
    assert Receipt(**told).number in page and file.headers["Content-Disposition"].endswith('.json"')
    assert people["ada"].get(f"/{NAME}/mine/{entry}/receipt.json").json() == told  # it stays the same
    assert people["bob"].get(f"/{NAME}/mine/{entry}/receipt.json").status_code == 404
    assert place[1].key.name == "receipt.key" and place[1].key.parent.name == "grading"
    key = receipts.key(place[1].key)
    assert receipts.valid(key, Receipt(**told))
    assert not receipts.valid(key, Receipt(**{**told, "received": told["received"] - 60}))


def test_no_page_of_a_learner_has_a_private_score_or_a_label_before_the_end(
    people: dict[str, Person], entry: str
) -> None:
    pages = [
        *LEARNERS,
        f"/{NAME}/mine/{entry}",
        f"/{NAME}/board?which=private",
        f"/{NAME}/board?part=1&which=private",
        f"/{NAME}/mine?part=1",
    ]
    for name in ("ada", "bob"):
        for path in pages:
            if "/mine/" in path and name == "bob":
                continue
            text = people[name].get(path).text
            assert "0.30000" not in text and "Private" not in text.replace("Private leaderboard", ""), (
                name,
                path,
            )
    assert "0.70000" in people["bob"].get(f"/{NAME}/board").text
    assert "0.30000" in people["tia"].get(f"/{NAME}/manage").text
    sample = people["bob"].get(f"/{NAME}/data/sample_submission.csv").content
    assert sample == b"id,label\n" + b"".join(b"r%d,a\n" % n for n in range(ROWS))
    for path in (
        "..%2Fprivate%2Fsolution.csv",
        "../private/solution.csv",
        "solution.csv",
        "%2e%2e/competitions.sqlite3",
        ".hidden",
    ):
        assert people["ada"].get(f"/{NAME}/data/{path}").status_code == 404, path


def test_a_broken_file_is_explained_in_the_language_of_the_page(
    people: dict[str, Person], entry: str
) -> None:
    id = send(
        people["bob"], guess(1, 1).replace(b"r3,a\n", b"").replace(b"r3,b\n", b"") + b"r4,a\n", "<b>=1+1.csv"
    )
    for lang, words in (("en", "Missing ids: 1, such as r3"), ("zh", "缺少 1 个标识，例如 r3")):
        people["bob"].session.cookies.set(i18n.LANGUAGE_COOKIE, lang)
        text = people["bob"].get(f"/{NAME}/mine/{id}").text
        assert words in text and "&lt;b&gt;=1+1.csv" in text and "<b>=1" not in text
    assert "3 of 3" in re.sub(
        r"\s+", " ", (people["bob"].session.cookies.clear() or people["bob"].get(f"/{NAME}/submit")).text
    )


def test_forms_say_what_is_wrong_and_keep_what_was_typed(people: dict[str, Person], entry: str) -> None:
    for change, words in (
        ({"name": "a b"}, "cannot be part of an address"),
        ({"deadline": "soon"}, "expected a date"),
        ({"daily": "many"}, "expected a number"),
        ({"k": "inf"}, "expected a number"),
        ({"metric": "luck"}, "no metric"),
        ({"split_column": "Nothing"}, "has no column"),
    ):
        reply = people["tia"].post(
            "/new", {"solution": ("s.csv", LABELS)}, **{**FORM, "name": "other", **change}
        )
        assert reply.status_code == 409 and words in reply.text and 'value="Flowers"' in reply.text, change
    assert people["tia"].post("/new", **{**FORM, "name": "other"}).status_code == 409  # no solution
    assert "already a competition" in people["tia"].post("/new", {"solution": ("s.csv", LABELS)}, **FORM).text
    for file, content, words in (
        ("p.exe", b"x", "expected a CSV file"),
        ("n.ipynb", b"{}", "no notebooks"),
        ("p.csv", b"x" * (1 << 20), "more than 0.5 MB"),
    ):
        reply = people["ada"].post(f"/{NAME}/submit", {"file": (file, content)})
        assert reply.status_code == 409 and words in reply.text
    assert people["ada"].post(f"/{NAME}/submit").status_code == 409


def test_a_description_has_nothing_active(people: dict[str, Person], entry: str) -> None:
    text = people["ada"].get(f"/{NAME}").text
    assert "<em>flowers</em>" in text and "alert(1)" in text
    assert [
        word for word in ("<script>alert", "javascript:", "evil.example", "onclick") if word in text
    ] == []


def test_teams_are_joined_by_invitation_and_share_what_they_sent(
    people: dict[str, Person], entry: str
) -> None:
    page = people["ada"].get(f"/{NAME}/submit").text
    code = re.search(r'sp-code">([^<]+)<', page)
    assert code is not None
    assert people["bob"].post(f"/{NAME}/team", code="guess").status_code == 409
    assert people["bob"].post(f"/{NAME}/team", title="=1+1").status_code == 409  # no formula of a spreadsheet
    assert people["bob"].post(f"/{NAME}/team", code=code[1]).status_code == 409  # bob has submitted
    assert people["ada"].post(f"/{NAME}/team", title="Tulips").status_code == 303
    assert "Tulips" in people["bob"].get(f"/{NAME}/board").text
    rows = list(csv.reader(io.StringIO(people["tia"].get(f"/{NAME}/manage/board.csv").text)))
    assert ["1", "Tulips", "ada", "0.7", "0.3"] in [row[:5] for row in rows]


def test_at_the_end_everyone_sees_the_private_board_and_nothing_is_taken_any_more(
    people: dict[str, Person], entry: str
) -> None:
    better = send(people["ada"], guess(6, 9))
    assert people["ada"].post(f"/{NAME}/mine/{better}/choose", on="1").status_code == 303
    assert people["tia"].post(f"/{NAME}/manage/end").status_code == 303
    board = people["bob"].get(f"/{NAME}/board").text
    assert "0.90000" in board and "0.70000" in board  # private of the selected one; public of the best
    assert "0.30000" in people["ada"].get(f"/{NAME}/mine").text
    assert people["ada"].post(f"/{NAME}/submit", {"file": ("p.csv", answer(3))}).status_code == 409
    assert people["ada"].post(f"/{NAME}/mine/{entry}/choose", on="1").status_code == 409
    assert (
        people["tia"].post(f"/{NAME}/manage", **FORM).status_code == 303
    )  # a sentence of the description, say
    later = {**FORM, "deadline": "2099-02-01T00:00"}
    assert people["tia"].post(f"/{NAME}/manage", **later).status_code in (303, 409)
    assert "Ended" in people["ada"].get(f"/{NAME}").text
    turned = LABELS.replace(b",a,", b",c,").replace(b",b,", b",a,").replace(b",c,", b",b,")
    assert people["tia"].post(f"/{NAME}/manage/labels", {"solution": ("s.csv", turned)}).status_code == 303
    until(
        lambda: "0.10000" in people["bob"].get(f"/{NAME}/board").text, 150
    )  # 0.9 with the labels turned round
