"""Renamed copies are found; code that the exercise provides does not count."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from studio import cli
from studio.gradebook import report
from studio.gradebook.classroom import Classroom
from studio.gradebook.similar import Fingerprints, compare, fingerprints, side_by_side
from tests.webapp.gradebook.conftest import NOTEBOOK, hand_in
from tools.made_class import renamed

STUB = "def solve(rows, limit):\n    found = {}\n    for index, row in enumerate(rows):\n        found[index] = None\n    return found\n"
ODD = '''
def solve(rows, limit):
    """Mine."""
    seen, last = {}, None
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        if row in seen and index % 3 != 1:
            last = seen.pop(row) - index
        else:
            seen[row] = index if last is None else last * 2
        while last is not None and last > limit:
            last //= 2
    return sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))[: limit + 1]
'''
PLAIN = "def solve(rows, limit):\n    return {row: rows.index(row) for row in set(rows) if rows.count(row) > limit}\n"
OTHER = [
    PLAIN,
    "def solve(rows, limit):\n    from collections import Counter\n    counted = Counter(rows)\n    return [r for r, n in counted.items() if n > limit]\n",
    "def solve(rows, limit):\n    out = []\n    while rows:\n        a, *rows = rows\n        if a < limit:\n            out.append(a ** 2)\n    assert out, 'nothing'\n    return tuple(out)\n",
]


def prints(source: str) -> Fingerprints:
    return fingerprints([source])


def test_a_renamed_copy_is_first_and_others_are_not_there() -> None:
    own = {f"other-{n}": prints(text) for n, text in enumerate(OTHER)}
    found = compare({**own, "amy": prints(ODD), "bob": prints(renamed(ODD))}, prints(STUB))
    assert [(pair.first, pair.second) for pair in found] == [("amy", "bob")]
    assert found[0].alike > 0.99 and found[0].bits > 5


def test_changed_values_and_a_moved_part_do_not_hide_it() -> None:
    changed = renamed(ODD).replace("3", "7").replace("2", "4")
    moved = "def helper():\n    return [n * n for n in range(9) if n]\n\n" + changed
    found = compare({"amy": prints(ODD), "bob": prints(moved), "cy": prints(PLAIN * 3)}, prints(STUB))
    assert [(pair.first, pair.second) for pair in found] == [("amy", "bob")] and found[0].alike > 0.8


def test_the_stub_and_what_everybody_has_accuse_nobody() -> None:
    stub = prints(STUB)
    assert compare({"amy": stub, "bob": prints(renamed(STUB))}, stub) == []
    everybody = {f"learner-{n}": prints(STUB + PLAIN) for n in range(30)}
    assert compare(everybody, stub) == []


def test_what_is_no_python_is_passed_over() -> None:
    found = fingerprints(["def f(:\n", "%timeit f()\n!ls\nx = [1, 2, 3]", "(" * 5000, "\0"])
    assert found.nodes > 0 and "%timeit f()" in found.source


def test_side_by_side_marks_what_both_have() -> None:
    first, second = side_by_side(
        ("amy", "bob"), (prints(STUB + ODD), prints(renamed(ODD) + "\nprint('bye')\n")), prints(STUB)
    )
    marked = [line.strip() for line, shared in first.lines if shared]
    assert any("seen.pop" in line for line in marked) and not any("found[index]" in line for line in marked)
    assert [line for line, shared in second.lines if not shared and "bye" in line]


@pytest.fixture(scope="module")
def classroom(make: Callable[[], Classroom]) -> Classroom:
    """Twelve that did it their own way, a pair that shares one, stubs, and files that cannot be read."""
    made = make()
    exercise = '@learn.exercise("ops.relu")\n'
    hand_in(made, "amy", exercise + ODD.strip())
    hand_in(made, "bob", exercise + renamed(ODD))
    hand_in(made, "stub-1")
    hand_in(made, "stub-2")
    for n, text in enumerate(OTHER):
        hand_in(made, f"other-{n}", exercise + text)
    hand_in(made, "long", "x = 1\n" * 100_000)
    broken = made.folder("submitted", "week1", "broken") / f"{NOTEBOOK}.ipynb"
    broken.parent.mkdir(parents=True)
    broken.write_text("[" * 100_000)
    return made


def test_the_report_of_a_class(classroom: Classroom) -> None:
    found = asyncio.run(report.ask(classroom, "week1", NOTEBOOK))
    assert [(pair.first, pair.second) for pair in found.pairs] == [("amy", "bob")]
    assert found.left_out == ("broken", "long")
    sides = asyncio.run(report.ask(classroom, "week1", NOTEBOOK, "amy", "bob"))
    assert [side.name for side in sides] == ["amy", "bob"] and any(shared for _, shared in sides[1].lines)
    with pytest.raises(ValueError, match="no code of long"):
        asyncio.run(report.ask(classroom, "week1", NOTEBOOK, "amy", "long"))
    with pytest.raises(ValueError, match="no notebook 'nothing'"):
        asyncio.run(report.ask(classroom, "week1", "nothing"))


def test_from_the_command_line_and_as_a_page_of_its_own(
    classroom: Classroom,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    evil = hand_in(
        classroom, "amy", '@learn.exercise("ops.relu")\n' + ODD.strip() + "\n# </style><script>1</script>"
    )
    page = tmp_path / "alike.html"
    assert cli.main(["class", "similar", str(classroom.root), "week1", "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^  amy · bob +(9\d|100)% +\d+\.\d$", said, re.M) and "broken, long" in said
    assert said.splitlines()[-1] == str(page)
    html = page.read_text("utf-8")
    assert evil.is_file() and "&lt;script&gt;1" in html and "<script" not in html
    assert "seen.pop(row)" in html and "--sp-ink:" in html and "http" not in re.sub(r"http-equiv", "", html)
    for wrong in (["week9"], ["week1", "nothing"]):
        assert cli.main(["class", "similar", str(classroom.root), *wrong]) == 2
        assert wrong[-1] in capsys.readouterr().err
