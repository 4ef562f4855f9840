"""Generates a fictitious class for tests, figures and screenshots; all names are recognisably made up.

    python tools/made_class.py FOLDER [--learners 30] [--notebooks 00_orientation 01_tensors_and_the_tape 02_training]

Learners get the instructor's solution, one of the wrong solutions of tests/notebooks/wrong, or the untouched stub for
each exercise, by a fixed random draw. Some correct solutions are renamed, as a plagiarised copy would be.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WRONG = ROOT / "tests" / "notebooks" / "wrong"
NOTEBOOKS = ("00_orientation", "01_tensors_and_the_tape", "02_training")
ASSIGNMENT = "made-up"


def learner(number: int) -> str:
    return f"made-{number:02d}"


def make_class(
    folder: Path, learners: int = 30, notebooks: Sequence[str] = NOTEBOOKS, assignment: str = ASSIGNMENT
) -> None:
    """A class with the assignment released and all work collected; nothing is graded yet."""
    from studio.gradebook.classroom import Classroom
    from studio.gradebook.handout import hand_out
    from studio.grading.release import read, write

    folder.mkdir(parents=True, exist_ok=True)
    classroom = Classroom(folder)
    hand_out(classroom, assignment, [ROOT / "notebooks" / f"{name}.ipynb" for name in notebooks])
    for number in range(1, learners + 1):
        draw = random.Random(number)
        for name in notebooks:
            source = classroom.folder("source", assignment) / f"{name}.ipynb"
            stub = read(classroom.folder("release", assignment) / f"{name}.ipynb")
            target = classroom.folder("submitted", assignment, learner(number)) / f"{name}.ipynb"
            write(_filled(stub, read(source), name, draw), target)


def _filled(stub: Any, instructor: Any, name: str, draw: random.Random) -> Any:
    from studio.grading.release import slot_of

    solutions = {slot_of(cell.source): cell.source for cell in instructor.cells if cell.cell_type == "code"}
    wrong = [path.read_text("utf-8") for path in sorted((WRONG / name).glob("*.py"))]
    made = copy.deepcopy(stub)
    for cell in made.cells:
        slot = slot_of(cell.source) if cell.cell_type == "code" else None
        if slot is None:
            continue
        mistakes = [text for text in wrong if slot_of(text) == slot]
        fate = draw.random()
        if fate < 0.6:
            cell.source = _without_markers(solutions[slot])
        elif fate < 0.85 and mistakes:
            cell.source = _without_heading(draw.choice(mistakes))
    return made


def _without_markers(source: str) -> str:
    return "\n".join(line for line in source.split("\n") if "### " not in line)


def _without_heading(text: str) -> str:
    """Without the docstring that says what is wrong with it."""
    body = ast.parse(text).body
    return "\n".join(text.split("\n")[body[1].lineno - 1 :])


def renamed(source: str) -> str:
    """The same code under other names and without comments, as in a disguised copy."""
    tree = ast.parse(source)
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    new = {old: f"thing_{number}" for number, old in enumerate(sorted(own))}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.arg = new[node.arg]
        elif isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
    return ast.unparse(tree)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--notebooks", nargs="+", default=NOTEBOOKS)
    options = parser.parse_args()
    make_class(options.folder, options.learners, options.notebooks)
    print(f"{options.learners} made-up learners x {len(options.notebooks)} notebooks in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
