"""Wrong solutions that try to get a mark all the same: by forged replies, patched modules, lying objects, borrowed code.

The learner's process only sends values; none of these can make wrong values right.
"""

from __future__ import annotations

import json
import os
import textwrap

import pytest

from tests.webapp.grading.book import HEAD, SOLUTION

pytestmark = pytest.mark.servers

WRONG = HEAD + "    return gradient.sum(0).sum(0).reshape(shape) + 7"
RIGHT = HEAD + SOLUTION
FORGERY = """
import json, os, struct
reply = json.dumps({"message": {"id": "0", "value": [1.0], "error": None, "passed": True}, "arrays": []}).encode()
for fd in range(1, 60):
    try:
        os.write(fd, (struct.pack("<IQ", len(reply), 0) + reply) * 50)
    except OSError:
        continue
print("all 3 hidden cases are right", flush=True)
"""
# By names put together from two texts, so that no rule sees them.
PATCHES = {
    "the comparison": "__import__('sys').modules['sampan.learn.' + 'cases'].difference = lambda *a: None",
    "the driver": "__import__('sys').modules['sampan.learn.' + 'drivers'].run = lambda *a: 1.0",
    "the reply": """
wire = __import__('sys').modules['studio.' + 'grading.wire']
send = wire.send
wire.send = lambda channel, reply, *more: send(channel, {**reply, "passed": True, "verdict": "passed", "error": None})
""",
    "everything that compares": """
import numpy as np, torch
np.isclose = np.allclose = torch.allclose = lambda *a, **k: np.array(True)
__import__('builtins').all = lambda *a: True
""",
    "the grader": """
import sys
sys.path.append('/')
for name in ("verdict", "grader"):
    try:
        module = __import__("studio.grading." + name).grading.__dict__[name]
        module.judge = module.grade = module.difference = lambda *a, **k: None
    except Exception as error:
        print(name, error)
""",
    "the library that is tested": """
import sampan
sampan.ops.linalg.mm = sampan.Tensor.__add__ = sampan.to_tensor = lambda *a, **k: 0.0
""",
    "its own process's memory": "open('/proc/self/mem', 'r+b').close()\nimport ctypes\nctypes.memset(id(True), 0, 0)",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_what_is_patched_inside_decides_nothing(graded, patch):
    report = graded(f"{patch}\n{WRONG}")
    (result,) = report.exercises
    assert not result.passed and result.earned == 0 and result.verdict in ("failed", "error")


def test_replies_written_ahead_on_every_channel_forge_nothing(graded):
    for cell in (f"{FORGERY}\n{WRONG}", HEAD + textwrap.indent(FORGERY, "    ") + "    os._exit(0)"):
        report = graded(cell)
        assert not report.passed and report.earned == 0
    assert graded(RIGHT).passed


LIES = {
    "equal to everything": "class Lie(float):\n    __eq__ = __ge__ = __le__ = lambda *a: True\nanswer = Lie(0)",
    "an array that agrees": """
import numpy as np
class Lie(np.ndarray):
    def __array_ufunc__(self, *a, **k): return True
    def __array__(self, *a, **k): return self
    __eq__ = __sub__ = lambda *a: True
answer = np.zeros(4).view(Lie)""",
    "a type that is what one asks": """
import numpy as np
class Kind(type):
    __instancecheck__ = __subclasscheck__ = __eq__ = lambda *a: True
    __hash__ = type.__hash__
class Lie(metaclass=Kind):
    __class__ = np.ndarray
    dtype, shape, size = np.dtype("float64"), (4,), 4
answer = Lie()""",
    "a list without end": "answer = []\nanswer.append(answer)",
    "not a number": "import torch\nanswer = torch.full((4,), float('nan'))",
    "millions of letters": "answer = ['x' * 1000] * 10_000",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_objects_that_lie_about_equality(graded, lie):
    (result,) = graded(f"{lie}\n{HEAD}    return answer").exercises
    assert not result.passed and result.earned == 0 and result.verdict in ("failed", "error")


BORROWED = {
    "imported": "from sampan.autograd import unbroadcast as theirs\n{head}    return theirs(gradient, shape)",
    "imported from the engine": "from sampan.engine.backward import unbroadcast as theirs\n"
    "{head}    return theirs(gradient, shape)",
    "by its slot": "from sampan.learn import slots\ntheirs = slots.get('autograd.unbroadcast').original\n"
    "{head}    return theirs(gradient, shape)",
    "by its module": "import sampan.learn.slots as kept\n{head}    return kept.get('autograd.unbroadcast').original(gradient, shape)",
    "by the grading's own": "import studio.grading.sandboxed\n{head}    return gradient",
}


@pytest.mark.parametrize("cell", BORROWED.values(), ids=BORROWED)
def test_the_librarys_own_is_no_solution(graded, cell):
    (result,) = graded(cell.format(head=HEAD)).exercises
    assert (result.verdict, result.earned) == ("broke_rule", 0)


HIDDEN = """
import gc, importlib, sys, types
slots = sys.modules["sampan.learn." + "slots"]
slot = slots.get("autograd.unbroadcast")
module = sys.modules["sampan.engine.backward"]
"""
ROUTES = {
    "the slot's original": "theirs = slot.original",
    "the slot's original, put back": "slot.take_out()\ntheirs = module.unbroadcast",
    "the reference": "from sampan import learn as l\ngetattr(l, 'refer' + 'ence')('autograd.unbroadcast')\n"
    "theirs = module.unbroadcast",
    "the name at first": "theirs = module.unbroadcast",
    "imported once more": "file = module.__file__\nspec = importlib.util.spec_from_file_location('again', file)\n"
    "again = importlib.util.module_from_spec(spec)\nagain.__package__ = 'sampan.engine'\nspec.loader.exec_module(again)\n"
    "theirs = again.unbroadcast",
    "reloaded": "theirs = importlib.reload(module).unbroadcast",
    "its source": "import inspect\nexec(inspect.getsource(module))\ntheirs = unbroadcast",
    "its bytecode": "import marshal, pathlib\n"
    "file = next((pathlib.Path(module.__file__).parent / '__pycache__').glob('backward.*.pyc'))\n"
    "code = marshal.loads(file.read_bytes()[16:])\nspace = {'__name__': 'sampan.engine.again', '__package__': 'sampan.engine'}\n"
    "exec(code, space)\ntheirs = space['unbroadcast']",
    "what the collector lists": "theirs = next(one for one in gc.get_objects() if isinstance(one, types.FunctionType)\n"
    "    and one.__name__ == 'unbroadcast' and one.__module__ == 'sampan.engine.backward')",
    "another module's copy": "theirs = next(value for other in list(sys.modules.values())\n"
    "    for name, value in list(vars(other).items()) if name == 'unbroadcast' and callable(value))",
    "its code": "theirs = types.FunctionType(module.unbroadcast.__code__, vars(module))",
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_the_process_that_answers_does_not_have_the_librarys_own(graded, route):
    """Each cell by itself: what fails there must not keep the exercise's own cell from being run."""
    cell = f"{HIDDEN}theirs = None\ntry:\n{textwrap.indent(route, '    ')}\nexcept Exception as fault:\n    print(repr(fault))\n"
    body = f"{HEAD}    answer = theirs(gradient, shape)\n    return answer"
    (result,) = graded(f"{cell}\n{body}").exercises
    assert not result.passed and result.earned == 0


OPERATOR = """
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise

def cases(rng):
    x, g = rng.normal(size=(2, 100))
    yield Case(("row", "行"), "pullback", ([x], g), (np.sin(x), [g * np.cos(x)]), ("", ""))
    yield Case(("tape", "带"), "gradient", ([x], g), (np.sin(x), [g * np.cos(x)]), ("", ""))

EXERCISES = [Exercise("ops.sin", 1, "Wave", "波", cases)]
"""


@pytest.mark.parametrize(
    ("way_back", "right"),
    [("lambda g: g * x.cos()", True), ("lambda g: theirs(g, x)", False), ("lambda g: kept(g, x)", False)],
)
def test_nor_the_derivatives_of_the_librarys_operator(course, graded, way_back, right):
    (course.parent / "checks" / "lesson.py").write_text(OPERATOR)
    borrowed = (
        "import sys\nfound = sys.modules['sam' + 'pan'].ops.elementwise.sin.operator\n"
        "theirs = found.derivatives[0].function\n"
        "kept = sys.modules['sampan.learn.' + 'slots'].get('ops.sin').derivatives[0][0]\n"
    )
    (result,) = graded(
        f'{borrowed}@learn.exercise("ops.sin")\ndef sin(x):\n    return x.sin(), {way_back}'
    ).exercises
    assert result.passed is right
    assert right or "is not available while this exercise is graded" in result.message


def test_code_nested_too_deeply_to_be_read(graded):
    """What is looked at outside of the sandbox must not bring the grader down."""
    for deep in (
        f"x = {'(' * 5000}1{')' * 5000}",
        f"x = {'-' * 100_000}1",
        f"x = a{'.b' * 50_000}",
        "x = '\0'",
    ):
        (result,) = graded(f"{deep}\n{WRONG}").exercises
        assert not result.passed and result.verdict in ("error", "failed")
    assert graded(RIGHT).passed


def test_what_is_no_file_of_ones_own_is_not_read(course, tmp_path, warm):
    from studio.grading.submission import MOST_CODE, read_submission

    link, pipe, folder, large = (
        tmp_path / name for name in ("link.ipynb", "pipe.ipynb", "folder.ipynb", "large.ipynb")
    )
    link.symlink_to(course)
    os.mkfifo(pipe)
    folder.mkdir()
    with large.open("wb") as file:
        file.truncate(500 << 20)
    for path, words in (
        (link, "got a symbolic link"),
        (pipe, "expected a regular file"),
        (folder, "expected a regular file"),
        (large, "expected at most 20 MB, got 500 MB"),
    ):
        with pytest.raises(ValueError, match=words):
            read_submission(path)
    long = tmp_path / "long.ipynb"
    cell = {"cell_type": "code", "source": "x = 1\n" * MOST_CODE, "metadata": {}}
    for content, words in (
        ("[" * 100_000, "is not a Jupyter notebook"),
        (json.dumps({"nbformat": 4, "cells": [{}] * 5000}), "at most 2000 cells"),
        (json.dumps({"nbformat": 4, "cells": [cell]}), "characters of code"),
        (json.dumps({"nbformat": 3, "worksheets": []}), "nbformat 4"),
        (json.dumps({"nbformat": 4, "cells": {"0": cell}}), "a list of cells"),
        (json.dumps({"nbformat": 4, "cells": [{**cell, "source": [1, 2]}]}), "is not a Jupyter notebook"),
    ):
        long.write_text(content)
        with pytest.raises(ValueError, match=words):
            read_submission(long)
