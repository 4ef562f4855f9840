"""Marks for other programs, compared with nbgrader's own exporter and with the forms' definitions."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from nbgrader.plugins.export import CsvExportPlugin

from studio.cli import main
from studio.gradebook import book, exports, marking, marks
from studio.gradebook.classroom import Classroom
from studio.gradebook.work import work
from tests.webapp.gradebook.test_marking import AMY, BOB, TYPED, entries

HANDED_IN = datetime(2026, 3, 1, 12, 30, 0, 250_000)


@pytest.fixture
def marked(essays: Classroom) -> Classroom:
    """Amy is marked in full and late, bob in part; cem has handed in nothing; "empty" has no points."""
    full = (*TYPED[:2], (3.0, None, "=1+1"))
    marking.save(essays, AMY, entries(work(essays, AMY).parts, full))
    marking.save(essays, BOB, entries(work(essays, BOB).parts, ((2.0, None, ""), *((None, None, ""),) * 2)))
    with book.opened(essays) as gradebook:
        gradebook.find_submission_notebook("essay", "old", "amy").late_submission_penalty = 0.5
        gradebook.find_submission("old", "amy").timestamp = HANDED_IN
        gradebook.add_assignment("empty")
        gradebook.db.commit()
    return essays


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def by(found: list[Any], key: str) -> list[Any]:
    """Sorted by that column."""
    return sorted(found, key=lambda row: row[key])


def test_the_sum_is_the_one_of_nbgraders_exporter(marked: Classroom, tmp_path: Path) -> None:
    with book.opened(marked) as gradebook:
        CsvExportPlugin(to=str(tmp_path / "theirs.csv"), assignment=["old"]).export(gradebook)
    theirs = rows((tmp_path / "theirs.csv").read_text())
    ours = rows(exports.export(marked, "nbgrader", "old"))
    assert ours == [{**row, "first_name": row["first_name"].replace("=", "'=")} for row in theirs]
    scores = {row["student_id"]: float(row["score"]) for row in theirs}
    assert scores == {"amy": 8.5, "bob": 2.0, "cem": 0.0}
    by_exercise = {row["student_id"]: row["old / score"] for row in rows(exports.export(marked, "exercises"))}
    assert by_exercise == {"amy": "8.5", "bob": "2.0", "cem": ""}
    sent = [json.loads(line) for line in exports.export(marked, "lti").splitlines()]
    assert {one["userId"]: one["scoreGiven"] for one in sent} == {"amy": 8.5, "4711": 2.0}


def test_a_column_for_each_exercise(marked: Classroom) -> None:
    amy, bob, cem = by(rows(exports.export(marked, "exercises", "old")), "student_id")
    heads = ["old / essay / test-answer (2)", "old / essay / why (4)", "old / essay / task (3)"]
    assert [amy[head] for head in heads] == ["1.5", "4.5", "3.0"]
    assert [bob[head] for head in heads] == ["2.0", "", ""] and bob["first_name"] == "'=Bob"
    assert [cem[head] for head in heads] == ["", "", ""]
    assert amy["old / late_submission_penalty"] == "0.5"


def test_canvas(marked: Classroom) -> None:
    text = exports.export(marked, "canvas", "old")
    assert text.splitlines()[:2] == [
        "Student,ID,SIS User ID,SIS Login ID,Section,old",
        "Points Possible,,,,,9",
    ]
    amy, bob, cem = by(rows(text)[1:], "SIS User ID")
    assert (amy["Student"], amy["ID"], amy["SIS User ID"], amy["old"]) == ("Adams, Amy", "", "amy", "8.5")
    assert (bob["Student"], bob["ID"], cem["old"]) == ("'=Bob", "4711", "")


def test_moodle(marked: Classroom) -> None:
    amy, bob, cem = by(rows(exports.export(marked, "moodle", "old")), "username")
    assert (amy["username"], amy["email"], amy["old"], amy["old (maximum)"]) == (
        *("amy", "amy@example.org", "8.5", "9"),
    )
    assert amy["old (feedback)"] == (
        "test-answer: Nice.\nwhy: Why\nnot?\ntask: =1+1\nLate: 0.5 points are subtracted."
    ).replace("Why\n", "Why \n")
    assert (bob["idnumber"], cem["old"], cem["old (feedback)"]) == ("4711", "", "")
    assert "迟交" in exports.export(marked, "moodle", "old", "zh")


def test_lti_scores(marked: Classroom) -> None:
    """The fields, their types and their values as section 3.4 of LTI Assignment and Grade Services 2.0 defines them."""
    bob, amy = by([json.loads(line) for line in exports.export(marked, "lti", "old").splitlines()], "userId")
    moment = datetime.fromisoformat(amy.pop("timestamp"))
    assert moment.tzinfo is not None and abs((datetime.now(UTC) - moment).total_seconds()) < 600
    assert amy.pop("comment").startswith("test-answer: Nice.\n")
    assert amy == {
        "userId": "amy",
        "scoreGiven": 8.5,
        "scoreMaximum": 9.0,
        "activityProgress": "Submitted",
        "gradingProgress": "FullyGraded",
        "submission": {"submittedAt": "2026-03-01T12:30:00.250+00:00"},
    }
    assert (bob["userId"], bob["gradingProgress"]) == ("4711", "PendingManual") and "submission" not in bob
    # In an export of all assignments each line names its own; "empty" has no positive maximum.
    assert {
        one[exports.ASSIGNMENT] for one in map(json.loads, exports.export(marked, "lti").splitlines())
    } == {"old"}


@pytest.mark.parametrize("form", ["nbgrader", "exercises", "canvas", "moodle"])
def test_no_cell_is_a_formula(marked: Classroom, form: exports.Form) -> None:
    with book.opened(marked) as gradebook:
        gradebook.add_student("dan", first_name="@x", last_name="+1", email="-a@b")
    for row in csv.reader(StringIO(exports.export(marked, form))):
        assert not any(cell.lstrip().startswith(book.FORMULA) for cell in row), row


def test_the_command_offers_every_form(
    marked: Classroom, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert marks.FORMS == exports.FORMS
    to = tmp_path / "to.jsonl"
    assert (
        main(["class", "export", str(marked.root), "--form", "lti", "--assignment", "old", "--to", str(to)])
        == 0
    )
    assert len(to.read_text().splitlines()) == 2
    assert main(["class", "export", str(marked.root), "--assignment", "new"]) == 2
    assert "has no 'new'; there is empty, old" in capsys.readouterr().err
    assert main(["class", "return", str(marked.root), "old", "amy"]) == 0
    assert main(["class", "return", str(marked.root), "old", "--withdraw"]) == 0
    assert capsys.readouterr().out.split("\n")[0] == "Returned; learners: 1"
