"""Taking in submissions: whatever the zip file claims, nothing is written but notebooks, at the places we name."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.gradebook import intake
from studio.gradebook.classroom import Classroom
from studio.gradebook.intake import take_in
from tests.webapp.gradebook.conftest import NOTEBOOK

pytestmark = pytest.mark.servers

FILE = f"{NOTEBOOK}.ipynb"


@pytest.fixture
def classroom(make: Callable[[], Classroom]) -> Iterator[Classroom]:
    yield make()


def zipped(folder: Path, entries: dict[str, bytes]) -> Path:
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def handed_in(classroom: Classroom) -> dict[str, bytes]:
    folder = classroom.root / "submitted"
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.ipynb") if p.is_file()}


def test_the_names_that_are_understood(classroom: Classroom, tmp_path: Path) -> None:
    source = zipped(
        tmp_path,
        {
            f"submitted/amy/week1/{FILE}": b"1",
            f"export/bob/{FILE}": b"2",
            f"cy_1234_5678_{FILE}": b"3",
            f"李雷/week1/{FILE}": b"4",
            f"amy/week1/.ipynb_checkpoints/{FILE}": b"x",
            "amy/week1/timestamp.txt": b"1999",
            f"__MACOSX/amy/._{FILE}": b"x",
        },
    )
    taken = take_in(classroom, "week1", source)
    assert handed_in(classroom) == {
        f"{who}/week1/{FILE}": str(n).encode() for n, who in enumerate(("amy", "bob", "cy", "李雷"), 1)
    }
    assert taken.submissions == [f"{who}/week1/{NOTEBOOK}" for who in ("amy", "bob", "cy", "李雷")]
    assert taken.left_out == []
    stamps = {
        p.parent.parent.name: p.read_text() for p in classroom.root.glob("submitted/*/week1/timestamp.txt")
    }
    assert len(stamps) == 4 and all(
        text.startswith("20") and text.endswith(" UTC") for text in stamps.values()
    )
    again = take_in(classroom, "week1", zipped(tmp_path, {f"amy/{FILE}": b"1", f"bob/{FILE}": b"new"}))
    assert again.submissions == [f"bob/week1/{NOTEBOOK}"]
    later = classroom.root / "submitted" / "bob" / "week1" / "timestamp.txt"
    assert later.read_text() > stamps["bob"]


@pytest.mark.parametrize(
    "name",
    [f"../../evil/{FILE}", f"/etc/evil/{FILE}", f"..\\evil\\{FILE}", f"amy/../../{FILE}", FILE]
    + [f"=cmd/{FILE}", f"week1/{FILE}", "amy/other.ipynb", f"{'x' * 200}/{FILE}", f"a\nb/{FILE}"],
)
def test_a_name_that_leads_out_or_nowhere(classroom: Classroom, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    source = zipped(tmp_path, {name: b"{}"})
    taken = take_in(classroom, "week1", source)
    assert taken.submissions == [] and [kind for _, kind in taken.left_out] == ["unknown"]
    assert handed_in(classroom) == {}
    assert sorted(set(tmp_path.rglob("*")) - {source}) == before


def test_links_bombs_and_damage_are_left_out(classroom: Classroom, tmp_path: Path) -> None:
    path = zipped(
        tmp_path, {f"big/{FILE}": b"0" * (21 << 20), f"good/{FILE}": b"{}", f"good/week1/{FILE}": b"again"}
    )
    link = zipfile.ZipInfo(f"link/{FILE}")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr(f"torn/{FILE}", b"UNIQUE-CONTENT")
    path.write_bytes(path.read_bytes().replace(b"UNIQUE-CONTENT", b"unique-CONTENT"))
    assert path.stat().st_size < 1 << 20  # 21 MB of zeros weigh little
    taken = take_in(classroom, "week1", path)
    assert {name.split("/")[0]: kind for name, kind in taken.left_out} == {
        **{"big": "too_big", "link": "link", "torn": "broken", "good": "twice"}
    }
    assert handed_in(classroom) == {f"good/week1/{FILE}": b"{}"}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04nothing", b"not a zip"])
def test_what_is_no_zip_file(classroom: Classroom, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "work.zip"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"work\.zip is not a readable zip file"):
        take_in(classroom, "week1", path)


def test_limits_of_the_whole(classroom: Classroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path, {f"amy/{FILE}": b"12345", f"bob/{FILE}": b"12345"})
    monkeypatch.setattr(intake, "MOST_ENTRIES", 1)
    with pytest.raises(ValueError, match="got 2"):
        take_in(classroom, "week1", path)
    monkeypatch.setattr(intake, "MOST_ENTRIES", 10)
    monkeypatch.setattr(intake, "MOST_UNPACKED", 9)
    with pytest.raises(ValueError, match="got more"):
        take_in(classroom, "week1", path)
    assert handed_in(classroom) == {}  # nothing, rather than half


def test_from_a_folder(classroom: Classroom, tmp_path: Path) -> None:
    source = tmp_path / "inbox"
    for who in ("amy", "bob"):
        (source / who).mkdir(parents=True)
    (source / "amy" / FILE).write_text("{}")
    (source / "bob" / FILE).symlink_to(source / "amy" / FILE)
    (source / "cy").symlink_to(source / "amy")
    taken = take_in(classroom, "week1", source)
    assert handed_in(classroom) == {f"amy/week1/{FILE}": b"{}"}
    assert taken.left_out == [(f"bob/{FILE}", "link")]


def test_nothing_is_written_through_a_link(classroom: Classroom, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (classroom.root / "submitted").mkdir()
    (classroom.root / "submitted" / "amy").symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match="is a link"):
        take_in(classroom, "week1", zipped(tmp_path, {f"amy/{FILE}": b"{}"}))
    assert list((tmp_path / "outside").iterdir()) == []
    with pytest.raises(ValueError, match="no assignment 'week7'"):
        take_in(classroom, "week7", tmp_path)
