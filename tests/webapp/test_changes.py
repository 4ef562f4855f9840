"""What a learner changed: only what they typed, where it stands, and nothing that is the same."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio import changes as module
from studio.changes import changes


def notebook(*sources: str, ids: str = "") -> Any:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    for cell, name in zip(made.cells, ids or "abcdefghij", strict=False):
        cell["id"] = name
    return made


def shape(original: Any, mine: Any) -> list[tuple[str, int, list[tuple[str, str, int | None]]]]:
    return [
        (cell.kind, cell.number, [(line.kind, line.text, line.number) for line in cell.lines])
        for cell in changes(original, mine)
    ]


def test_an_untouched_copy_has_none() -> None:
    assert changes(notebook("x = 1", "y"), notebook("x = 1", "y")) == []


def test_running_it_is_no_change() -> None:
    mine = notebook("x = 1")
    mine.cells[0].outputs = [nbformat.v4.new_output("stream", text="1")]
    mine.cells[0].execution_count = 7
    mine.cells[0].metadata["collapsed"] = True
    assert changes(notebook("x = 1"), mine) == []


def test_a_changed_line_with_its_surroundings() -> None:
    lines = [f"line {i}" for i in range(1, 12)]
    mine = [*lines[:6], "mine", *lines[7:]]
    around = [("same", f"line {i}", i) for i in (4, 5, 6)]
    after = [("same", f"line {i}", i) for i in (8, 9, 10)]
    assert shape(notebook("z", "\n".join(lines)), notebook("z", "\n".join(mine))) == [
        (
            "changed",
            2,
            [
                ("gap", "", None),
                *around,
                ("removed", "line 7", None),
                ("added", "mine", 7),
                *after,
                ("gap", "", None),
            ],
        )
    ]


def test_new_and_removed_cells_stand_where_they_belong() -> None:
    original = notebook("a", "b", "c", ids="abc")
    mine = notebook("a", "new", "c", ids="anc")
    assert [(kind, number) for kind, number, _ in shape(original, mine)] == [("added", 2), ("removed", 2)]
    assert [(kind, number) for kind, number, _ in shape(original, notebook("a", ids="a"))] == [
        ("removed", 2),
        ("removed", 3),
    ]


def test_empty_new_cells_are_nothing() -> None:
    assert changes(notebook("a"), notebook("a", "", " \n", ids="axy")) == []


def test_cells_are_known_by_their_grade_id_and_without_ids_by_their_text() -> None:
    original, mine = notebook("a", "stub", ids="ab"), notebook("stub", "a", ids="xy")
    assert changes(original, mine) == []  # moved, but the same
    mine = notebook("written", "a", ids="xy")
    for book, index in ((original, 1), (mine, 0)):
        book.cells[index].metadata["nbgrader"] = {"grade_id": "solution-f"}
    [change] = changes(original, mine)
    assert (change.kind, change.number, change.added, change.removed) == ("changed", 1, 1, 1)


def test_a_cell_that_is_too_long_says_only_that_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 5)
    [change] = changes(notebook("a"), notebook("\n" * 5 + "b"))
    assert change.kind == "changed" and change.lines == ()


texts = st.lists(st.sampled_from(["", "a", "b", "a\nb", "b\na\na"]), max_size=6)


@given(texts, texts)
def test_every_line_is_told_exactly_once(before: list[str], after: list[str]) -> None:
    found = changes(notebook(*before), notebook(*after))
    for cell in found:
        theirs = [line.text for line in cell.lines if line.kind == "removed" or line.kind == "same"]
        mine = [line.text for line in cell.lines if line.kind == "added" or line.kind == "same"]
        if cell.kind == "changed":
            assert theirs == before[cell.number - 1].splitlines()
        if cell.kind != "removed":
            assert mine == after[cell.number - 1].splitlines()
        else:
            assert theirs == before[cell.number - 1].splitlines()
    for number, text in enumerate(after, start=1):
        told = any(cell.number == number and cell.kind != "removed" for cell in found)
        partner = before[number - 1] if number <= len(before) else None
        assert told == (text != partner if partner is not None else bool(text.strip()))
