"""Names of learners and of a class as people have them, from handing out to the table for a spreadsheet."""

from __future__ import annotations

import csv
import unicodedata
import zipfile
from io import StringIO
from pathlib import Path

import pytest

from studio.compute.sql import SqlStore
from studio.gradebook import book
from studio.gradebook.classroom import checked, classes, create
from studio.gradebook.handout import hand_out
from studio.gradebook.intake import take_in
from studio.gradebook.table import table
from studio.grading import release
from tests.webapp.gradebook.conftest import NOTEBOOK, ROOT, SOLVED, grade

pytestmark = pytest.mark.servers

CLASS, WEEK = "数学 Grüße 1", "Übung 1"
LEARNERS = ("Jürgen Müller", "李 明", "Seán O'Brien", "Ángel-María")


class Unmarked(zipfile.ZipInfo):
    """An entry whose name is UTF-8 and does not say so."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:
        return self.filename.encode(), self.flag_bits & ~0x800


@pytest.mark.parametrize("name", [CLASS, WEEK, *LEARNERS])
def test_a_name_in_any_script_with_spaces(name: str) -> None:
    assert checked(name) == name


@pytest.mark.parametrize("name", [" a", "a ", "a\tb", "a\u202eb", "a\u00a0", "'a", "a/b", "..", "a\x00b"])
def test_a_name_that_cannot_be_seen_or_leads_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="a name of letters"):
        checked(name)


def test_from_handing_out_to_the_table(tmp_path: Path, store: SqlStore) -> None:
    """The zip file is one of those whose names are decomposed and not marked as UTF-8, as some systems write them."""
    create(tmp_path, unicodedata.normalize("NFD", CLASS))
    classroom = create(tmp_path / "other", CLASS)
    (copy,) = hand_out(classroom, WEEK, [ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"])
    notebook = release.read(copy)
    for cell in notebook.cells:
        if release.slot_of(cell.source):
            cell.source = SOLVED
    solved = tmp_path / "solved.ipynb"
    release.write(notebook, solved)
    packed = tmp_path / "handed in.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for learner in LEARNERS:
            name = unicodedata.normalize("NFD", f"{learner}/{WEEK}/{NOTEBOOK}.ipynb")
            archive.writestr(Unmarked(name), solved.read_bytes())
    taken = take_in(classroom, WEEK, packed)
    assert (sorted(taken.submissions), taken.left_out) == (
        sorted(f"{learner}/{WEEK}/{NOTEBOOK}" for learner in LEARNERS),
        [],
    )
    assert grade(classroom, store).phase == "done"
    shown = table(classroom, WEEK)
    assert {row.student: row.earned for row in shown.rows} == dict.fromkeys(LEARNERS, 1)
    with book.opened(classroom) as gradebook:
        rows = list(csv.DictReader(StringIO(book.as_csv(book.marks(gradebook)))))
    assert {row["student_id"]: (row["assignment"], float(row["score"])) for row in rows} == dict.fromkeys(
        LEARNERS, (WEEK, 1.0)
    )
    assert list(classes(tmp_path)) == [CLASS]
