"""The learner's copies: made once, never overwritten, put aside under a dated name."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from studio.course import CopyFailed, Course, keep_under_dated_name, move_without_replacing


def notebook(**sampan: Any) -> dict[str, Any]:
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"sampan": sampan, "kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [
            {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Title"},
            {
                "cell_type": "code",
                "id": "b",
                "metadata": {
                    "nbgrader": {"grade": False, "grade_id": "f", "solution": True, "locked": False}
                },
                "source": "def f():\n    ### BEGIN SOLUTION\n    return 'a secret line'\n    ### END SOLUTION\n",
                "execution_count": None,
                "outputs": [],
            },
            {
                "cell_type": "code",
                "id": "c",
                "metadata": {
                    "nbgrader": {
                        "grade": True,
                        "grade_id": "t",
                        "solution": False,
                        "locked": True,
                        "points": 1,
                    }
                },
                "source": "assert f()",
                "execution_count": None,
                "outputs": [],
            },
        ],
    }


@pytest.fixture
def course(tmp_path: Path) -> Course:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    about = {"title": "First", "title_zh": "第一课", "summary": "S", "summary_zh": "要", "minutes": 25}
    (folder / "01_first.ipynb").write_text(json.dumps(notebook(**about)))
    (folder / "00_zero.ipynb").write_text(json.dumps({**notebook(), "cells": []}))
    return Course(folder, tmp_path / "home")


def test_lessons(course: Course) -> None:
    zero, first = course.lessons()
    assert (zero.id, zero.title("en"), zero.minutes, zero.graded) == ("00_zero", "00_zero", 0, False)
    assert (first.title("zh"), first.summary("en"), first.minutes, first.graded) == ("第一课", "S", 25, True)
    assert first.edited is None and first.copy == course.workspace / "notebooks" / "01_first.ipynb"


def test_a_changed_notebook_is_read_again(course: Course) -> None:
    path = course.folder / "01_first.ipynb"
    assert course.lessons()[1].minutes == 25
    path.write_text(json.dumps(notebook(title="Other", minutes=5)))
    os.utime(path, (1, 1))
    assert course.lessons()[1].title("zh") == "Other"


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"metadata": {}, "cells": [1]}', '{"metadata": 3}'])
def test_a_broken_notebook_is_named(course: Course, content: str) -> None:
    (course.folder / "02_broken.ipynb").write_text(content)
    with pytest.raises(ValueError, match=r"02_broken\.ipynb"):
        course.lessons()


@pytest.mark.parametrize("lesson_id", ["nothing", "../home", "", "checks/00"])
def test_a_lesson_that_is_none(course: Course, lesson_id: str) -> None:
    assert course.lesson(lesson_id) is None


def test_no_folder_no_lessons(tmp_path: Path) -> None:
    assert Course(tmp_path / "absent", tmp_path).lessons() == []


def test_a_copy_is_made_without_the_solution(course: Course) -> None:
    lesson = course.lessons()[1]
    copy = asyncio.run(course.open_copy(lesson))
    made = json.loads(copy.read_text("utf-8"))
    assert "a secret line" not in copy.read_text("utf-8")
    assert made["metadata"]["kernelspec"]["name"] == "sampan"
    assert course.lessons()[1].edited is not None
    assert [path.name for path in copy.parent.iterdir()] == ["01_first.ipynb"]  # nothing half-made beside it


def test_an_existing_copy_is_never_touched(course: Course) -> None:
    lesson = course.lessons()[1]
    lesson.copy.parent.mkdir(parents=True)
    lesson.copy.write_text("my work")
    asyncio.run(course.open_copy(lesson))
    assert lesson.copy.read_text() == "my work"


def test_start_again_keeps_the_old_copy(course: Course) -> None:
    lesson = course.lessons()[1]
    lesson.copy.parent.mkdir(parents=True)
    lesson.copy.write_text("my work")
    asyncio.run(course.start_again(lesson))
    assert "def f()" in lesson.copy.read_text("utf-8")
    (old,) = [path for path in lesson.copy.parent.iterdir() if path != lesson.copy]
    assert old.read_text() == "my work" and old.name.startswith("01_first 20")


def test_a_copy_changes_its_language_with_all_that_was_written(course: Course) -> None:
    source = course.folder / "01_first.ipynb"
    told = json.loads(source.read_text())
    chinese = {"cell_type": "markdown", "id": "z", "metadata": {"tags": ["zh"]}, "source": "# 标题"}
    told["cells"].insert(1, chinese)
    source.write_text(json.dumps(told))
    lesson = course.lessons()[1]
    copy = asyncio.run(course.open_copy(lesson, "zh"))
    made = json.loads(copy.read_text("utf-8"))
    assert "".join(made["cells"][0]["source"]) == "# 标题" and course.lessons()[1].copy_language == "zh"
    made["cells"][1]["source"] = "def f():\n    return 'mine'"
    copy.write_text(json.dumps(made))
    asyncio.run(course.translate(lesson, "en"))
    now = json.loads(copy.read_text("utf-8"))
    assert ["".join(cell["source"]) for cell in now["cells"]][:2] == [
        "# Title",
        "def f():\n    return 'mine'",
    ]
    assert course.lessons()[1].copy_language == "en" and len(lesson.kept()) == 1
    asyncio.run(course.translate(lesson, "en"))  # nothing to do
    assert len(lesson.kept()) == 1


def test_a_copy_that_is_not_a_notebook_is_not_translated(course: Course) -> None:
    lesson = course.lessons()[1]
    lesson.copy.parent.mkdir(parents=True)
    lesson.copy.write_text("my work")
    with pytest.raises(CopyFailed, match="not a Jupyter notebook"):
        asyncio.run(course.translate(lesson, "zh"))
    assert lesson.copy.read_text() == "my work" and not lesson.kept()


@pytest.mark.parametrize("step", ["_write_copy", "_run_in_our_kernel"])
def test_a_full_disk_leaves_the_old_copy_in_its_place(
    course: Course, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    lesson = course.lessons()[1]
    lesson.copy.parent.mkdir(parents=True)
    lesson.copy.write_text("my work")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"studio.course.{step}", full)
    with pytest.raises(OSError, match="No space"):
        asyncio.run(course.start_again(lesson))
    assert [path.name for path in lesson.copy.parent.iterdir()] == [lesson.copy.name]
    assert lesson.copy.read_text() == "my work"


def test_two_clicks_make_one_copy(course: Course) -> None:
    lesson = course.lessons()[1]

    async def both() -> None:
        await asyncio.gather(course.open_copy(lesson), course.open_copy(lesson))

    asyncio.run(both())
    assert [path.name for path in lesson.copy.parent.iterdir()] == ["01_first.ipynb"]


def test_a_copy_that_cannot_be_made_leaves_nothing(course: Course) -> None:
    broken = notebook()
    broken["cells"][1]["source"] = "### BEGIN SOLUTION\nno end"
    (course.folder / "01_first.ipynb").write_text(json.dumps(broken))
    lesson = course.lessons()[1]
    with pytest.raises(CopyFailed, match="END SOLUTION"):
        asyncio.run(course.open_copy(lesson))
    assert list(lesson.copy.parent.iterdir()) == []


def test_dated_names_never_collide(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 18, 57, 3)
    names = []
    for text in ("one", "two", "three"):
        path = tmp_path / "n.ipynb"
        path.write_text(text)
        kept = keep_under_dated_name(path, now)
        assert kept.read_text() == text and not path.exists()
        names.append(kept.name)
    stamp = "n 2026-11-21 18.57.03"
    assert names == [f"{stamp}.ipynb", f"{stamp} (2).ipynb", f"{stamp} (3).ipynb"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_move_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(*_args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("a")
    move_without_replacing(source, target)
    assert target.read_text() == "a" and not source.exists()
    source.write_text("c")
    with pytest.raises(FileExistsError):
        move_without_replacing(source, target)
    assert (source.read_text(), target.read_text()) == ("c", "a")


def test_exercises_and_points_are_counted(course: Course) -> None:
    zero, first = course.lessons()
    assert (zero.exercises, zero.points) == (0, 0) and (first.exercises, first.points) == (1, 1)


async def _three_copies(course: Course) -> None:
    """The present one holds "three"; "two" and "one" were put aside before, in that order of lateness."""
    lesson = course.lessons()[1]
    for text in ("one", "two"):
        await course.start_again(lesson)
        lesson.copy.write_text(text)
    keep_under_dated_name(lesson.copy, datetime(2026, 11, 21, 9, 8, 7))
    await course.open_copy(lesson)
    lesson.copy.write_text("three")


def test_former_copies_are_listed_the_latest_first(course: Course) -> None:
    asyncio.run(_three_copies(course))
    lesson = course.lessons()[1]
    (lesson.copy.parent / "01_first notes.ipynb").write_text("mine, and no former copy")
    one, two = lesson.kept()
    assert (one.path.read_text(), two.path.read_text()) == ("one", "two")
    assert two.when == "2026-11-21 09:08:07"


def test_going_back_to_a_former_copy_loses_nothing(course: Course) -> None:
    asyncio.run(_three_copies(course))
    lesson = course.lessons()[1]
    asyncio.run(course.restore(lesson, lesson.kept()[1]))
    assert lesson.copy.read_text() == "two"
    assert sorted(kept.path.read_text() for kept in lesson.kept()) == ["one", "three", "two"]
    lesson.copy.unlink()
    asyncio.run(course.restore(lesson, lesson.kept()[0]))
    assert lesson.copy.read_text() == "three"
    assert not list(lesson.copy.parent.glob(".*"))


def test_answers_to_exercises_that_moved_come_along(tmp_path: Path) -> None:
    def written(path: Path, cells: dict[str, str]) -> None:
        told = notebook(title="T")
        told["cells"] = [
            {**told["cells"][1], "id": f"c{at}", "source": f'@learn.exercise("{slot}")\ndef f():\n    {body}'}
            for at, (slot, body) in enumerate(cells.items())
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told))

    home, moved, stays = tmp_path / "home", "sparse.operators.spmm", "kernels.sparse.grouped"
    solution = "### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"
    written(tmp_path / "course" / "05_sparse.ipynb", {stays: solution})
    written(tmp_path / "course" / "05b_sparse_training.ipynb", {moved: solution})
    written(home / "notebooks" / "05_sparse.ipynb", {stays: "return 'stays'", moved: "return 'mine'"})
    course = Course(tmp_path / "course", home)
    lesson = course.lesson("05b_sparse_training")
    assert lesson is not None
    copy = asyncio.run(course.open_copy(lesson)).read_text()
    assert "return 'mine'" in copy and "'stays'" not in copy
    fresh = asyncio.run(course.start_again(lesson)).read_text()
    assert "return 'mine'" not in fresh and "NotImplementedError" in fresh
