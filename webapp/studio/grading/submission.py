"""A learner's notebook as a file that may be anything: read once, never followed elsewhere, and stripped to its code."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import nbformat

MOST_BYTES = 20 << 20
MOST_CELLS = 2_000
MOST_CODE = 500_000  # characters: what is graded has to be parsed outside of the sandbox


def read_submission(path: str | os.PathLike[str]) -> Any:
    """The notebook's cells with their kind, source and nbgrader's grade id, and nothing else of it: outputs, other
    metadata and attachments are the learner's word and stay unread.

    Raises `ValueError` for a link, for what is no file, for one that is too large, and for what is no notebook.
    """
    path = Path(path)
    try:
        raw = json.loads(_bytes(path))
        if raw["nbformat"] != 4 or not isinstance(raw["cells"], list):
            raise ValueError("nbformat 4 with a list of cells is expected")
        if len(raw["cells"]) > MOST_CELLS:
            raise ValueError(f"at most {MOST_CELLS} cells are expected, {len(raw['cells'])} came")
        made = nbformat.from_dict({"cells": [_cell(cell) for cell in raw["cells"]]})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path.name} is not a Jupyter notebook that can be graded: {error!s:.200}"
        ) from error
    code = sum(len(cell.source) for cell in made.cells if cell.cell_type == "code")
    if code > MOST_CODE:
        raise ValueError(f"{path.name}: at most {MOST_CODE} characters of code are expected, {code} came")
    return made


def clean(text: str) -> str:
    """A stranger's words as they can be shown: what steers a terminal or the direction of writing, and what is no
    character at all (half of a surrogate pair), becomes a mark of replacement."""
    return _STEERING.sub("\ufffd", text)


_HALVES = re.compile(r"[\ud800-\udfff]")
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def _bytes(path: Path) -> bytes:
    """The content of a regular file of a sensible size. A link would let a learner hand in what is not theirs."""
    try:
        # Not blocking: opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_symlink():
            raise ValueError("a file is expected, a symbolic link came") from error
        raise
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("a regular file is expected")
        if about.st_size > MOST_BYTES:
            raise ValueError(f"at most {MOST_BYTES >> 20} MB are expected, {about.st_size >> 20} MB came")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)


def _cell(raw: dict[str, Any]) -> dict[str, Any]:
    kind, source = raw["cell_type"], raw["source"]
    if isinstance(source, list):
        source = "".join(source)
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        raise ValueError("cells of kind code, markdown or raw, with a text, are expected")
    source = _HALVES.sub("\ufffd", source)  # half of a surrogate pair can be written to no file
    marks = raw.get("metadata", {}).get("nbgrader")
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    metadata = (
        {"nbgrader": {"grade_id": _HALVES.sub("\ufffd", grade_id)}} if isinstance(grade_id, str) else {}
    )
    return {"cell_type": kind, "source": source, "metadata": metadata}
