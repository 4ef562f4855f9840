"""Handing an assignment out: from the instructor's notebooks to `source`, `release` and the gradebook."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studio.grading.release import DATA, data_beside, read, release, slots_of, write

from . import book
from .classroom import Classroom, checked


def hand_out(
    classroom: Classroom, assignment: str, notebooks: Sequence[Path], lang: str = "en"
) -> list[Path]:
    """Releases the instructor's `notebooks` as one assignment, in English or Chinese; returns the learners' copies. A notebook
    that was released before is replaced; what was handed in for it stays.

    The instructor's version and its hidden checks (`checks/NAME.py` beside it) are copied to `source`, so that the class is
    always graded by the version that was handed out. A notebook in nbgrader's form needs no checks: its graded cells are
    marked by hand. Raises `ValueError`, and changes nothing, if a notebook can be marked in neither way, is broken, shows
    a line of a solution, or has other graded cells than a version for which something was handed in.
    """
    checked(assignment)
    if not notebooks:
        raise ValueError("an assignment needs at least one notebook")
    made = []
    for path in notebooks:
        checks = path.parent / "checks" / f"{path.stem}.py"
        copy = release(instructor := read(path), lang)
        if not checks.is_file():
            _can_be_marked_by_hand(path, checks, instructor)
        _check_cells(path, copy)
        made.append((path, checks, copy))
    with book.writing(classroom):
        for path, _, copy in made:
            book.know(classroom, assignment, path.stem, copy)
    copies = []
    for path, checks, copy in made:
        source = classroom.folder("source", assignment)
        (source / "checks").mkdir(parents=True, exist_ok=True)
        for original, target in ((path, source / path.name), (checks, source / "checks" / checks.name)):
            if not original.is_file():
                target.unlink(missing_ok=True)  # the checks of an earlier version
            elif original.resolve() != target.resolve():
                shutil.copyfile(original, target)
        copies.append(classroom.folder("release", assignment) / path.name)
        write(copy, copies[-1])
    return copies


def _can_be_marked_by_hand(path: Path, checks: Path, instructor: Any) -> None:
    slots = sorted({slot for cell in instructor.cells for slot in slots_of(cell.source)})
    if slots:
        raise ValueError(
            f"{path.name} has the exercise {slots[0]} and no hidden checks: {checks.parent.name}/{checks.name} is missing"
        )
    if not any(cell.metadata.get("nbgrader", {}).get("grade") for cell in instructor.cells):
        raise ValueError(
            f"{path.name} has no graded cell: mark one in JupyterLab with nbgrader's Create Assignment, or add hidden "
            f"checks as {checks.parent.name}/{checks.name}"
        )


def _check_cells(path: Path, copy: Any) -> None:
    """As `nbgrader generate_assignment` does: every cell has a name of its own, and metadata of its version."""
    from nbgrader.nbgraderformat import MetadataValidator, ValidationError
    from nbgrader.nbgraderformat.common import SchemaMismatchError

    try:
        MetadataValidator().validate_nb(copy)
    except (ValidationError, SchemaMismatchError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def packed(classroom: Classroom, assignment: str) -> bytes:
    """A zip file with the learners' copies of an assignment and its data. Raises `ValueError` if it was not released."""
    copies = sorted(classroom.folder("release", assignment).glob("*.ipynb"))
    if not copies:
        raise ValueError(f"{classroom.name} has released no assignment {assignment!r}")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for copy in copies:
            archive.write(copy, f"{assignment}/{copy.name}")
        for path in data_beside(classroom.folder("release", assignment)):
            archive.write(path, f"{assignment}/{DATA}/{path.name}")
    return made.getvalue()
