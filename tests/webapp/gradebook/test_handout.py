"""A class is handed out in one language; each learner may hand in a copy in the other."""

from __future__ import annotations

from pathlib import Path

from studio import cli
from studio.gradebook import report
from studio.gradebook.classroom import Classroom
from studio.grading import release
from studio.grading.translation import language_of
from tests.webapp.gradebook.conftest import NOTEBOOK, ROOT

SOURCE = ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"


def test_a_class_in_chinese(tmp_path: Path) -> None:
    command = ["class", "release", str(tmp_path), "week1", str(SOURCE), "--language", "zh"]
    assert cli.main(command) == 0
    classroom = Classroom(tmp_path)
    copy = release.read(classroom.folder("release", "week1") / SOURCE.name)
    assert language_of(copy) == "zh" and copy.cells[0].source.startswith("# 入门导览")
    assert "learn.language(" not in (classroom.folder("source", "week1") / SOURCE.name).read_text()

    for student, lang in (("amy", "en"), ("bob", "zh")):
        handed_in = classroom.folder("submitted", "week1", student) / SOURCE.name
        release.write(release.release(release.read(SOURCE), lang), handed_in)
    _, own, left_out = report._all(classroom, "week1", NOTEBOOK)
    assert not left_out and {name: prints.source for name, prints in own.items()} == {"amy": "", "bob": ""}


def test_english_is_the_default(tmp_path: Path) -> None:
    assert cli.main(["class", "release", str(tmp_path), "week1", str(SOURCE)]) == 0
    copy = release.read(Classroom(tmp_path).folder("release", "week1") / SOURCE.name)
    assert language_of(copy) == "en" and copy.cells[0].source.startswith("# Orientation")
