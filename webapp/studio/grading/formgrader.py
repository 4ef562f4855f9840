"""The copy of a submission that nbgrader's formgrader shows: `autograded/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb`.

Locked cells are those that were handed out, and each check shows its result. Nothing else of the learner's file is
kept: formgrader shows outputs unchanged in the teacher's browser.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from .release import KEPT_CELL_KEYS, check_id, grade_id, read, release, write
from .submission import read_submission
from .translation import language_of
from .verdict import Result


def write_autograded(copy: Path, instructor: Path, target: Path, results: Iterable[Result]) -> None:
    submission = read_submission(copy)
    released = release(read(instructor), language_of(submission))
    handed_out = {grade_id(cell): cell for cell in released.cells if grade_id(cell)}
    says = {check_id(result.id): result for result in results}
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell in submission.cells:
        mine = handed_out.pop(grade_id(cell), None)  # once: a second cell of that name is the learner's own
        locked = mine is not None and mine.metadata.nbgrader.get("locked", False)
        kept = nbformat.from_dict({"cell_type": cell.cell_type, "metadata": {}})
        kept.source = mine.source if locked else cell.source
        if mine is not None:
            kept.metadata.update({k: mine.metadata[k] for k in KEPT_CELL_KEYS if k in mine.metadata})
        if cell.cell_type == "code":
            result = says.get(grade_id(cell) or "") if mine is not None else None
            kept.update(execution_count=None, outputs=[] if result is None else [_said(result)])
        made.cells.append(kept)
    made.nbformat, made.nbformat_minor = 4, 4  # of cells without ids: two might have the same one
    write(made, target)


def _said(result: Result) -> Any:
    text = f"{result.earned} / {result.points}: {result.message}\n"
    return nbformat.v4.new_output("stream", text=text)
