"""`make course`: builds the learners' copies into build/course and proves what the course claims of its grading."""

from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from studio.grading import proof, release, translation
from studio.grading.sandbox import Warm

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
RUN_IN_CHINESE = ("00", "01")  # the short ones: the others train for up to a minute
pytestmark = [pytest.mark.course, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def warm():
    with Warm(trust=True) as process:
        yield process


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_proof_holds(path, warm):
    wrong = ROOT / "tests" / "notebooks" / "wrong" / path.stem
    proofs = list(proof.prove(path, wrong, ROOT / "build" / "course", warm))
    print(*proofs, sep="\n")
    assert len(proofs) >= 14
    assert not [str(proof) for proof in proofs if not proof.holds]
    copy = release.read(ROOT / "build" / "course" / path.name)
    assert all(not cell.get("outputs") for cell in copy.cells)


@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem[:2] in RUN_IN_CHINESE], ids=lambda path: path.stem
)
def test_the_chinese_runs_from_the_first_to_the_last_cell(path):
    """Of every notebook `translation.faults` shows that the Chinese is the same program with other texts."""
    notebook = release.read(path)
    notebook.cells = translation.in_language(notebook, "zh")
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "例全部正确" in printed and "cases" not in printed


CHECKS = """
import numpy as np
from sampan.learn.cases import Case
from studio.grading.exercise import Exercise

def cases(rng):
    x = rng.normal(size=100)
    yield Case(("a row", "行"), "gradient", ([x], np.ones(100)), (-x, [-np.ones(100)]), ("", ""))

EXERCISES = [Exercise("ops.relu", 2, "Negate", "取负", cases)]
"""
NEGATE = '@learn.exercise("ops.relu")\ndef relu(x):\n    ### BEGIN SOLUTION\n    return -x, lambda g: -g\n    ### END SOLUTION'


def test_a_course_that_claims_too_much_is_found_out(tmp_path, capsys):
    """Its points disagree, its visible check refuses the solution, and its one wrong solution is right."""
    marks = {"schema_version": 3, "task": False, "locked": False}
    cells = [
        new_code_cell("from sampan import learn", metadata={"tags": ["setup"]}),
        new_code_cell(
            NEGATE, metadata={"nbgrader": {"grade_id": "r", "solution": True, "grade": False, **marks}}
        ),
        new_code_cell(
            'learn.check("ops.relu")',
            metadata={
                "nbgrader": {
                    "grade_id": "check-ops-relu",
                    "solution": False,
                    "grade": True,
                    "points": 1,
                    **marks,
                }
            },
        ),
    ]
    path = tmp_path / "lesson.ipynb"
    release.write(new_notebook(cells=cells), path)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "lesson.py").write_text(CHECKS)
    (tmp_path / "wrong" / "lesson").mkdir(parents=True)
    (tmp_path / "wrong" / "lesson" / "right.py").write_text(
        f'"""It is right."""\nfrom sampan import learn\n\n{NEGATE}\n'
    )
    arguments = [str(path), "--wrong", str(tmp_path / "wrong"), "--out", str(tmp_path / "out")]
    assert proof.main(arguments) == 1
    said = capsys.readouterr().out.splitlines()
    failed = [line.split(": ", 1)[1] for line in said if line.startswith("FAILED")]
    assert [line.split(" (")[0] for line in failed] == [
        "notebook, metadata and hidden checks agree",
        "the solution passes every check",
        "the Chinese copy with the solutions passes every check",
        "there are 3 wrong solutions or more",
        "wrong ops.relu",
        "wrong ops.relu",
    ]
    assert said[-1] == "7 passed, 6 failed"
