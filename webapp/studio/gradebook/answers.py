"""What a learner wrote in a notebook, sorted by what is marked: the answer of each exercise and its graded cells.

nbgrader's cells are told apart by their names. A part begins with an answer (a solution or task cell) and has the graded
cells up to the next answer; an answer that is marked itself is both. Nothing of a submission is run or parsed as Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from studio.grading import release
from studio.i18n import LANGUAGES

from .classroom import Classroom, Submission

MOST_SHOWN = 20_000  # characters of one answer
MOST_ADDED = 20  # of the learner's own cells beside one answer


@dataclass(frozen=True)
class Cell:
    """A cell of the learner's. `code`: it is Python, not prose; `cut`: more of it is in the notebook."""

    text: str
    code: bool
    cut: bool = False


@dataclass
class Part:
    """What is marked together. `answer` is the name of the solution or task cell, "" for graded cells before any;
    `written` is None where the submission lacks that cell; `added` are code cells that the learner inserted."""

    answer: str
    graded: list[str] = field(default_factory=list)
    written: Cell | None = None
    added: list[Cell] = field(default_factory=list)


def parts(order: Iterable[str], answers: set[str], graded: set[str]) -> list[Part]:
    """The parts of a notebook: `order` has the names of its cells, `answers` and `graded` those that are one."""
    found: list[Part] = []
    for name in order:
        if name in answers:
            found.append(Part(name))
        if name in graded:
            if not found:
                found.append(Part(""))
            found[-1].graded.append(name)
    return found


def fill(found: list[Part], content: bytes, handed_out: frozenset[str]) -> None:
    """Puts what a submission says into its parts. Raises `ValueError` if `content` is not a notebook.

    A cell of the learner's own belongs to the exercise whose slot it fills, else to the answer before it.
    """
    places = {part.answer: part for part in found if part.answer}
    slots = {name: part for part in found for name in part.graded}
    known = {name for part in found for name in (part.answer, *part.graded)}
    here = found[0] if found else None
    for name, kind, text in _cells(content):
        if name in places and places[name].written is None:
            here = places[name]
            here.written = _cell(text, kind)
        elif here is not None and kind == "code" and name not in known and text.strip() not in handed_out:
            slot = release.slot_of(text[:MOST_SHOWN])
            part = slots.get(release.check_id(slot), here) if slot else here
            if len(part.added) < MOST_ADDED:
                part.added.append(_cell(text, kind))


def _cell(text: str, kind: str) -> Cell:
    # A lone surrogate, which JSON allows, cannot be sent to a browser.
    shown = text[:MOST_SHOWN].encode("utf-8", "replace").decode()
    return Cell(shown, kind == "code", len(text) > MOST_SHOWN)


def _cells(content: bytes) -> Iterator[tuple[str, str, str]]:
    """(name, type, source) of each cell. Raises `ValueError` if it is not a notebook."""
    try:
        for cell in json.loads(content)["cells"]:
            source = cell["source"]
            name = _name(cell)
            yield name, str(cell["cell_type"]), source if isinstance(source, str) else "".join(source)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {type(error).__name__}") from error


def _name(cell: Any) -> str:
    found = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")
    return found if isinstance(found, str) else ""


def handed_out(classroom: Classroom, submission: Submission) -> tuple[list[str], frozenset[str]]:
    """The names of the cells that were handed out, in their order, and the sources of the code cells, in both languages."""
    place = (submission.assignment, submission.notebook)
    copy = classroom.folder("release", place[0]) / f"{place[1]}.ipynb"
    original = classroom.instructor(*place) or classroom.folder("source", place[0]) / copy.name
    paths = [path for path in (copy, original) if path.is_file()]
    return _handed_out(tuple((path, path.stat().st_mtime_ns, path != copy) for path in paths))


@lru_cache(maxsize=64)
def _handed_out(files: tuple[tuple[Path, int, bool], ...]) -> tuple[list[str], frozenset[str]]:
    order: list[str] = []
    sources: set[str] = set()
    for path, _, with_solutions in files:
        made = [path.read_bytes()]
        if with_solutions:
            notebook = release.read(path)
            made = [json.dumps(release.release(notebook, lang)).encode() for lang in LANGUAGES]
        for content in made:
            cells = list(_cells(content))
            order = order or [name for name, _, _ in cells if name]
            sources |= {text.strip() for _, kind, text in cells if kind == "code"}
    return order, frozenset(sources)
