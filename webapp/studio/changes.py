"""What a learner changed in a notebook, cell by cell and line by line, as plain values for a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from .grading.release import grade_id

AROUND = 3  # unchanged lines shown before and after a change
LONGEST = 3000  # lines of one cell that are compared one by one; for longer cells only the fact that they differ is reported


@dataclass(frozen=True)
class Line:
    """One line; "gap" stands for unchanged lines left out. `number` is the line's in the learner's cell."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str = ""
    number: int | None = None


@dataclass(frozen=True)
class CellChange:
    """A cell that differs. `number` counts the cells of the learner's notebook from 1 (a removed cell: of the
    original). No `lines`: the cell is too long to compare."""

    kind: Literal["changed", "added", "removed"]
    number: int
    code: bool
    lines: tuple[Line, ...]

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


def changes(original: Any, mine: Any) -> list[CellChange]:
    """The cells of two notebooks (nbformat 4) whose text differs, in the order of the learner's. Outputs and
    metadata are ignored: running a notebook does not change it."""
    found: list[CellChange] = []
    left = dict(enumerate(original.cells))
    partners = _partners(original.cells, mine.cells)
    for number, cell in enumerate(mine.cells, start=1):
        partner = partners.get(number - 1)
        if partner is None:
            if cell.source.strip():
                found.append(_change("added", number, cell, "", cell.source))
            continue
        # Unmatched cells of the original before this match were removed here.
        for index in [index for index in left if index < partner and index not in partners.values()]:
            found.append(_change("removed", index + 1, left[index], left.pop(index).source, ""))
        before = left.pop(partner)
        if before.source != cell.source:
            found.append(_change("changed", number, cell, before.source, cell.source))
    found += [
        _change("removed", index + 1, cell, cell.source, "")
        for index, cell in left.items()
        if index not in partners.values()
    ]
    return found


def _partners(original: list[Any], mine: list[Any]) -> dict[int, int]:
    """Which cell of the original each of mine comes from: by its name or id, else by its text."""
    places: dict[str, int] = {}
    for index, cell in enumerate(original):
        for name in _names(cell):
            places.setdefault(name, index)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for index, cell in enumerate(mine):
        place = next((places[name] for name in _names(cell) if name in places), None)
        if place is not None and place not in taken:
            found[index] = place
            taken.add(place)
    texts = {cell.source: index for index, cell in reversed(list(enumerate(original))) if index not in taken}
    for index, cell in enumerate(mine):
        if index not in found and cell.source in texts:
            found[index] = texts.pop(cell.source)
    return found


def _names(cell: Any) -> Iterator[str]:
    name = grade_id(cell)
    if name is not None:
        yield f"grade {name}"
    if "id" in cell:
        yield f"id {cell['id']}"


def _change(
    kind: Literal["changed", "added", "removed"], number: int, cell: Any, before: str, after: str
) -> CellChange:
    old, new = before.splitlines(), after.splitlines()
    lines = () if max(len(old), len(new)) > LONGEST else tuple(_lines(old, new))
    return CellChange(kind, number, cell.cell_type == "code", lines)


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND))
    shown = 0  # lines of `new` that are already processed
    for group in groups:
        if group[0][3] > shown:
            yield Line("gap")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (Line("same", new[i], i + 1) for i in range(new_start, new_end))
            else:
                yield from (Line("removed", old[i]) for i in range(old_start, old_end))
                yield from (Line("added", new[i], i + 1) for i in range(new_start, new_end))
        shown = group[-1][4]
    if shown < len(new):
        yield Line("gap")
