"""The functions of passed exercises: what is kept of a notebook, and where."""

from __future__ import annotations

from pathlib import Path

import sampan.learn.my_engine
from studio import engine
from studio.grading.cells import Code, look, program
from studio.grading.release import slots_of
from studio.grading.verdict import Verdict

CELLS = (
    ("import numpy as np\nfrom sampan import learn", True),
    ("HALF = 0.5\ntable = []\nunused = np.ones(3)", False),
    ("def more(x):\n    return x + HALF  # mine", False),
    (
        '# my answer\n@learn.exercise("ops.relu")\ndef relu(x):\n    local = more(x)\n    return np.maximum(local, 0)\n\nrelu(3)',
        False,
    ),
    ('@learn.exercise("ops.exp")\ndef exp(x):\n    return np.exp(x)', False),
    ("%time print(relu(1))", False),
)


def kept(slot: str) -> str:
    codes = [Code(source, given, slots=tuple(slots_of(source))) for source, given in CELLS]
    return program(codes, [look(code.source) for code in codes], slot)


def test_a_program_has_the_function_and_all_that_it_uses() -> None:
    text = kept("ops.relu")
    assert text == (
        "import numpy as np\n\nfrom sampan import learn\n\nHALF = 0.5\n\n"
        "def more(x):\n    return x + HALF  # mine\n\n"
        '@learn.exercise("ops.relu")\ndef relu(x):\n    local = more(x)\n    return np.maximum(local, 0)\n'
    )


def test_another_exercise_is_not_part_of_it() -> None:
    assert "relu" not in kept("ops.exp") and "HALF" not in kept("ops.exp")


def test_a_file_for_each_passed_exercise_and_the_last_version_counts(tmp_path: Path) -> None:
    assert engine.mine(tmp_path) == set()
    engine.keep(tmp_path, "00_x", Verdict((), programs={"ops.relu": "one = 1\n", "ops.exp": "two = 2\n"}))
    engine.keep(tmp_path, "00_x", Verdict((), programs={"ops.relu": "three = 3\n"}))
    assert engine.mine(tmp_path) == {"ops.relu", "ops.exp"}
    assert (
        tmp_path / engine.FOLDER / "ops.relu.py"
    ).read_text() == "# From 00_x.ipynb, checked.\n\nthree = 3\n"


def test_the_folder_is_the_one_that_the_library_looks_for() -> None:
    assert engine.FOLDER == sampan.learn.my_engine.FOLDER
