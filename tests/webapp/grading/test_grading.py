"""The grader against learners who are right, wrong, stuck, or try to get round it.

Each test grades a small notebook in a real process. The exercise is `autograd.unbroadcast`, with checks of the test's own.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from sampan.learn import slots
from studio.compute.cgroup import Cgroup
from studio.compute.limits import Limits
from studio.grading import grader, release, sandbox, service
from studio.grading.comparison import source_of
from studio.grading.sandbox import Warm
from studio.grading.symptom import TOO_LONG
from studio.grading.verdict import parse_result
from tests.webapp.grading.book import CHECKS, HEAD, IMPORT, SOLUTION, book

pytestmark = pytest.mark.servers


def test_the_solution_passes_and_the_command_says_so_in_json(course, capsys):
    assert grader.main([str(course), str(course), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["passed"], said["earned"], said["points"]) == (True, 2, 2)
    (exercise,) = said["exercises"]
    assert exercise["id"] == "autograd.unbroadcast" and exercise["title_zh"] == "撤销"
    assert exercise["library_calls"] >= 1 and exercise["message"] == "all 3 hidden cases are right"
    assert [cell["error"] for cell in said["cells"]] == [None, None, None]


def test_a_rung_that_was_reached_keeps_its_points(course, graded):
    checks = CHECKS.replace(
        '(4,)), g.sum((0, 1)), ("Sum them.", "求和。"))',
        '(4,)), g.sum((0, 1)), ("Sum them.", "求和。"), earns=1)',
    )
    assert checks != CHECKS
    (course.parent / "checks" / "lesson.py").write_text(checks)
    (result,) = graded(HEAD + "    return gradient.sum(0).sum(0).reshape(shape)").exercises
    assert not result.passed and (result.earned, result.points) == (1, 2)
    assert "case 'secret block'" in result.message


def test_each_right_case_earns_its_share_and_all_are_judged(graded):
    (result,) = graded(HEAD + "    return gradient.sum(0).sum(0).reshape(shape)").exercises
    assert [(case.name, case.passed) for case in result.cases] == [
        ("secret rows", True),
        ("secret block", False),
        ("tape", False),
    ]
    assert not result.passed and (result.earned, result.points) == (0.6, 2)
    assert "case 'secret block'" in result.message and result.compared is None


def test_data_beside_the_notebook_is_read_and_not_changed(course, graded):
    data = course.parent / "data"
    data.mkdir()
    (data / "one.csv").write_text("size\n1\n")
    body = "    gradient = gradient * ONE\n" + SOLUTION.replace("    ### BEGIN SOLUTION\n", "")
    reads = 'ONE = float(open("data/one.csv").read().split()[1])'
    writes = 'try:\n    open("data/one.csv", "w")\n    ONE = 0.0\nexcept PermissionError:\n    pass'
    (result,) = graded(HEAD + body, reads, writes).exercises
    assert result.passed, result.message
    assert (data / "one.csv").read_text() == "size\n1\n"


def test_the_library_s_version_of_every_exercise_of_the_course_can_be_shown():
    for notebook in sorted(Path("notebooks").glob("[0-9]*.ipynb")):
        for exercise in grader.load_checks(notebook):
            assert "def " in source_of(slots.get(exercise.slot)), exercise.slot


def test_a_process_that_ends_while_it_is_only_timed_keeps_the_points(graded):
    """It answers every case, and ends when a case comes a second time."""
    counts = "import os\nseen = set()\n"
    ends = "    key = gradient.numpy().tobytes(), tuple(shape)\n    if key in seen:\n        os._exit(1)\n    seen.add(key)\n"
    (result,) = graded(counts + HEAD + ends + SOLUTION).exercises
    assert result.passed and result.earned == result.points, result.message
    assert result.compared is not None and result.compared.case == ""


def test_the_library_s_version_is_told_with_both_times(graded):
    (result,) = graded(HEAD + SOLUTION).exercises
    assert result.passed and all(case.passed for case in result.cases) and len(result.cases) == 3
    compared = result.compared
    assert compared is not None and compared.source.startswith("def unbroadcast(")
    assert 0 < compared.seconds < 20 and 0 < compared.library_seconds < 20
    assert parse_result(json.loads(json.dumps(asdict(result)))) == result


def test_an_untouched_copy_fails_and_says_that_it_is_not_written(course, tmp_path, warm):
    copy = tmp_path / "copy.ipynb"
    release.write(release.release(release.read(course)), copy)
    report = grader.grade(copy, course, warm=warm)
    (result,) = report.exercises
    assert (report.earned, report.points) == (0, 2)
    assert (result.verdict, result.message) == ("not_attempted", "not written yet")


def test_a_wrong_answer_gets_the_name_of_the_case_and_its_first_wrong_number(graded):
    report = graded(HEAD + "    print('my own words')\n    return gradient.sum(0).sum(0).reshape(shape) + 7")
    (result,) = report.exercises
    assert not result.passed and result.earned == 0
    given = re.fullmatch(
        r"case 'secret rows': your answer\[(0(?:, 0)*)\]: (\S+) given, (\S+) expected \(4 of 4 numbers are wrong\). Sum them.",
        result.message,
    )
    assert given is not None, result.message
    assert float(given[2]) == pytest.approx(float(given[3]) + 7, abs=1e-4)
    assert result.message_zh.startswith(f"用例“行”：你的结果[{given[1]}]：给出 {given[2]}，应为 {given[3]}")
    assert "my own words" in report.output and "secret" not in report.output


def test_a_cell_that_never_ends_is_stopped_and_named_and_the_rest_is_graded(graded):
    began = time.monotonic()
    uses = HEAD + "    spun, later\n" + SOLUTION
    report = graded(uses, "# spin\nspun = 1\nwhile True:\n    pass", "later = print('after')", limit=4.0)
    assert time.monotonic() - began < 60
    (stopped,) = report.stopped
    assert (stopped.number, stopped.first_line) == (5, "# spin")
    assert stopped.error == "did not end within 4 s and was stopped"
    assert report.passed and "after" in report.output


def test_an_exercise_that_never_answers(graded):
    (result,) = graded(HEAD + "    while True:\n        pass", limit=3.0).exercises
    assert not result.passed and result.message.startswith("case 'secret rows': no answer within 5 s")
    assert (result.verdict, result.case, result.hint) == ("timed_out", "secret rows", TOO_LONG[0])
    assert result.traceback.startswith("cell 3, line ") and "in unbroadcast" in result.traceback


def test_a_forbidden_name(graded):
    (result,) = graded(HEAD + "    return gradient.sum_to_size(shape)").exercises
    assert (result.verdict, result.earned) == ("broke_rule", 0)
    assert result.message == ".sum_to_size may not be used in this exercise"


MANY = """
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise

def cases(rng):
    x = rng.normal(size=100)
    yield Case(("secret", "密"), "pullback", ([x], np.ones(100)), (x, [np.ones(100)]), ("", ""))

EXERCISES = [Exercise(f"ops.{name}", 1, name, name, cases) for name in ("exp", "sin", "cos", "tan", "abs", "neg")]
"""
TRICKS = {
    "exp": (
        "class Sly(float):\n        __eq__ = lambda *_: True\n    return Sly(0), lambda g: g",
        "an object of type",
    ),
    "sin": ("return None", "TypeError: a body gives back a pair"),
    "cos": ("raise KeyError('mine')", "stopped with KeyError: 'mine'"),
    "tan": ("return x.new_zeros(20_000_000), lambda g: g", "larger than"),
    "abs": (
        "from sampan.ops import abs as theirs\n    return theirs(x), lambda g: g",
        "sampan.ops.abs may not be used",
    ),
    "neg": ("return x, lambda g: g", "the library never ran your function"),
}


def test_no_way_round_with_a_process_that_lives_on(course, warm):
    (course.parent / "checks" / "lesson.py").write_text(MANY)
    functions = [
        f'@learn.exercise("ops.{name}")\ndef {name}(x):\n    {body}' for name, (body, _) in TRICKS.items()
    ]
    mine = course.parent / "mine.ipynb"
    release.write(new_notebook(cells=[new_code_cell(source) for source in [IMPORT, *functions]]), mine)
    report = grader.grade(mine, course, warm=warm)
    for result, (_, words) in zip(report.exercises, TRICKS.values(), strict=True):
        assert not result.passed and words in result.message


def test_a_tampered_check_runs_as_it_was_handed_out(graded):
    made = book(HEAD + "    return gradient")
    made.cells[3].source = "print('all right')"
    report = graded(made)
    assert "came" in report.cells[2].error and "all right" not in report.output


def test_a_missing_function_and_a_broken_cell_are_told_apart(graded):
    (result,) = graded(HEAD.replace("gradient, shape", "shape") + "    return 1").exercises
    assert result.message.startswith("cell 3 (@learn.exercise") and "TypeError" in result.message
    assert result.verdict == "error" and result.traceback.startswith("cell 3, line 1\n    @learn.exercise(")


def test_each_exercise_has_one_process_and_the_code_is_read_in_the_first(graded, warm, monkeypatch):
    """A process more costs every verdict a tenth of a second."""
    forked = []
    monkeypatch.setattr(
        warm, "fork", lambda *asked: forked.append(asked[0]) or sandbox.Warm.fork(warm, *asked)
    )
    assert graded(HEAD + SOLUTION).passed
    assert forked == ["autograd.unbroadcast"]


def test_hidden_inputs_are_fresh_each_time(course):
    (exercise,) = grader.load_checks(course)
    draws = [next(iter(exercise.cases(grader.np.random.default_rng(seed)))).args[0] for seed in (1, 2)]
    assert (draws[0] != draws[1]).all()


def test_what_cannot_be_graded_ends_with_two(course, tmp_path, capsys):
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{")
    assert grader.main([str(broken), str(course)]) == 2
    assert "broken.ipynb is not a Jupyter notebook" in capsys.readouterr().err
    assert grader.main([str(course), str(tmp_path / "none.ipynb")]) == 2
    (tmp_path / "checks" / "lesson.py").unlink()
    assert grader.main([str(course), str(course)]) == 2
    assert "has no hidden checks" in capsys.readouterr().err
    assert grader.main([str(course), str(course), "--time-limit", "0"]) == 2


def test_a_process_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(sandbox.bubble, "command", lambda program: [sys.executable, "-c", "print(1 / 0)"])
    with Warm() as warm, pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        warm.fork()


def test_a_warm_process_that_dies_is_followed_by_another(course, warm):
    warm.process.kill()
    warm.process.wait()
    assert grader.grade(course, course, warm=warm).passed


@pytest.mark.skipif(os.geteuid() != 0, reason="tried by all other tests where they are not run by root")
def test_an_ordinary_person_has_a_sandbox_too():
    """Root's own first step, to an account that owns nothing, and from there what anybody does."""
    become = sandbox.bubble._as_nobody_else(sandbox.bubble._needed())
    asked = "import os; from studio.grading import bubble; print(os.geteuid(), bubble.available())"
    told = subprocess.run([*become, sys.executable, "-c", asked], capture_output=True, text=True, cwd="/")
    assert told.stdout.split() == [str(sandbox.bubble.NOBODY_ELSE), "None"], told.stderr


def test_where_the_machine_lets_us_the_kernel_holds_all_of_it_together(monkeypatch, tmp_path):
    """With a folder instead of a cgroup: the warm process is in it before it has children, and it is removed."""

    class Folder(Cgroup):
        def remove(self):
            (self.folder / "gone").touch()

    (tmp_path / "cgroup.kill").touch()
    monkeypatch.setattr(Limits, "cgroup", lambda limits, name: Folder(tmp_path))
    with Warm() as warm:
        assert (tmp_path / "cgroup.procs").read_text() == str(warm.process.pid)
    assert (tmp_path / "cgroup.kill").read_text() == "1" and (tmp_path / "gone").exists()


@pytest.fixture
def open_to_all(monkeypatch):
    monkeypatch.setattr(sandbox, "available", lambda: ("bwrap is missing", "缺少 bwrap"))


def test_without_a_sandbox_nothing_is_graded(course, open_to_all, capsys):
    assert grader.main([str(course), str(course)]) == 2
    said = capsys.readouterr().err
    assert "no sandbox, so nothing is graded: bwrap is missing" in said and "--trust-learners" in said
    with pytest.raises(sandbox.NoSandbox) as refused:
        Warm()
    assert "缺少 bwrap" in refused.value.why[1]


def test_whoever_trusts_learners_is_told_so_and_still_nothing_outlives_a_submission(
    course, open_to_all, monkeypatch
):
    mark = f"{4000 + os.getpid() % 1000}.{os.getpid()}"
    mine = course.parent / "mine.ipynb"
    sleeps = f"import subprocess\nleft = subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n"
    sleeps += "import os\nopen('mine', 'w').close()\nprint('worked in', os.getcwd(), flush=True)\n"
    release.write(book(sleeps + HEAD + "    while True: pass"), mine)
    monkeypatch.setenv(sandbox.bubble.TRUST, "1")
    with Warm() as warm:
        stopped = grader.grade(mine, course, time_limit=10.0, warm=warm)
        assert stopped.exercises[0].verdict == "timed_out"
        folder = Path(stopped.output.split("worked in ")[1].split()[0])
        assert folder.name.startswith("sampan-grading-") and not folder.exists()
        report = grader.grade(course, course, warm=warm)
        assert report.passed and not report.sandboxed
    assert not [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]


def test_a_fork_imports_nothing_that_torch_puts_off(warm):
    """The first `broadcast_shapes` imports all of SymPy: paid once by the warm process, not by each submission."""
    with contextlib.closing(warm.fork()) as learners:
        source = (
            "import sys\nbefore = set(sys.modules)\nimport torch\nfrom sampan import learn, visual\n"
            "torch.broadcast_shapes((2, 1), (3,))\nassert not set(sys.modules) - before, set(sys.modules) - before"
        )
        reply = learners.ask({"kind": "cell", "number": 1, "source": source, "seconds": 20}, 20)
    assert reply["error"] is None


def test_without_hidden_checks_a_learner_is_told_so_in_both_languages(course, warm):
    (course.parent / "checks" / "lesson.py").unlink()
    request = {"copy": str(course), "instructor": str(course), "seconds": 5}
    english, chinese = service.answer(request, warm, print)["broken"]
    assert english == "lesson.ipynb has no hidden checks, so it is not graded: checks/lesson.py is missing"
    assert chinese.startswith("lesson.ipynb 没有隐藏检查，因此不评分")
