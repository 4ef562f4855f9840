"""The grader against learners who are right, wrong, stuck, or try to get round it.

Each test grades a small notebook in a real process. The exercise is `autograd.unbroadcast`, with checks of the test's own.
"""

import json
import os
import time
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from studio.grading import grader, release, sandbox

CHECKS = """
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise

def cases(rng):
    g = rng.normal(size=(20, 5, 4))
    yield Case(("secret rows", "行"), "call", (g, (4,)), g.sum((0, 1)), ("Sum them.", "求和。"))
    yield Case(("secret block", "块"), "call", (g, (20, 5, 1)), g.sum(2, keepdims=True), ("Sum them.", "求和。"))
    x, y = rng.normal(size=(3, 4)), rng.normal(size=4)
    yield Case(("tape", "磁带"), "expression", ([x, y], np.ones((3, 4)), "add"), (x + y, [np.ones((3, 4)), np.full(4, 3.0)]), ("", ""))

EXERCISES = [Exercise("autograd.unbroadcast", 2, "Undo", "撤销", cases, forbid=(".sum_to_size",), seconds=2)]
"""
HEAD = '@learn.exercise("autograd.unbroadcast")\ndef unbroadcast(gradient, shape):\n'
SOLUTION = """\
    ### BEGIN SOLUTION
    spread = len(gradient.shape) - len(shape)
    for axis, length in enumerate((1,) * spread + tuple(shape)):
        if length == 1:
            gradient = gradient.sum(axis, keepdim=True)
    return gradient.reshape(tuple(shape))
    ### END SOLUTION"""
IMPORT = "from sampan import learn"


def book(function, *more):
    """A notebook of four cells: a heading, the import, the exercise (cell 3), its check, and then `more`."""
    marks = {"schema_version": 3, "task": False}
    cells = [
        new_markdown_cell("# A test"),
        new_code_cell(IMPORT),
        new_code_cell(
            function,
            metadata={
                "nbgrader": {"grade_id": "a", "solution": True, "grade": False, "locked": False, **marks}
            },
        ),
        new_code_cell(
            'learn.check("autograd.unbroadcast")',
            metadata={
                "nbgrader": {
                    "grade_id": "t",
                    "solution": False,
                    "grade": True,
                    "locked": True,
                    "points": 2,
                    **marks,
                }
            },
        ),
        *(new_code_cell(source) for source in more),
    ]
    return new_notebook(cells=cells)


@pytest.fixture
def course(tmp_path):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "lesson.py").write_text(CHECKS)
    path = tmp_path / "lesson.ipynb"
    release.write(book(HEAD + SOLUTION), path)
    return path


@pytest.fixture
def graded(course):
    def grade(function, *more, limit=20.0):
        mine = course.parent / "mine.ipynb"
        release.write(function if not isinstance(function, str) else book(function, *more), mine)
        return grader.grade(mine, course, time_limit=limit)

    return grade


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


def test_an_untouched_copy_fails_and_says_that_it_is_not_written(course, tmp_path, capsys):
    copy = tmp_path / "copy.ipynb"
    release.write(release.release(release.read(course)), copy)
    assert grader.main([str(copy), str(course)]) == 1
    assert "0 of 2 points" in (said := capsys.readouterr().out) and "not written yet" in said


def test_a_wrong_answer_gets_the_name_of_the_case_and_no_number_of_it(graded):
    report = graded(HEAD + "    print('my own words')\n    return gradient.sum(0).sum(0).reshape(shape) + 7")
    (result,) = report.exercises
    assert not result.passed and result.earned == 0
    assert result.message == "case 'secret rows': 4 of 4 numbers are not right. Sum them."
    assert result.message_zh.startswith("用例“行”:4 个数中有 4 个不对")
    assert "my own words" in report.output and "secret" not in report.output


def test_a_cell_that_never_ends_is_stopped_and_named_and_the_rest_is_graded(graded):
    began = time.monotonic()
    report = graded(HEAD + SOLUTION, "# spin\nwhile True:\n    pass", "print('after')", limit=3.0)
    assert time.monotonic() - began < 60
    (stopped,) = report.stopped
    assert (stopped.number, stopped.first_line) == (5, "# spin")
    assert stopped.error == "did not end within 3 s and was stopped"
    assert report.passed and "after" in report.output


def test_a_cell_that_will_not_be_stopped_is_killed_and_named(graded):
    loop = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    report = graded(HEAD + SOLUTION, loop, limit=3.0)
    assert [(cell.number, cell.first_line) for cell in report.stopped] == [(5, "while True:")]
    (result,) = report.exercises
    assert not result.passed and "did not end within 3 s" in result.message


def test_an_exercise_that_never_answers(graded):
    (result,) = graded(HEAD + "    while True:\n        pass", limit=3.0).exercises
    assert not result.passed and result.message.startswith("case 'secret rows': no answer within 2 s")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    import os\n    os._exit(0)", "the process ended"),
        ("    raise SystemExit(0)", "the process ended"),
        ("    return gradient.sum_to_size(shape)", ".sum_to_size may not be used"),
    ],
    ids=["exit", "system exit", "forbidden"],
)
def test_no_way_round(graded, body, words):
    (result,) = graded(HEAD + body).exercises
    assert not result.passed and words in result.message


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


def test_no_way_round_with_a_process_that_lives_on(course):
    (course.parent / "checks" / "lesson.py").write_text(MANY)
    functions = [
        f'@learn.exercise("ops.{name}")\ndef {name}(x):\n    {body}' for name, (body, _) in TRICKS.items()
    ]
    mine = course.parent / "mine.ipynb"
    release.write(new_notebook(cells=[new_code_cell(source) for source in [IMPORT, *functions]]), mine)
    report = grader.grade(mine, course)
    for result, (_, words) in zip(report.exercises, TRICKS.values(), strict=True):
        assert not result.passed and words in result.message


FORGERY = """
import json, os, struct
reply = json.dumps({"message": {"id": "0", "value": [1.0], "error": None, "passed": True}, "arrays": []}).encode()
for fd in range(3, 30):
    try:
        os.write(fd, (struct.pack("<IQ", len(reply), 0) + reply) * 50)
    except OSError:
        continue
print("all 3 hidden cases are right", flush=True)
"""


def test_replies_written_ahead_forge_nothing(graded):
    report = graded(HEAD + "    return 0", FORGERY)
    assert not report.passed and report.earned == 0


def test_a_tampered_check_runs_as_it_was_handed_out(graded):
    made = book(HEAD + "    return gradient")
    made.cells[3].source = "print('all right')"
    report = graded(made)
    assert "came" in report.cells[2].error and "all right" not in report.output


def test_a_missing_function_and_a_broken_cell_are_told_apart(graded):
    (result,) = graded(HEAD.replace("gradient, shape", "shape") + "    return 1").exercises
    assert result.message.startswith("cell 3 (@learn.exercise") and "TypeError" in result.message


def test_children_die_and_no_secret_of_the_server_is_inherited(graded, monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_TOKEN", "top-secret")
    report = graded(
        HEAD + SOLUTION,
        "import os, subprocess\nprint(sorted(os.environ), os.environ.values())",
        'print("child", subprocess.Popen(["sleep", "300"]).pid)',
        "%time x = 1",
    )
    assert report.passed and "top-secret" not in report.output and "JUPYTER_TOKEN" not in report.output
    child = int(report.output.split("child ")[1].split()[0])
    for _ in range(100):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        pytest.fail("a child of the learner's code outlived the grading")


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


def test_a_process_that_cannot_start_says_why(course, monkeypatch):
    monkeypatch.setattr(sandbox, "command", lambda python, *rest: [python, "-c", "print('no such luck')"])
    with pytest.raises(RuntimeError, match="did not start: no such luck"):
        grader.grade(course, course)
