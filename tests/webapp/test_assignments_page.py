"""The page Assignments: the order of what is due, and which announcements are new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from studio.gradebook.feedback import Returned, ReturnedNotebook
from studio.gradebook.submissions import mark
from studio.hub.receipts import issue
from studio.server import assignments
from studio.server.handing_in import _keep, receipts_of

PLACE = ("week 1", "essay")


def told(name: str, state: str = "open", due: float | None = None, early: bool = False) -> dict[str, Any]:
    notebooks = [] if early else [{"name": "essay", "state": state, "mark": mark(b"{}"), "last": None}]
    return {"name": name, "due": due, "early": early, "notebooks": notebooks}


def test_what_is_due_first_is_first() -> None:
    some = [
        *(told("closed", "closed", 1.0), told("free"), told("soon", due=5.0), told("later", due=9.0)),
        *(told("early", due=2.0, early=True), told("late", "late", 3.0), told("used", "used", 4.0)),
    ]
    names = [one["name"] for one in sorted(some, key=assignments._order)]
    assert names == ["late", "soon", "later", "free", "early", "closed", "used"]


def test_an_announcement_is_new_until_its_text_was_read(tmp_path: Path) -> None:
    one = {"id": "a", "text": "Hello", "author": "tia", "written": 5.0, "edited": 0.0}
    ((shown, new),) = assignments.unread(tmp_path, [one])
    assert new
    assignments._remember(tmp_path, [shown])
    assert [new for _, new in assignments.unread(tmp_path, [one])] == [False]
    assert [new for _, new in assignments.unread(tmp_path, [{**one, "edited": 6.0}])] == [True]
    assignments._read_file(tmp_path).write_text("[broken")
    assert [new for _, new in assignments.unread(tmp_path, [one])] == [True]


def test_a_row_knows_the_copy_and_the_newest_receipt(tmp_path: Path) -> None:
    folder = assignments._fetched(tmp_path, "week 1")
    cell = {"cell_type": "markdown", "metadata": {"nbgrader": {"grade": True, "points": 2}}, "source": ""}
    original = json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}).encode()
    row = assignments._row(tmp_path, told("week 1"), {})["notebooks"][0]
    assert not row["fetched"] and not row["newer"] and row["receipt"] == ""
    assignments._store(folder, "essay", original)
    (tmp_path / "assignments" / "week 1").mkdir(parents=True)
    (tmp_path / "assignments" / "week 1" / "essay.ipynb").write_bytes(original)
    receipts = [issue(b"key", "ada", *PLACE, float(when), b"x") for when in (10, 30, 20)]
    for receipt in receipts:
        _keep(receipts_of(tmp_path), receipt)
    (receipts_of(tmp_path) / "essay broken.json").write_text("{")
    row = assignments._row(tmp_path, told("week 1"), {})["notebooks"][0]
    back = {PLACE: {"returned": ReturnedNotebook("essay", (Returned("Why", "为什么", 2.0, 1.5),))}}
    assert assignments._row(tmp_path, told("week 1"), back)["notebooks"][0]["returned"].score == 1.5
    assert row["fetched"] and row["newer"] and row["receipt"] == receipts[1].number
    lesson = assignments.task(tmp_path, "week 1/essay")
    assert lesson is not None and lesson.place == ("assignments", "week%201", "essay")
    assert (lesson.id, lesson.mark_id, lesson.notebook) == ("week 1/essay", "week-1-essay", "essay")
    for name in ("week 1/../essay", "../essay", "week 1/none", "week 1", "a/b/c"):
        assert assignments.task(tmp_path, name) is None, name
