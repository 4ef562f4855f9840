"""What a learner wrote, sorted by what is marked."""

from __future__ import annotations

import json

import pytest

from studio.gradebook import answers
from studio.gradebook.answers import Cell, parts
from studio.gradebook.classroom import Classroom, Submission
from tests.webapp.gradebook.conftest import notebook_of

ORDER = ("answer", "test-answer", "why", "task")
WRITTEN, GRADED = {"answer", "why", "task"}, {"test-answer", "why", "task"}


def test_an_answer_has_the_graded_cells_up_to_the_next_answer() -> None:
    found = parts(["lone", *ORDER], WRITTEN, GRADED | {"lone"})
    assert [(part.answer, part.graded) for part in found] == [
        ("", ["lone"]),
        ("answer", ["test-answer"]),
        ("why", ["why"]),
        ("task", ["task"]),
    ]


def test_cells_are_found_by_name_and_own_cells_by_place_and_slot() -> None:
    found = parts(["ops-relu", "check-ops-relu", "ops-tanh", "check-ops-tanh"],
                  {"ops-relu", "ops-tanh"}, {"check-ops-relu", "check-ops-tanh"})  # fmt: skip  # a call on two lines
    content = notebook_of(
        [
            ("", "code", "import sampan  "),  # handed out
            ("", "code", "helper = 1"),
            ("ops-relu", "code", "relu"),
            ("ops-relu", "code", "a second cell of that name"),
            ("check-ops-relu", "code", "changed by the learner"),
            ("", "code", '@learn.exercise("ops.relu")\ndef again(x): ...'),
            ("ops-tanh", "code", "tanh"),
            ("", "code", '@learn.exercise("ops.relu")\ndef moved(x): ...'),
            ("", "markdown", "prose of my own"),
        ]
    )
    answers.fill(found, content, frozenset(["import sampan"]))
    relu, tanh = found
    assert relu.written == Cell("relu", True) and tanh.written == Cell("tanh", True)
    assert [cell.text.split("\n")[-1] for cell in relu.added] == [
        "helper = 1",
        "def again(x): ...",
        "def moved(x): ...",
    ]
    assert tanh.added == []


def test_a_long_answer_is_cut_and_many_cells_are_not_all_shown() -> None:
    found = parts(["a"], {"a"}, set())
    cells = [("a", "code", "x" * (answers.MOST_SHOWN + 1)), *[("", "code", f"{n}") for n in range(99)]]
    answers.fill(found, notebook_of(cells), frozenset())
    assert found[0].written == Cell("x" * answers.MOST_SHOWN, True, cut=True)
    assert len(found[0].added) == answers.MOST_ADDED


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"cells": 3}', b'{"cells": [1]}', b'{"cells": [{"cell_type": "code"}]}', b"[" * 100_000,
     b'{"cells": [{"cell_type": "code", "source": [1], "metadata": {}}]}', b"\xff\xfe"],
    ids=range(8),
)  # fmt: skip  # a table
def test_what_is_not_a_notebook(content: bytes) -> None:
    with pytest.raises(ValueError):
        answers.fill(parts(["a"], {"a"}, set()), content, frozenset())


def test_metadata_of_any_shape_and_half_a_character() -> None:
    cells = [
        {"cell_type": "code", "source": "\ud800", "metadata": m} for m in ({"nbgrader": {"grade_id": 3}}, {})
    ]
    found = parts(["a"], {"a"}, set())
    answers.fill(found, json.dumps({"cells": cells}).encode(), frozenset())
    assert [cell.text for cell in found[0].added] == ["?", "?"]


def test_the_order_is_that_of_the_release(essays: Classroom) -> None:
    order, sources = answers.handed_out(essays, Submission("amy", "old", "essay"))
    assert tuple(order) == ORDER
    assert sources == {"def double(x):\n    raise NotImplementedError", "assert double(2) == 4"}
