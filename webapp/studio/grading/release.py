"""From an instructor's notebook to a learner's copy, in nbgrader's cell format.

Solution regions become a stub, hidden tests and cells tagged `instructor`, marks of the notebooks' own tests, outputs
and foreign metadata are removed.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from studio import library

from . import translation

BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
SLOT = re.compile(r"""@learn\.exercise\(\s*["']([\w.]+)["']""")
KEPT_NOTEBOOK_KEYS = ("kernelspec", "language_info", "sampan")
KEPT_CELL_KEYS = ("nbgrader", "tags", "editable", "deletable")
TEST_MARKS = re.compile(r"^# NBVAL_\w+\n", re.M)  # for the test of the instructor's version
DATA = "data"  # the folder of files of data beside the notebooks of an assignment
SHORTEST_LEAK = 12  # a solution line shorter than this ("total = 0") does not reveal anything


def read(path: str | os.PathLike[str]) -> Any:
    """The notebook at that path, as nbformat 4. Raises `ValueError` if it is not a notebook."""
    path = Path(path)
    if path.stat().st_size > 20 << 20:
        raise ValueError(
            f"{path.name}: expected a notebook of at most 20 MB, got {path.stat().st_size} bytes"
        )
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat raises many kinds for broken files, none of which names the file
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"{path.name} is not a Jupyter notebook: {reason[0]:.200}") from error
    return notebook


def data_beside(folder: Path) -> list[Path]:
    """The files of data in an assignment's folder, by name."""
    return sorted(path for path in (folder / DATA).glob("*") if path.is_file())


def grade_id(cell: Any) -> str | None:
    found = cell.metadata.get("nbgrader", {}).get("grade_id")
    return found if isinstance(found, str) else None


def check_id(slot: str) -> str:
    """The grade id of the cell that holds an exercise's visible check and its points."""
    return f"check-{slot.replace('.', '-')}"


def _current(slot: str) -> str:
    """The name of a slot today, for one that may be an earlier name."""
    names: dict[str, str] = library.load("learn/renamed.py").RENAMED
    return names.get(slot, slot)


def slot_of(source: str) -> str | None:
    """The exercise slot that a cell fills, if it fills one."""
    found = SLOT.search(source)
    return _current(found.group(1)) if found else None


def slots_of(source: str) -> list[str]:
    """Every exercise slot that a cell fills."""
    return sorted({_current(name) for name in SLOT.findall(source)})


def regions(source: str, begin: str, end: str) -> tuple[list[tuple[int, int]], list[str]]:
    """([(first line, line after the last) of each region, markers included], all lines). Raises `ValueError` for a
    marker without its partner."""
    lines, found, start = source.split("\n"), [], None
    for number, line in enumerate(lines):
        if line.strip() == begin:
            if start is not None:
                raise ValueError(f"line {number + 1}: a second {begin!r} before {end!r}")
            start = number
        elif line.strip() == end:
            if start is None:
                raise ValueError(f"line {number + 1}: {end!r} without {begin!r}")
            found.append((start, number + 1))
            start = None
    if start is not None:
        raise ValueError(f"line {start + 1}: {begin!r} without {end!r}")
    return found, lines


def solution_lines(source: str) -> list[str]:
    """The lines inside the solution regions that would reveal something: no markers, comments or very short lines."""
    found, lines = regions(source, BEGIN_SOLUTION, END_SOLUTION)
    inside = (line.strip() for start, stop in found for line in lines[start + 1 : stop - 1])
    return [line for line in inside if len(line) >= SHORTEST_LEAK and not line.startswith("#")]


# Of a stub, in English and Chinese.
WRITE_HERE = {"en": "# Your turn: write here.", "zh": "# 轮到你了：写在这里。"}
WRITE_TEXT_HERE = {"en": "*Your turn: write here.*", "zh": "*轮到你了：写在这里。*"}
WRITE_INSTEAD = {
    "en": "# Your turn: write here, instead of the line that raises.",
    "zh": "# 轮到你了：写在这里，替换下面抛出异常的语句。",
}
NOT_WRITTEN = {
    "en": ("{slot} is not written yet. For a hint: learn.hint('{slot}'). ",
           "To continue with the library's version: learn.reference('{slot}')"),
    "zh": ("{slot} 还没有写。查看提示：learn.hint('{slot}')。",
           "要先用库自己的版本继续：learn.reference('{slot}')"),
}  # fmt: skip


def _stub(source: str, lang: str, cell: Any) -> str:
    """The cell with a stub in place of each region: an exercise raises, any other cell gets a line to write on. A cell that
    nbgrader calls a solution is one as a whole where it has no regions."""
    found, lines = regions(source, BEGIN_SOLUTION, END_SOLUTION)
    code = cell.cell_type == "code"
    slot = slot_of(source) if code else None
    if not found and cell.metadata.get("nbgrader", {}).get("solution"):
        return WRITE_HERE[lang] if code else WRITE_TEXT_HERE[lang]
    for start, stop in reversed(found):
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        if slot is None:
            stub = [f"{indent}{WRITE_HERE[lang]}" if code else WRITE_TEXT_HERE[lang]]
        else:
            stub = [
                f"{indent}{WRITE_INSTEAD[lang]}",
                f"{indent}raise NotImplementedError(",
                *(f'{indent}    "{text.format(slot=slot)}"' for text in NOT_WRITTEN[lang]),
                f"{indent})",
            ]
        lines[start:stop] = stub
    return "\n".join(lines)


# What nbgrader removes; it finds them anywhere in a line.
_MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS", "BEGIN MARK SCHEME")


def _no_other_marker(source: str) -> None:
    """Raises `ValueError` for a marker in another form than ours: what it hides would be handed out."""
    for line in source.split("\n"):
        for marker in _MARKERS:
            if marker in line:
                raise ValueError(
                    f"expected a line with nothing but '### {marker}', got {line.strip()!r:.100}"
                )


def _without_hidden(source: str) -> str:
    found, lines = regions(source, BEGIN_HIDDEN, END_HIDDEN)
    for start, stop in reversed(found):
        del lines[start:stop]
    return "\n".join(lines).strip("\n") if found else source


def release(instructor: Any, lang: str = "en") -> Any:
    """The learner's copy of an instructor's notebook, in English or Chinese; the original is not changed.

    Raises `ValueError` if a region is broken or a line of a solution is anywhere else in the notebook.
    """
    copy = nbformat.v4.new_notebook()
    copy.nbformat_minor = instructor.nbformat_minor
    copy.metadata = nbformat.from_dict(
        {k: instructor.metadata[k] for k in KEPT_NOTEBOOK_KEYS if k in instructor.metadata}
    )
    if lang != "en":
        copy.metadata.setdefault("sampan", {})["language"] = lang
    for number, cell in enumerate(translation.in_language(instructor, lang)):
        if "instructor" in cell.metadata.get("tags", []):
            continue
        try:
            source = TEST_MARKS.sub("", _stub(_without_hidden(cell.source), lang, cell))
            _no_other_marker(source)
        except ValueError as error:
            raise ValueError(f"cell {number}: {error}") from error
        if not source.strip():
            continue
        made = nbformat.from_dict({"cell_type": cell.cell_type, "source": source, "metadata": {}})
        made.metadata.update({k: cell.metadata[k] for k in KEPT_CELL_KEYS if k in cell.metadata})
        if "id" in cell:
            made["id"] = cell["id"]
        if "attachments" in cell:
            made["attachments"] = cell["attachments"]
        if cell.cell_type == "code":
            made.update(execution_count=None, outputs=[])
        copy.cells.append(made)
    found = leaks(instructor, copy)
    if found:
        raise ValueError(f"a line of a solution is outside its region: {found[0]!r}")
    nbformat.validate(copy)
    return copy


def leaks(instructor: Any, copy: Any) -> list[str]:
    """Lines of the instructor's solutions that can be read anywhere in the copy, metadata and outputs included."""
    secret = {line for cell in instructor.cells for line in solution_lines(cell.source)}
    text = "\n".join(_texts(copy))
    return sorted(line for line in secret if line in text)


def _texts(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, dict):
        return [text for item in node.values() for text in _texts(item)]
    if isinstance(node, (list, tuple)):
        return [text for item in node for text in _texts(item)]
    return []


def write(notebook: Any, path: str | os.PathLike[str]) -> None:
    """Writes a notebook atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(nbformat.writes(notebook) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
