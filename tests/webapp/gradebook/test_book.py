"""The gradebook is nbgrader's own: written by us, read back by nbgrader itself."""

from __future__ import annotations

import csv
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from nbgrader.plugins.export import CsvExportPlugin

from studio.gradebook import book, table
from studio.gradebook.classroom import Classroom
from studio.gradebook.handout import hand_out
from studio.gradebook.outcomes import Outcome
from studio.grading import release
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import EXERCISE, NOTEBOOK, ROOT

pytestmark = pytest.mark.servers


def outcome(student: str, notebook: str = NOTEBOOK, **values: Any) -> Outcome:
    stands = {
        "mark": "sha256:0",
        "submitted": 1_700_000_000.0,
        "graded": 1_700_000_100.0,
        "stamped": True,
        "exercises": (parse_result(EXERCISE),),
    }
    return Outcome(student, "week1", notebook, **{**stands, **values})


@pytest.fixture
def classroom(make: Callable[[], Classroom]) -> Iterator[Classroom]:
    yield make()


def test_made_without_the_program_alembic(tmp_path: Path) -> None:
    """In a process of its own whose PATH holds nothing; nbgrader then takes it for one of its own."""
    code = (
        "import sys; from pathlib import Path; from studio.gradebook import book\n"
        "from studio.gradebook.classroom import Classroom\n"
        "with book.opened(Classroom(Path(sys.argv[1]))) as gradebook: print(len(gradebook.students))\n"
    )
    environment = {**os.environ, "PATH": str(tmp_path / "nothing")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "0\n", done.stderr
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    with sqlite3.connect(tmp_path / "gradebook.db") as database:
        version = database.execute("select version_num from alembic_version").fetchall()
    database.close()
    assert version == [(ScriptDirectory(ALEMBIC_DIR).get_current_head(),)]


OLDER = """
    alter table student drop column lms_user_id;
    create table older (id varchar(32) not null primary key, name varchar(128) not null unique, duedate datetime);
    insert into older select id, name, duedate from assignment;
    drop table assignment; alter table older rename to assignment; drop table course;
    update alembic_version set version_num = '167914646830';
"""


def test_a_gradebook_of_an_older_nbgrader_is_upgraded_and_kept_as_it_was(tmp_path: Path) -> None:
    """Two revisions back: before courses, and before names from elsewhere."""
    with book.opened(Classroom(tmp_path)) as gradebook:
        gradebook.add_student("amy", first_name="Amy")
        gradebook.add_assignment("week1")
    database = sqlite3.connect(tmp_path / "gradebook.db")
    database.executescript(OLDER)
    database.close()
    with book.opened(Classroom(tmp_path)) as gradebook:
        assert [(s.id, s.first_name, s.lms_user_id) for s in gradebook.students] == [("amy", "Amy", None)]
        assert [(a.name, a.course_id) for a in gradebook.assignments] == [("week1", "default_course")]
    kept = list(tmp_path.glob("gradebook.db.2*"))
    assert len(kept) == 1 and b"lms_user_id" not in kept[0].read_bytes()


def test_the_cells_are_known_as_nbgrader_knows_them(classroom: Classroom) -> None:
    with book.opened(classroom) as gradebook:
        notebook = gradebook.find_notebook(NOTEBOOK, "week1")
        assert [(cell.name, cell.max_score) for cell in notebook.grade_cells] == [("check-ops-relu", 1.0)]
        assert [cell.name for cell in notebook.solution_cells] == ["ops-relu"]
        assert "NotImplementedError" in {cell.name: cell.source for cell in notebook.source_cells}["ops-relu"]
    copy = release.read(classroom.folder("release", "week1") / f"{NOTEBOOK}.ipynb")
    assert all("checksum" in c.metadata.nbgrader for c in copy.cells if "nbgrader" in c.metadata)


def test_the_same_export_as_nbgraders(classroom: Classroom, tmp_path: Path) -> None:
    with book.opened(classroom) as gradebook:
        gradebook.add_student("none", first_name="No", last_name="Work", email="n@x")
        book.enter(gradebook, outcome("amy"))
        book.enter(gradebook, outcome("bob", exercises=(), trouble="broken"))
        theirs = CsvExportPlugin(to=str(tmp_path / "theirs.csv"))
        theirs.export(gradebook)
        ours = book.as_csv(book.marks(gradebook))
    rows = list(csv.DictReader(StringIO(ours)))
    assert rows == list(csv.DictReader(StringIO((tmp_path / "theirs.csv").read_text())))
    assert {row["student_id"]: row["score"] for row in rows} == {"amy": "1.0", "bob": "0.0", "none": "0.0"}
    assert rows[0]["timestamp"] == "2023-11-14 22:13:20"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " ＝1"])
def test_no_formula_reaches_a_spreadsheet(classroom: Classroom, name: str) -> None:
    with book.opened(classroom) as gradebook:
        gradebook.add_student("amy", first_name=name, last_name='a,"b"\nc')
        rows = list(csv.DictReader(StringIO(book.as_csv(book.marks(gradebook)), newline="")))
    assert rows[0]["first_name"] == "'" + name.replace("\r", " ") and rows[0]["last_name"] == 'a,"b"\nc'


def test_a_notebook_that_joins_the_assignment_later(classroom: Classroom) -> None:
    """nbgrader mirrors an assignment's notebooks when a submission is first entered, and never again."""
    with book.opened(classroom) as gradebook:
        book.enter(gradebook, outcome("amy"))
    hand_out(classroom, "week1", [ROOT / "notebooks" / "02_training.ipynb"])
    exercises = (parse_result({**EXERCISE, "id": "kernels.sgd_step", "points": 2, "earned": 2}),)
    later = outcome("amy", "02_training", exercises=exercises, submitted=1_700_000_500.0)
    with book.opened(classroom) as gradebook:
        book.enter(gradebook, later)
        assert gradebook.find_submission("week1", "amy").score == 3.0
        assert str(gradebook.find_submission("week1", "amy").timestamp) == "2023-11-14 22:21:40"


def test_a_cell_that_the_gradebook_lacks_is_named(classroom: Classroom) -> None:
    with (
        book.opened(classroom) as gradebook,
        pytest.raises(ValueError, match="no graded cell check-ops-tanh"),
    ):
        book.enter(gradebook, outcome("amy", exercises=(parse_result({**EXERCISE, "id": "ops.tanh"}),)))


def test_an_assignment_is_not_handed_out_half(classroom: Classroom, tmp_path: Path) -> None:
    bare = tmp_path / "bare.ipynb"
    bare.write_text((ROOT / "notebooks" / f"{NOTEBOOK}.ipynb").read_text())
    with pytest.raises(ValueError, match=r"no hidden checks: checks/bare\.py"):
        hand_out(classroom, "week2", [ROOT / "notebooks" / f"{NOTEBOOK}.ipynb", bare])
    assert not classroom.folder("release", "week2").exists()
    with pytest.raises(ValueError, match="at least one"):
        hand_out(classroom, "week2", [])


def test_a_course_that_we_did_not_grade_is_shown(tmp_path: Path) -> None:
    """A teacher's existing class: marks by nbgrader and by hand, nothing of ours."""
    classroom = Classroom(tmp_path, course=tmp_path)
    with book.opened(classroom) as gradebook:
        gradebook.add_assignment("old")
        gradebook.add_notebook("essay", "old")
        gradebook.add_grade_cell("q1", "essay", "old", max_score=4, cell_type="markdown")
        gradebook.add_student("amy", first_name="Amy", last_name="Adams")
        gradebook.add_student("bob")
        with gradebook.db.no_autoflush:
            gradebook.add_submission("old", "amy")
        gradebook.find_grade("q1", "essay", "old", "amy").manual_score = 3
        gradebook.db.commit()
    assert table.assignments(classroom) == ["old"]
    shown = table.table(classroom, "old")
    assert [(row.student, row.name, row.marks[0].kind, row.earned) for row in shown.rows] == [
        ("amy", "Amy Adams", "marked", 3.0),
        ("bob", "", "missing", 0),
    ]
    assert shown.rows[0].marks[0].by_hand and shown.rows[0].marks[0].shade == 3
