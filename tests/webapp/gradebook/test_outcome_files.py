"""A class whose verdicts lie in files, as the Studio wrote them before they moved into the gradebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from studio.compute.sql import SqlStore
from studio.gradebook import book
from studio.gradebook.classroom import Classroom
from studio.gradebook.run import grade_class
from studio.gradebook.submissions import mark
from tests.webapp.gradebook.conftest import NOTEBOOK, SOLVED, hand_in, outcomes_of
from tests.webapp.gradebook.test_book import outcome

# One of those files, but for the ends of its lines, the learner's name and the content's mark.
WRITTEN = """{"student": "@student", "assignment": "week1", "notebook": "00_orientation", "mark": "@mark",
"submitted": 1795459002.4075196, "graded": 1795459033.5385733, "seconds": 14.727, "attempt": 2, "trouble": "",
"detail": "", "sandboxed": true, "stamped": false, "exercises": [{"id": "ops.relu",
"title": "Hold negative numbers at zero", "title_zh": "把负数压到零", "points": 1, "earned": 1, "passed": true,
"message": "all 5 hidden cases are right", "message_zh": "5 个隐藏用例全部正确", "library_calls": 1, "verdict": "passed",
"case": "", "case_zh": "", "hint": "", "hint_zh": "", "traceback": ""}]}"""


def write(classroom: Classroom, student: str, told: str, assignment: str = "week1") -> Path:
    path = classroom.private / "outcomes" / assignment / NOTEBOOK / f"{student}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(told, "utf-8")
    return path


def written(student: str, assignment: str = "week1", mark: str = "sha256:0") -> str:
    told = WRITTEN.replace("@student", student).replace("@mark", mark)
    return told.replace('"week1"', f'"{assignment}"')


def test_verdicts_in_files_are_taken_over_once(make: Callable[[], Classroom]) -> None:
    classroom = make()
    with book.opened(classroom) as gradebook:
        for student in ("entered", "marked"):
            book.enter(gradebook, outcome(student))
        grade = gradebook.find_grade("check-ops-relu", NOTEBOOK, "week1", "marked")
        grade.manual_score, grade.needs_manual_grade = 0.5, False  # as formgrader leaves it
        gradebook.db.execute(text("DROP TABLE sampan_outcome"))
        gradebook.db.commit()
    for student in ("entered", "marked", "killed"):
        write(classroom, student, written(student))
    write(classroom, "half", written("half")[:40])
    write(classroom, "elsewhere", written("elsewhere", "week9"), "week9")
    files = classroom.private / "outcomes"
    found = {o.student: o for o in outcomes_of(classroom)}
    assert found.keys() == {"entered", "marked", "killed"}
    told = found["killed"]
    assert (told.attempt, told.stamped, told.sandboxed, told.seconds) == (2, False, True, 14.727)
    (result,) = told.exercises
    assert (result.id, result.title_zh, result.verdict, result.library_calls) == (
        "ops.relu",
        "把负数压到零",
        "passed",
        1,
    )
    with book.opened(classroom) as gradebook:
        grades = {
            student: gradebook.find_grade("check-ops-relu", NOTEBOOK, "week1", student) for student in found
        }
        assert [g.auto_score for g in grades.values()] == [1.0, 1.0, 1.0]
        assert not grades["marked"].needs_manual_grade  # what a teacher has decided is not asked again
    (kept,) = classroom.private.glob("outcomes.*")
    assert not files.exists() and len(list(kept.rglob("*.json"))) == 5
    assert {o.student: o for o in outcomes_of(classroom)} == found


def test_a_class_of_before_is_gone_on_with(make: Callable[[], Classroom], store: SqlStore) -> None:
    classroom = make()
    content = hand_in(classroom, "done", SOLVED).read_bytes()
    hand_in(classroom, "later", SOLVED)
    write(classroom, "done", written("done", mark=mark(content)))
    run = asyncio.run(grade_class(classroom, store, "teacher", workers=1))
    assert (run.phase, run.total, run.done) == ("done", 1, 1)
    assert {o.student: o.attempt for o in outcomes_of(classroom)} == {"done": 2, "later": 1}
    with book.opened(classroom) as gradebook:
        rows = gradebook.assignment_submissions("week1")
        assert {row.student.id: row.score for row in rows} == {"done": 1.0, "later": 1.0}
