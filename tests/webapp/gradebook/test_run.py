"""Grading a class for real: good work, bad files and hostile ones, kills, and each submission once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from studio.compute.lease import Ask, Lease
from studio.compute.machine import holder
from studio.compute.sql import SqlStore
from studio.gradebook import book, outcomes, run
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.outcomes import Outcome
from studio.gradebook.run import Busy, Run, cancel, grade_class, state
from studio.gradebook.table import table
from studio.grading.verdict import parse_result
from tests.webapp.gradebook.conftest import (
    EXERCISE,
    NOTEBOOK,
    ROOT,
    SOLVED,
    WRONG,
    grade,
    hand_in,
    outcomes_of,
)
from tests.webapp.running import until

pytestmark = pytest.mark.servers

DEADLINE_S = 200.0


def outcome(classroom: Classroom, student: str) -> Outcome:
    with book.opened(classroom) as gradebook:
        found = outcomes.load(gradebook, Submission(student, "week1", NOTEBOOK))
    assert found is not None, student
    return found


def scores(classroom: Classroom) -> dict[str, tuple[float | None, bool]]:
    """{student: (auto_score, needs manual grade)} as nbgrader reads it."""
    with book.opened(classroom) as gradebook:
        found = {}
        for student in gradebook.students:
            grade = gradebook.find_grade("check-ops-relu", NOTEBOOK, "week1", student.id)
            found[student.id] = (grade.auto_score, grade.needs_manual_grade)
        return found


def place(classroom: Classroom, student: str) -> Path:
    path = classroom.folder("submitted", "week1", student) / f"{NOTEBOOK}.ipynb"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture(scope="module")
def graded(make: Callable[[], Classroom], store: SqlStore) -> Classroom:
    """A class with every kind of submission, graded in one run."""
    classroom = make()
    right = hand_in(classroom, "right", SOLVED)
    hand_in(classroom, "wrong", WRONG).with_name("timestamp.txt").write_text("2023-11-14 22:13:20.123456 UTC")
    hand_in(classroom, "stub")
    hand_in(classroom, "bomb", "import os\nwhile True:\n    os.fork()\n" + SOLVED)
    hand_in(classroom, "leaves", "import os\nos._exit(0)\n" + SOLVED)
    place(classroom, "link").symlink_to(right)
    (classroom.root / "submitted" / "borrowed").symlink_to(classroom.root / "submitted" / "right")
    with place(classroom, "huge").open("wb") as file:
        file.truncate(500 << 20)
    place(classroom, "broken").write_text('{"cells": [')
    place(classroom, "deep").write_text('{"cells":' + "[" * 100_000)
    os.mkfifo(place(classroom, "pipe"))
    place(classroom, "folder").mkdir()
    hostile = json.loads(right.read_text())
    hostile["metadata"] = {"kernelspec": {"name": ["../../x"]}, "sampan": 3, "widgets": {"a": [[[]]] * 50}}
    for cell in hostile["cells"]:
        cell["metadata"]["nbgrader"] = {
            **cell["metadata"].get("nbgrader", {}),
            "points": 1e308,
            "schema_version": "<script>",
        }
        cell["outputs"] = [
            {"output_type": "display_data", "data": {"text/html": "<script>1</script>"}, "metadata": {}}
        ]
    place(classroom, "hostile").write_text(json.dumps(hostile))
    run = grade(classroom, store, workers=2)
    assert (run.phase, run.done, run.total, run.sentence) == ("done", 13, 13, "")
    return classroom


def test_each_gets_its_own_verdict_and_nobody_elses(graded: Classroom) -> None:
    verdicts = {o.student: o.exercises[0].verdict for o in outcomes_of(graded) if not o.trouble}
    assert verdicts.pop("bomb") in ("error", "failed", "out_of_memory", "timed_out")
    assert verdicts.pop("leaves") in ("error", "failed")
    assert verdicts == {"right": "passed", "wrong": "failed", "stub": "not_attempted", "hostile": "passed"}
    troubles = {o.student: o.trouble for o in outcomes_of(graded) if o.trouble}
    assert troubles == {
        **{"link": "link", "borrowed": "link", "huge": "too_big", "broken": "broken", "deep": "broken"},
        **{"pipe": "no_file", "folder": "no_file"},
    }


def test_marks_land_in_nbgraders_gradebook(graded: Classroom) -> None:
    found = scores(graded)
    assert found["right"] == found["hostile"] == (1.0, False)
    assert found["wrong"] == (0.4, False)  # two of five cases are right
    assert found["stub"] == found["bomb"] == found["leaves"] == (0.0, False)
    for student in ("link", "borrowed", "huge", "broken", "deep", "pipe", "folder"):
        assert found[student] == (0.0, True), student  # for the teacher to look at


def test_nbgraders_pages_take_them_for_graded(graded: Classroom) -> None:
    """As its formgrader and `nbgrader list` ask."""
    api = NbGraderAPI(CourseDirectory(root=str(graded.root)))
    told = {student: api.get_submission("week1", student) for student in ("right", "wrong", "stub", "broken")}
    assert {name: s["autograded"] for name, s in told.items()} == {
        **{"right": True, "wrong": True, "stub": True},
        "broken": False,  # there is nothing to show of it
    }
    assert (told["right"]["score"], told["right"]["max_score"], told["wrong"]["score"]) == (1.0, 1.0, 0.4)
    assert told["wrong"]["timestamp"] == "2023-11-14T22:13:20.123456" and told["right"]["timestamp"] is None


def test_formgrader_gets_a_copy_without_what_came_along(graded: Classroom) -> None:
    text = (graded.folder("autograded", "week1", "hostile") / f"{NOTEBOOK}.ipynb").read_text()
    assert "<script>" not in text and "1e+308" not in text
    assert "1 / 1: all " in text
    assert not (graded.folder("autograded", "week1", "broken") / f"{NOTEBOOK}.ipynb").exists()


def test_no_lease_is_left(graded: Classroom, store: SqlStore) -> None:
    assert store.leases() == [] and store.queue() == []
    assert {use.ask.purpose for use in store.uses(0.0)} == {"grading"}


def test_graded_once_and_again_when_changed_or_asked_for(graded: Classroom, store: SqlStore) -> None:
    """In one run: what has changed, and what a regrade that was killed had not come to yet."""
    assert grade(graded, store).total == 0
    before = {o.student: o.graded for o in outcomes_of(graded)}
    hand_in(graded, "stub", SOLVED)
    killed = Run(pid=2**22 + 1, started=1.0, scope="failed", since=before["wrong"] + 1e-3)
    for other in outcomes_of(graded):
        if other.failed and other.student != "wrong":
            with book.opened(graded) as gradebook:
                book.enter(gradebook, replace(other, graded=killed.since))
    (graded.private / "run.json").write_text(json.dumps(asdict(killed)))
    run = grade(graded, store)
    assert (run.scope, run.done) == ("failed", 2)
    after = {o.student: o.attempt for o in outcomes_of(graded)}
    assert {student for student, attempt in after.items() if attempt == 2} == {"stub", "wrong"}
    assert scores(graded)["stub"] == (1.0, False)


@pytest.mark.parametrize(
    ("only", "named"),
    [
        ("amy/week1/a", True),
        ("*/week1/a", True),
        ("amy/*/*", True),
        ("bob/*/*", False),
        ("*/week1/b", False),
        ("amy/week1", False),
        ("*", False),
    ],
)
def test_which_submissions_a_run_names(only: str, named: bool) -> None:
    assert run._named(Submission("amy", "week1", "a"), only) is named


def test_one_exercise_is_graded_again_and_the_others_stay() -> None:
    def graded_with(*earned: float, content: str = "sha256:0", trouble: str = "") -> Outcome:
        results = [{**EXERCISE, "id": slot, "earned": e} for slot, e in zip("abc", earned, strict=False)]
        exercises = tuple(map(parse_result, results))
        return Outcome("amy", "week1", "n", content, 1.0, 2.0, trouble=trouble, exercises=exercises)

    before, now = graded_with(0.1, 0.2), graded_with(0.7, 0.8, 0.9)
    assert run._with_one(before, now, "b").earned() == {
        "a": 0.1,
        "b": 0.8,
        "c": 0.9,
    }  # c was added to the checks
    for other in (graded_with(0.7, 0.8, content="sha256:1"), graded_with(trouble="broken")):
        assert run._with_one(before, other, "b") == other  # its verdicts would not belong together
    assert run._with_one(graded_with(trouble="broken"), now, "b") == now


def test_a_teachers_own_mark_stays(graded: Classroom) -> None:
    with book.opened(graded) as gradebook:
        mark = gradebook.find_grade("check-ops-relu", NOTEBOOK, "week1", "wrong")
        mark.manual_score, mark.extra_credit = 0.5, 0.25
        gradebook.db.commit()
        book.enter(gradebook, outcome(graded, "wrong"))
        mark = gradebook.find_grade("check-ops-relu", NOTEBOOK, "week1", "wrong")
        assert (mark.manual_score, mark.score, mark.needs_manual_grade) == (0.5, 0.75, True)


def test_a_verdict_and_its_marks_are_entered_together_or_not_at_all(graded: Classroom) -> None:
    before, marks = outcome(graded, "right"), scores(graded)["right"]
    worse = replace(before, attempt=9, exercises=(replace(before.exercises[0], earned=0.0, passed=False),))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_WHILE_ENTERING, str(graded.root)], stdin=subprocess.PIPE
    )
    process.communicate(json.dumps(asdict(worse)).encode())
    assert process.returncode == -signal.SIGKILL
    assert (outcome(graded, "right"), scores(graded)["right"]) == (before, marks)


# The last moment before the marks would be there: all is written, nothing is committed.
KILLED_WHILE_ENTERING = """
import os, signal, sys
from pathlib import Path
from studio.gradebook import book, outcomes
from studio.gradebook.classroom import Classroom
with book.opened(Classroom(Path(sys.argv[1]))) as gradebook:
    outcome = outcomes.parse(sys.stdin.read())
    keep = outcomes.keep
    def killed(*given):
        keep(*given)
        gradebook.db.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    outcomes.keep = killed
    book.enter(gradebook, outcome)
"""


def test_what_a_teacher_removes_from_the_gradebook_is_graded_again(
    graded: Classroom, store: SqlStore
) -> None:
    with book.opened(graded) as gradebook:
        gradebook.remove_student("hostile")
    assert "hostile" not in {o.student for o in outcomes_of(graded)}
    assert grade(graded, store).done == 1
    assert scores(graded)["hostile"] == (1.0, False)


# ---- from the command line: kills, and two at a time


def command(classroom: Classroom, home: Path, **environment: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "studio.cli", "grade", str(classroom.root), "--workers", "1"]
    words += ["--course", str(classroom.course)]
    return subprocess.Popen(
        words,
        env={**os.environ, "SAMPAN_HOME": str(home), "LANG": "C", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def test_killed_and_continued(make: Callable[[], Classroom], store: SqlStore, tmp_path: Path) -> None:
    classroom = make()
    count = 6
    for number in range(count):
        hand_in(classroom, f"learner-{number}", SOLVED)
    process = command(classroom, tmp_path)
    until(lambda: ((run := state(classroom)) and run.done) or process.poll() is not None, DEADLINE_S)
    process.send_signal(signal.SIGSTOP)  # else a busy machine may let it end before it is killed
    with pytest.raises(Busy, match="already being graded"):
        grade(classroom, store)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    until(lambda: not any(child.is_running() for child in family), DEADLINE_S)  # workers and sandboxes go too
    killed = state(classroom)
    assert killed is not None and killed.phase == "running" and not killed.lives
    before = {o.student: o.graded for o in outcomes_of(classroom)}
    assert 1 <= len(before) < count
    with book.opened(classroom) as gradebook:
        marked = {row.student.id for row in gradebook.assignment_submissions("week1") if row.score}
    assert marked == before.keys()
    again = command(classroom, tmp_path)
    said = again.communicate(timeout=DEADLINE_S)[0].decode()
    assert again.returncode == 0, said
    assert f"Done: {count - len(before)} of {count - len(before)} graded." in said
    after = {o.student: (o.graded, o.attempt) for o in outcomes_of(classroom)}
    assert len(after) == count
    assert all(after[student] == (graded_at, 1) for student, graded_at in before.items())
    assert set(scores(classroom).values()) == {(1.0, False)}


def test_a_grader_that_is_killed_costs_one_submission(make: Callable[[], Classroom], store: SqlStore) -> None:
    classroom, killed = make(), []
    for student in ("first", "second"):
        hand_in(classroom, student, SOLVED)

    def kill_once(run: Run) -> None:
        if run.now and not killed:
            for process in psutil.Process().children():
                if "studio.grading.service" in process.cmdline():
                    killed.extend(run.now)
                    process.kill()

    run = asyncio.run(grade_class(classroom, store, "teacher", workers=1, report=kill_once))
    assert (run.phase, run.done, run.troubled, killed) == ("done", 2, 1, [f"first/week1/{NOTEBOOK}"])
    first, second = outcome(classroom, "first"), outcome(classroom, "second")
    assert (first.trouble, first.exercises) == ("crashed", ()) and "exit status -9" in first.detail
    assert not second.trouble and second.exercises[0].passed
    assert scores(classroom) == {"first": (0.0, True), "second": (1.0, False)}


def test_it_waits_for_a_place_and_can_be_stopped(make: Callable[[], Classroom], tmp_path: Path) -> None:
    classroom = make()
    hand_in(classroom, "right", SOLVED)
    with SqlStore(f"sqlite:///{tmp_path / 'full.sqlite3'}") as store:
        while isinstance(got := store.take(Ask("somebody", "grading", seconds=60)), Lease):
            store.bind(got.id, holder(os.getpid()))
        store.leave(got.ticket)
        process = command(classroom, tmp_path, SAMPAN_STORE=f"sqlite:///{tmp_path / 'full.sqlite3'}")
        until(lambda: (run := state(classroom)) is not None and run.waiting, DEADLINE_S)
        assert [ticket.ask.purpose for ticket in store.queue()] == ["grading"]
        for _ in range(3):
            cancel(classroom)
            time.sleep(0.01)
        said = process.communicate(timeout=DEADLINE_S)[0].decode()
        assert (
            process.returncode == 130 and "Waiting for a free place" in said and "continues from here" in said
        )
        assert store.queue() == []
    stopped = state(classroom)
    assert stopped is not None and (stopped.phase, stopped.done) == ("cancelled", 0)


def test_without_a_sandbox_nothing_is_marked(
    make: Callable[[], Classroom], store: SqlStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    classroom = make()
    hand_in(classroom, "right", SOLVED)
    monkeypatch.setenv("PATH", str(tmp_path))  # no bubblewrap to be found
    run = grade(classroom, store)
    assert run.phase == "stopped" and "--trust-learners" in run.sentence and "沙箱" in run.sentence_zh
    assert outcomes_of(classroom) == []


def test_what_the_course_has_no_checks_for_is_left_alone_and_named(
    make: Callable[[], Classroom], tmp_path: Path
) -> None:
    classroom = Classroom(make().root, course=ROOT / "nowhere")
    (classroom.folder("source", "week1") / "checks" / f"{NOTEBOOK}.py").unlink()
    hand_in(classroom, "right", SOLVED)
    process = command(classroom, tmp_path)
    said = process.communicate(timeout=DEADLINE_S)[0].decode()
    run = state(classroom)
    assert run is not None and (run.total, run.unchecked) == (0, [f"week1/{NOTEBOOK}"])
    assert process.returncode == 0 and f"no hidden checks for: week1/{NOTEBOOK}." in said
    assert outcomes_of(classroom) == []
    shown = table(classroom, "week1")
    assert (shown.waiting, shown.unchecked) == (0, (NOTEBOOK,))
    assert [mark.kind for mark in shown.rows[0].marks] == ["unchecked"]
