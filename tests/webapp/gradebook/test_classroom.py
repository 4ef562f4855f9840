"""nbgrader's folders and settings, as a teacher's existing course has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbgrader.coursedir import CourseDirectory

from studio.gradebook import classroom
from studio.gradebook.classroom import Classroom, Submission
from studio.gradebook.submissions import MOST_BYTES, Unreadable, read


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")


def test_the_folders_are_nbgraders(tmp_path: Path) -> None:
    ours, theirs = Classroom(tmp_path), CourseDirectory(root=str(tmp_path))
    for step, student in (("source", "."), ("release", "."), ("submitted", "amy"), ("autograded", "amy")):
        assert ours.folder(step, "week1", student) == Path(
            os.path.normpath(theirs.format_path(step, student, "week1"))
        )
    assert ours.database.split("?")[0] == theirs.db_url


def test_what_there_is(tmp_path: Path) -> None:
    for name in ("source/./week2/b.ipynb", "source/week1/a.ipynb", "release/week1/a.ipynb"):
        touch(tmp_path / name)
    for name in ("amy/week1/a.ipynb", "bob/week1/other.ipynb", ".hidden/week1/a.ipynb", "amy/week9/x.ipynb"):
        touch(tmp_path / "submitted" / name)
    found = Classroom(tmp_path, course=tmp_path / "nowhere")
    assert found.assignments() == {"week1": ["a"], "week2": ["b"], "week9": []}
    assert found.students() == ["amy", "bob"]
    assert found.submissions() == [Submission("amy", "week1", "a")]


def test_settings_are_read_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'cs1'\nc.CourseDirectory.submitted_directory = 'in'\n"
        "c.CourseDirectory.directory_structure = '{student_id}/{nbgrader_step}/{assignment_id}'\n"
        f"open({str(tmp_path / 'ran')!r}, 'w')\nc.Exchange.root = '/x'\n"
    )
    found = Classroom(tmp_path)
    assert found.course_id == "cs1"
    assert found.folder("submitted", "week1", "amy") == tmp_path / "amy" / "in" / "week1"
    assert not (tmp_path / "ran").exists()


def test_a_computed_setting_is_named(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text("import os\nc.CourseDirectory.db_url = os.environ['X']\n")
    with pytest.raises(
        ValueError, match=r"line 2: db_url must be a text written out here, \"os.environ\['X'\]\""
    ):
        Classroom(tmp_path)


def test_no_folder_no_class(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="class: expected a folder"):
        Classroom(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "a\\b", "x" * 65, "a\n", "=1+1", "-x"])
def test_a_name_that_is_no_folders(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="a name of letters"):
        classroom.create(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_classes_of_a_workspace(tmp_path: Path) -> None:
    classroom.create(tmp_path, "七年级")
    classroom.create(tmp_path, "cs1")
    with pytest.raises(ValueError, match="already"):
        classroom.create(tmp_path, "cs1")
    assert list(classroom.classes(tmp_path)) == ["cs1", "七年级"]


def test_reading_follows_no_link_and_has_a_limit(tmp_path: Path) -> None:
    touch(tmp_path / "outside" / "a.ipynb")
    root = tmp_path / "class"
    touch(root / "amy" / "a.ipynb")
    (root / "bob").symlink_to(tmp_path / "outside")
    (root / "amy" / "b.ipynb").symlink_to(tmp_path / "outside" / "a.ipynb")
    with (root / "amy" / "c.ipynb").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert read(root, root / "amy" / "a.ipynb") == b"{}"
    for name, kind in (("bob/a", "link"), ("amy/b", "link"), ("amy/c", "too_big")):
        with pytest.raises(Unreadable) as refusal:
            read(root, root / f"{name}.ipynb")
        assert refusal.value.kind == kind
    with pytest.raises(FileNotFoundError):
        read(root, root / "amy" / "none.ipynb")
    assert len(os.listdir("/proc/self/fd")) < 100  # nothing stays open
