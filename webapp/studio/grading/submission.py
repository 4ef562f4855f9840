"""Reads a learner's notebook, which is untrusted: once, without following links, and reduced to its code."""

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
MOST_CODE = 500_000  # characters: submissions are parsed outside of the sandbox


def read_submission(path: str | os.PathLike[str]) -> Any:
    """The language of the notebook, and its cells with their kind, source and nbgrader's grade id, and nothing else:
    outputs, other metadata and attachments are not read. Raises `ValueError` for a link, for anything but a file, for a file that
    is too large, and for anything but a notebook.
    """
    path = Path(path)
    try:
        raw = json.loads(_bytes(path))
        if raw["nbformat"] != 4 or not isinstance(raw["cells"], list):
            raise ValueError("expected nbformat 4 with a list of cells")
        if len(raw["cells"]) > MOST_CELLS:
            raise ValueError(f"expected at most {MOST_CELLS} cells, got {len(raw['cells'])}")
        cells = [_cell(cell) for cell in raw["cells"]]
        made = nbformat.from_dict({"cells": cells, "metadata": _language(raw.get("metadata"))})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path.name} is not a Jupyter notebook that can be graded: {error!s:.200}"
        ) from error
    code = sum(len(cell.source) for cell in made.cells if cell.cell_type == "code")
    if code > MOST_CODE:
        raise ValueError(f"{path.name}: expected at most {MOST_CODE} characters of code, got {code}")
    return made


_HALVES = re.compile(r"[\ud800-\udfff]")


def _bytes(path: Path) -> bytes:
    """The content of a regular file of a sensible size. A link would let a learner hand in someone else's file."""
    try:
        # Not blocking: opening a pipe without a writer would block for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_symlink():
            raise ValueError("expected a file, got a symbolic link") from error
        raise
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("expected a regular file")
        if about.st_size > MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES >> 20} MB, got {about.st_size >> 20} MB")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)


def _language(metadata: Any) -> dict[str, Any]:
    """Of the notebook's metadata, which may be anything, only that its text is Chinese."""
    about = metadata.get("sampan") if isinstance(metadata, dict) else None
    chinese = isinstance(about, dict) and about.get("language") == "zh"
    return {"sampan": {"language": "zh"}} if chinese else {}


def _cell(raw: dict[str, Any]) -> dict[str, Any]:
    kind, source = raw["cell_type"], raw["source"]
    if isinstance(source, list):
        source = "".join(source)
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        raise ValueError("expected cells of type code, markdown or raw with a text")
    source = _HALVES.sub("\ufffd", source)  # an unpaired surrogate cannot be written to a file
    marks = raw.get("metadata", {}).get("nbgrader")
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    metadata = (
        {"nbgrader": {"grade_id": _HALVES.sub("\ufffd", grade_id)}} if isinstance(grade_id, str) else {}
    )
    return {"cell_type": kind, "source": source, "metadata": metadata}
