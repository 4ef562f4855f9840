"""Entries, beside what PaddlePaddle 3.3.1 answered."""

from typing import Any

import pytest

from sampan import distributed
from sampan.distributed.parameter_server.entries import (
    CountFilterEntry,
    EntryAttr,
    ProbabilityEntry,
    ShowClickEntry,
)


@pytest.mark.parametrize(
    ("entry", "text", "settings"),
    [
        (CountFilterEntry(3), "count_filter_entry:3", {"admission": 3}),
        (CountFilterEntry(0), "count_filter_entry:0", {"admission": 1}),
        (ProbabilityEntry(0.5), "probability_entry:0.5", {"probability": 0.5}),
        (ShowClickEntry("a", "b"), "show_click_entry:a:b", {}),
    ],
)
def test_entries_as_paddle_writes_them(entry: EntryAttr, text: str, settings: dict[str, Any]) -> None:
    assert entry._to_attr() == text and entry.settings() == settings


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (CountFilterEntry, (-1,), "count_filter must be a valid integer greater or equal than 0"),
        (CountFilterEntry, (1.5,), "count_filter must be a valid integer greater than 0"),
        (ProbabilityEntry, (0,), r"probability must be a float in \(0,1\)"),
        (ProbabilityEntry, (1.0,), r"probability must be a float in \(0,1\)"),
        (ShowClickEntry, (1, "b"), "show_name click_name must be a str"),
    ],
)
def test_errors_are_paddles(kind: Any, given: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        kind(*given)


def test_programs_find_them_where_paddle_has_them() -> None:
    assert distributed.CountFilterEntry is CountFilterEntry
    assert distributed.ProbabilityEntry is ProbabilityEntry
    assert distributed.ShowClickEntry is ShowClickEntry
