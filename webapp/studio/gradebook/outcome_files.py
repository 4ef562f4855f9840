"""Classes of earlier versions, which stored the verdicts in files and entered the marks afterwards.

    CLASS/.sampan/outcomes/ASSIGNMENT/NOTEBOOK/STUDENT.json

They are imported into the gradebook when it is next opened, and their folder is renamed with a date.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from studio.grading.release import check_id

from . import book, outcomes
from .outcomes import Outcome

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def take_over(gradebook: Gradebook, folder: Path) -> None:
    """`folder` has the files. An outcome whose notebook the gradebook does not know is left out: it is graded
    again."""
    from nbgrader.api import MissingEntry

    for path in sorted(folder.glob("*/*/*.json")):
        outcome = outcomes.parse(path.read_text("utf-8", "replace"))
        if outcome is None:
            continue
        try:
            if not _kept(gradebook, outcome):
                book.enter(gradebook, outcome)  # the run was killed between writing the file and the marks
        except (ValueError, MissingEntry):
            gradebook.db.rollback()
    folder.rename(folder.with_name(f"{folder.name}.{datetime.now():%Y-%m-%d-%H%M%S.%f}"))


def _kept(gradebook: Gradebook, outcome: Outcome) -> bool:
    """Stores it with its marks, if they were entered. They are not entered again, as a teacher may have changed
    them."""
    from nbgrader.api import MissingEntry

    try:
        row = gradebook.find_submission_notebook(outcome.notebook, outcome.assignment, outcome.student)
    except MissingEntry:
        return False
    scores = {grade.name: grade.auto_score for grade in row.grades if grade.name.startswith("check-")}
    earned = {check_id(slot): points for slot, points in outcome.earned().items()}
    if scores != ({cell: 0.0 for cell in scores} if outcome.trouble else earned):
        return False
    outcomes.keep(gradebook, row, outcome)
    gradebook.db.commit()
    return True
