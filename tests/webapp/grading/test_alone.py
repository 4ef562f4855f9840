"""Exercises of one notebook are graded apart: what one does to its process costs no other its points."""

from __future__ import annotations

import textwrap
import time

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from studio.grading import grader, release, sandbox
from tests.webapp.grading.book import IMPORT

pytestmark = pytest.mark.alone

CHECKS = """
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise

def cases(rng):
    x = rng.normal(size=100)
    yield Case(("row", "行"), "pullback", ([x], np.ones(100)), (x, [np.ones(100)]), ("", ""))
    yield Case(("tape", "带"), "gradient", ([x], np.ones(100)), (x, [np.ones(100)]), ("", ""))

EXERCISES = [Exercise(f"ops.{name}", 1, name, name, cases, seconds=4) for name in ("exp", "sin", "cos")]
"""
RIGHT = "return x, lambda g: g"
DEADLY = {
    "a kernel that never ends": (
        "import numba\n@numba.njit\ndef spin(n):\n    while n > 0:\n        n += 1\n    return n",
        "spin(1)",
    ),
    "_exit": ("import os", "os._exit(0)"),
    "a segmentation fault": ("import ctypes", "ctypes.string_at(0)"),
    "recursion in C": (
        "import sys\nsys.setrecursionlimit(10**9)\nclass Deep:\n    def __repr__(self): return repr(self)",
        "repr(Deep())",
    ),
    "memory": ("", "kept = [bytearray(1 << 28) for _ in range(100)]"),
    "SystemExit": ("", "raise SystemExit(0)"),
    "KeyboardInterrupt": ("", "raise KeyboardInterrupt"),
    "GeneratorExit": ("", "raise GeneratorExit"),
    "an exception of its own": ("class Mine(BaseException): pass", "raise Mine"),
    "words that raise": (
        "class Mine(Exception):\n    def __str__(self): raise SystemExit\n    __repr__ = __str__",
        "raise Mine",
    ),
    "words that never end": (
        "class Mine(Exception):\n    def __str__(self):\n        while True: pass\n    __repr__ = __str__",
        "raise Mine",
    ),
    "a closed channel": ("import os", "os.closerange(3, 64)"),
}


def cell(name: str, body: str, before: str = "") -> str:
    return f'{before}\n@learn.exercise("ops.{name}")\ndef {name}(x):\n{textwrap.indent(body, "    ")}'


@pytest.fixture
def three(course, warm, monkeypatch):
    """Grades a notebook of three exercises."""
    monkeypatch.setattr(sandbox, "GRACE_SECONDS", 0.5)
    (course.parent / "checks" / "lesson.py").write_text(CHECKS)

    def grade(*cells: str, limit: float = 4.0) -> dict[str, str]:
        mine = course.parent / "mine.ipynb"
        release.write(new_notebook(cells=[new_code_cell(source) for source in [IMPORT, *cells]]), mine)
        began = time.monotonic()
        report = grader.grade(mine, course, time_limit=limit, warm=warm)
        assert time.monotonic() - began < 90
        assert report.earned == sum(result.passed for result in report.exercises)
        return {result.id.removeprefix("ops."): result.verdict for result in report.exercises}

    return grade


@pytest.mark.parametrize(("before", "attack"), DEADLY.values(), ids=DEADLY)
def test_an_exercise_that_ends_its_process_costs_only_its_own_points(three, before, attack):
    verdicts = three(cell("exp", f"{attack}\n{RIGHT}", before), cell("sin", RIGHT), cell("cos", RIGHT))
    assert verdicts["exp"] not in ("passed", "not_attempted")
    assert (verdicts["sin"], verdicts["cos"]) == ("passed", "passed")


@pytest.mark.parametrize(
    "attack", ["import os\nos._exit(0)", "import ctypes\nctypes.string_at(0)", "raise SystemExit"]
)
def test_a_cell_that_ends_its_process_as_soon_as_it_is_run(three, attack):
    verdicts = three(f"{attack}\n{cell('exp', RIGHT)}", cell("sin", RIGHT), cell("cos", RIGHT))
    assert verdicts.pop("exp") == "error" and set(verdicts.values()) == {"passed"}


def test_a_cell_of_no_exercise_that_ends_every_process_is_left_out(three):
    """It uses `exec`, so it is run for every exercise; the second time it is known."""
    verdicts = three("exec('import os')\nos._exit(1)", *(cell(name, RIGHT) for name in ("exp", "sin", "cos")))
    assert set(verdicts.values()) == {"passed"}


def test_exercises_that_all_never_end_take_a_bounded_time(three):
    spins = (
        "import numba\n@numba.njit\ndef spin(n):\n    while n > 0:\n        n += 1\n    return n\nspin(1)\n"
    )
    began = time.monotonic()
    verdicts = three(*(spins + cell(name, RIGHT) for name in ("exp", "sin", "cos")), limit=2.0)
    assert "passed" not in verdicts.values() and time.monotonic() - began < 60


def test_cases_that_are_each_just_in_time_are_not_so_together(three, course):
    many = CHECKS.replace("    x = rng", "  for n in range(40):\n    x = rng", 1).replace(
        '("row", "行")', '(f"row {n}", "行")'
    )
    (course.parent / "checks" / "lesson.py").write_text(many)
    verdicts = three(
        cell("exp", f"time.sleep(1.5)\n{RIGHT}", "import time"), cell("sin", RIGHT), cell("cos", RIGHT)
    )
    assert verdicts == {"exp": "timed_out", "sin": "passed", "cos": "passed"}
