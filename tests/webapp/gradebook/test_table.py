"""The class as a table: titles before the first run, sorted and filtered, what is hardest, what was returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from studio.gradebook import marking, returning, table, titles
from studio.gradebook.classroom import Classroom
from studio.gradebook.work import work
from tests.webapp.gradebook.test_marking import AMY, BOB, entries

FULL = ((2.0, None, ""), (4.0, None, ""), (3.0, None, ""))
HALF = ((2.0, None, ""), (1.0, None, ""), (None, None, ""))


def test_columns_have_titles_before_the_first_run(make: Callable[[], Classroom]) -> None:
    classroom = make()
    (column,) = table.table(classroom, "week1").columns
    assert [column.title(lang) for lang in ("en", "zh")] == [
        "Replace negative numbers by zero",
        "把负数变成零",
    ]
    assert column.slot == ""  # nothing was graded that could be graded again
    assert titles.titles(classroom, "week1", "99_nothing") == {}


def test_titles_are_read_without_running_the_checks(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "made.ipynb").write_text("{}")
    checks = tmp_path / "checks" / "made.py"
    checks.write_text(
        "raise SystemExit\n"
        "EXERCISES = [Exercise('a.b', 1, 'One', '一', f), Exercise(slot='c', points=2, title_zh='二', title='Two'),\n"
        "             Exercise('d', 1, name(), '三', f), Other('e', 1, 'E', '四')]\n"
    )
    classroom = Classroom(tmp_path, course=tmp_path)
    assert titles.titles(classroom, "x", "made") == {
        "check-a-b": {"en": "One", "zh": "一"},
        "check-c": {"en": "Two", "zh": "二"},
    }
    (tmp_path / "checks" / "broken.py").write_text("EXERCISES = [")
    (tmp_path / "broken.ipynb").write_text("{}")
    assert titles.titles(classroom, "x", "broken") == {}


@pytest.fixture(scope="module")
def shown(new_essays: Callable[[Path], Classroom], tmp_path_factory: pytest.TempPathFactory) -> table.Table:
    """Amy has full points, bob a part of them, cem nothing; amy's marks were returned and bob's have changed since."""
    essays = new_essays(tmp_path_factory.mktemp("shown"))
    marking.save(essays, AMY, entries(work(essays, AMY).parts, FULL))
    marking.save(essays, BOB, entries(work(essays, BOB).parts, HALF))
    returning.return_marks(essays, "old")
    marking.save(essays, BOB, entries(work(essays, BOB).parts, ((1.0, None, ""), *HALF[1:])))
    return table.table(essays, "old")


def test_names_addresses_and_what_was_returned(shown: table.Table) -> None:
    told = {row.student: (row.name, row.email, row.earned, row.returned > 0, row.stale) for row in shown.rows}
    assert told == {
        "amy": ("Amy Adams", "amy@example.org", 9.0, True, False),
        "bob": ("=Bob", "", 2.0, True, True),
        "cem": ("", "", 0.0, False, False),
    }
    assert (shown.returned, shown.shares()) == (2, [1.0, pytest.approx(2 / 9)])


def test_what_is_hardest(shown: table.Table) -> None:
    told = {(c.cell, c.failed, c.marked) for c in shown.hardest()}
    assert told == {("test-answer", 1, 2), ("why", 1, 2)}  # bob's task has no mark yet
    assert len(shown.hardest(1)) == 1


@pytest.mark.parametrize(
    ("sort", "only", "find", "names"),
    [
        ("name", "all", "", ["bob", "amy", "cem"]),  # "=Bob" has no last name
        ("login", "all", "", ["amy", "bob", "cem"]),
        ("email", "all", "", ["amy", "bob", "cem"]),
        ("points", "all", "", ["amy", "bob", "cem"]),
        ("login", "open", "", ["bob"]),
        ("login", "incomplete", "", ["bob"]),
        ("login", "missing", "", ["cem"]),
        ("login", "waiting", "", []),
        ("login", "all", "EXAMPLE.org", ["amy"]),
    ],
)
def test_sorted_and_filtered(
    shown: table.Table, sort: table.Sort, only: table.Only, find: str, names: list[str]
) -> None:
    found = table.arranged(shown, sort, only, find)
    assert [row.student for row in found.rows] == names
    assert found.columns == shown.columns


def test_a_late_penalty_is_in_the_score(shown: table.Table) -> None:
    amy = replace(next(row for row in shown.rows if row.student == "amy"), penalty=1.5)
    assert (amy.earned, amy.score) == (9.0, 7.5)
