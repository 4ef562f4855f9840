"""The copy of a submission that nbgrader's formgrader shows: `autograded/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb`.

Locked cells are the ones that were handed out, each check says how it went, and of what the learner's code had shown
only text and pictures stay: this copy is opened by the teacher.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from studio.grading.release import KEPT_CELL_KEYS, check_id, grade_id, read, release, write

SHOWN = ("text/plain", "image/png", "image/jpeg")


def write_autograded(copy: Path, instructor: Path, target: Path, report: dict[str, Any]) -> None:
    handed_out = {grade_id(cell): cell for cell in release(read(instructor)).cells if grade_id(cell)}
    says = {check_id(result["id"]): result for result in report["exercises"]}
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell in read(copy).cells:
        mine = handed_out.get(grade_id(cell))
        locked = mine is not None and mine.metadata.nbgrader.get("locked", False)
        kept = nbformat.from_dict({"cell_type": cell.cell_type, "metadata": {}})
        kept.source = mine.source if locked else cell.source
        # The marks of a cell are the teacher's: a learner's own would be another exercise's, or worth more points.
        if mine is not None:
            kept.metadata.update({k: mine.metadata[k] for k in KEPT_CELL_KEYS if k in mine.metadata})
        if cell.cell_type == "code":
            result = says.get(grade_id(cell))
            outputs = cell.outputs if result is None else [_said(result)]
            kept.update(execution_count=None, outputs=[o for o in map(_harmless, outputs) if o is not None])
        made.cells.append(kept)
    made.nbformat, made.nbformat_minor = 4, 4  # cells without ids: a learner may have given two the same
    write(made, target)


def _said(result: dict[str, Any]) -> Any:
    text = f"{result['earned']} / {result['points']}: {result['message']}\n"
    return nbformat.v4.new_output("stream", text=text)


def _harmless(output: Any) -> Any:
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name=output.name, text=output.text)
    if output.output_type == "error":
        return nbformat.v4.new_output("stream", name="stderr", text=f"{output.ename}: {output.evalue}\n")
    data = {kind: output.data[kind] for kind in SHOWN if kind in output.data}
    return nbformat.v4.new_output("display_data", data=data) if data else None
