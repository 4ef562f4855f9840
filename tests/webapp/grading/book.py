"""A small course of one notebook to grade: the exercise is `autograd.unbroadcast`, with checks of the tests' own."""

from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from studio.grading import release

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

EXERCISES = [Exercise("autograd.unbroadcast", 2, "Undo", "撤销", cases, forbid=(".sum_to_size",), seconds=5)]
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


def write_course(folder: Path) -> Path:
    """The instructor's notebook with its hidden checks beside it."""
    (folder / "checks").mkdir()
    (folder / "checks" / "lesson.py").write_text(CHECKS)
    path = folder / "lesson.ipynb"
    release.write(book(HEAD + SOLUTION), path)
    return path
