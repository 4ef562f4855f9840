"""Handing an assignment out: from the instructor's notebooks to `source`, `release` and the gradebook."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from studio.grading.release import read, release, write

from . import book
from .classroom import Classroom, checked


def hand_out(
    classroom: Classroom, assignment: str, notebooks: Sequence[Path], lang: str = "en"
) -> list[Path]:
    """Releases the instructor's `notebooks` as one assignment, in English or Chinese; returns the learners' copies.

    The instructor's version and its hidden checks are copied to `source`, so that the class is always graded by the
    version that was handed out. Raises `ValueError` if a notebook has no hidden checks, is broken, or shows a line
    of a solution.
    """
    checked(assignment)
    if not notebooks:
        raise ValueError("an assignment needs at least one notebook")
    made = []
    for path in notebooks:
        checks = path.parent / "checks" / f"{path.stem}.py"
        if not checks.is_file():
            raise ValueError(
                f"{path.name} has no hidden checks: {checks.parent.name}/{checks.name} is missing"
            )
        made.append((path, checks, release(read(path), lang)))
    copies = []
    for path, checks, copy in made:
        source = classroom.folder("source", assignment)
        (source / "checks").mkdir(parents=True, exist_ok=True)
        for original, target in ((path, source / path.name), (checks, source / "checks" / checks.name)):
            if original.resolve() != target.resolve():
                shutil.copyfile(original, target)
        with book.writing(classroom):
            book.know(classroom, assignment, path.stem, copy)
        copies.append(classroom.folder("release", assignment) / path.name)
        write(copy, copies[-1])
    return copies
