"""A right answer is right for every draw of the hidden inputs: its rounding stays far below what a case allows.

The inputs of hidden cases are drawn anew for each grading, so a case whose expected sum may cancel takes points from
one right solution in a hundred, and no single run of the course shows it.
"""

from pathlib import Path

import numpy as np
import pytest

from sampan.learn import drivers, lessons, slots
from sampan.learn.cases import Holds, difference
from sampan.learn.plain import plain
from studio.grading import grader, release, wire

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))
DRAWS = 12
MARGIN = 8  # the rounding of a right answer, times this, is still allowed


def fill_with_solutions(path):
    """Runs the notebook's set-up and solutions, as its author's kernel would."""
    lessons.installed()
    names = {"__name__": "__main__"}
    for cell in release.read(path).cells:
        solution = cell.metadata.get("nbgrader", {}).get("solution")
        if cell.cell_type == "code" and (solution or "setup" in cell.metadata.get("tags", [])):
            exec(compile(cell.source, path.name, "exec"), names)


def sent(value):
    """As it arrives on the other side of the grader's connection."""
    frame = wire.encode(plain(value))
    of_json, _ = wire.HEADER.unpack(frame[: wire.HEADER.size])
    body = frame[wire.HEADER.size :]
    return wire.decode(body[:of_json], body[of_json:])


@pytest.fixture
def emptied():
    yield
    for slot in slots.filled().values():
        slot.take_out()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_right_answer_is_right_for_every_draw(path, emptied):
    fill_with_solutions(path)
    wrong = []
    for exercise in grader.load_checks(path):
        assert exercise.slot in slots.filled()
        for seed in range(DRAWS):
            for case in exercise.cases(np.random.default_rng(seed)):
                args = sent(list(case.args))
                given = sent(drivers.run(exercise.slot, case.driver, args))
                expected = case.expected if isinstance(case.expected, Holds) else plain(case.expected)
                tolerances = case.rtol / MARGIN, case.atol / MARGIN
                found = difference(given, expected, *tolerances, case.dtype)
                if found is not None:
                    wrong.append((exercise.slot, case.name[0], seed, found.told()[0]))
    assert not wrong
