"""Backups: made while others write, verified, restored whole or not at all, and brought to today's form."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from studio.backup import archive, states
from studio.backup.archive import BackupError, back_up, check, restore
from studio.cli import main
from studio.compute import opening, schema
from studio.compute.sql import SqlStore
from studio.gradebook import book
from studio.gradebook.classroom import Classroom
from studio.hub import receipts
from tests.webapp.running import until

SECRET = "tell-nobody-3f9c"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace in use: notebooks, state, an upload, and secrets."""
    home = tmp_path / "work"
    for name, content in {
        "notebooks/01.ipynb": "{}",
        "notes/读.txt": "text",
        "requirements.lock": "numpy",
        "datasets/a/0123456789ab/card.json": "{}",
        "datasets/.incoming/half": "half",
        ".studio/attempts/00.json": "[]",
        ".studio/receipts/00 2026.json": "{}",
        ".studio/jobs/1/job.json": "{}",
        ".studio/jobs/1/output.log": "epoch 1",
        ".studio/studio-8866.json": SECRET,
        ".studio/jupyter/runtime/jupyter_cookie_secret": SECRET,
        ".studio/jupyter/runtime/jpserver-1.json": SECRET,
        ".studio/jupyter/data/notebook_secret": SECRET,
        ".studio/jupyter/config/labconfig/page_config.json": "{}",
        ".studio/looks/digits.json": "[]",
        ".studio/starting.lock": "",
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with SqlStore(f"sqlite:///{home}/.studio/compute.sqlite3"):
        pass
    return home


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_workspace_comes_back_without_its_secrets(home: Path, tmp_path: Path) -> None:
    (home / "notebooks/01.ipynb").chmod(0o640)
    os.utime(home / "notebooks/01.ipynb", (1e9, 1e9 + 0.5))
    (home / "link").symlink_to("/etc/passwd")
    (home / "elsewhere").symlink_to("/etc")
    os.mkfifo(home / "pipe")
    file = tmp_path / "b.sampan"
    told = back_up(home, file, "workspace")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert told.left_out == ["elsewhere", "link", "pipe"]
    assert check(file) == told
    restored, migrated = restore(file, tmp_path / "new")
    assert restored == told and migrated == [".studio/compute.sqlite3"]
    found = content(tmp_path / "new")
    assert found.pop(".studio/format") == f"{states.FORMAT}\n".encode()
    assert set(found) == {
        *("notebooks/01.ipynb", "notes/读.txt", "requirements.lock", "datasets/a/0123456789ab/card.json"),
        *(".studio/attempts/00.json", ".studio/receipts/00 2026.json", ".studio/compute.sqlite3"),
        *(".studio/jobs/1/job.json", ".studio/jobs/1/output.log"),
        ".studio/jupyter/config/labconfig/page_config.json",
    }
    assert not any(SECRET.encode() in part for part in found.values())
    assert SECRET.encode() not in gzip.decompress(file.read_bytes())
    state = (tmp_path / "new/notebooks/01.ipynb").stat()
    assert stat.S_IMODE(state.st_mode) == 0o640 and state.st_mtime == 1e9 + 0.5
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_neither_a_backup_nor_a_restore_overwrites(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "b"
    back_up(home, file, "workspace")
    before = file.read_bytes()
    with pytest.raises(BackupError, match="exists"):
        back_up(home, file, "workspace")
    assert file.read_bytes() == before
    with pytest.raises(BackupError, match="not empty"):
        restore(file, home)
    (tmp_path / "empty").mkdir()
    restore(file, tmp_path / "empty")
    with pytest.raises(BackupError, match="there is no folder"):
        back_up(tmp_path / "nothing", tmp_path / "c", "workspace")


def test_a_backup_inside_the_folder_does_not_contain_itself(home: Path) -> None:
    (home / ".studio/backups").mkdir()
    told = back_up(home, home / ".studio/backups/b", "workspace")
    again = back_up(home, home / ".studio/backups/c", "workspace")
    assert told.files.keys() == again.files.keys()


# ---- damage


def repacked(change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None], file: Path, out: Path) -> Path:
    """A backup with other members."""
    with tarfile.open(file, "r:gz") as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]  # all are files
    change(members)
    with tarfile.open(out, "w:gz") as tar:
        for member, body in members:
            member.size = len(body) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(body))
    return out


def added(name: str, **fields: object) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        info = tarfile.TarInfo(name)
        for field, value in fields.items():
            setattr(info, field, value)
        members.insert(0, (info, b"evil"))

    return change


def other_content(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    place = next(i for i, (member, _) in enumerate(members) if member.name.startswith("notebooks"))
    members[place] = (members[place][0], b"[]")


def without_a_file(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    del members[1]


def without_manifest(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    del members[-1]


def of_the_future(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    member, body = members[-1]
    members[-1] = (member, json.dumps({**json.loads(body), "format": 99}).encode())


DAMAGE = {
    "traversal": (added("../evil"), "no file inside"),
    "traversal inside": (added("a/../../evil"), "no file inside"),
    "absolute": (added("/tmp/evil"), "no file inside"),
    "link": (added("a", type=tarfile.SYMTYPE, linkname="/etc"), "no file inside"),
    "hard link": (added("a", type=tarfile.LNKTYPE, linkname="/etc/passwd"), "no file inside"),
    "device": (added("a", type=tarfile.CHRTYPE), "no file inside"),
    "folder": (added("a", type=tarfile.DIRTYPE), "no file inside"),
    "unknown file": (added("a"), "a is not what the manifest says"),
    "twice": (added("notebooks/01.ipynb"), "twice"),
    "other content": (other_content, "notebooks/01.ipynb is not what"),
    "missing file": (without_a_file, "is not what the manifest says"),
    "no manifest": (without_manifest, "not complete"),
    "newer format": (of_the_future, "has the format 99"),
}


@pytest.mark.parametrize(
    ("change", "words"), DAMAGE.values(), ids=[name.replace(" ", "-") for name in DAMAGE]
)
def test_a_changed_backup_is_not_restored(
    home: Path, tmp_path: Path, change: Callable[..., None], words: str
) -> None:
    back_up(home, tmp_path / "b", "workspace")
    file = repacked(change, tmp_path / "b", tmp_path / "c")
    before = set(tmp_path.iterdir())
    for use in (check, lambda path: restore(path, tmp_path / "new")):
        with pytest.raises(BackupError, match=words):
            use(file)
    assert set(tmp_path.iterdir()) == before and not Path("/tmp/evil").exists()


def test_a_cut_file_and_another_file_are_refused(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "b", "workspace")
    whole = (tmp_path / "b").read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 9):
        (tmp_path / "c").write_bytes(whole[:length])
        with pytest.raises(BackupError):
            check(tmp_path / "c")
    (tmp_path / "c").write_text("no archive")
    with pytest.raises(BackupError, match="no backup"):
        check(tmp_path / "c")


# ---- while others write, and killed


_WRITER = """
import sqlite3, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
connections = [sqlite3.connect(folder / name, timeout=30, isolation_level=None) for name in ("wal.db", "rollback.db")]
connections[0].execute("pragma journal_mode=wal")
for c in connections:
    c.execute("create table if not exists pair (a int, b int)")
print("writing", flush=True)
number = 0
while True:
    number += 1
    for c in connections:
        c.execute("begin immediate")
        c.execute("insert into pair values (?, 0)", (number,))
        c.execute("update pair set b = ? where a = ?", (number, number))
        c.execute("commit")
    whole = folder / "whole.txt.next"
    whole.write_text(f"{number} " * 5000)
    whole.rename(folder / "whole.txt")
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "busy").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path / "busy")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_a_backup_while_others_write_is_consistent(tmp_path: Path, writer: subprocess.Popen[str]) -> None:
    rows, whole, seen = [], tmp_path / "busy" / "whole.txt", ""
    for number in range(3):
        before = seen
        seen = until(
            lambda before=before: whole.exists() and (now := whole.read_text()) != before and now
        )  # all was written, and once more
        back_up(tmp_path / "busy", tmp_path / f"b{number}", "workspace")
        restore(tmp_path / f"b{number}", tmp_path / f"r{number}")
        for name in ("wal.db", "rollback.db"):
            with closing(sqlite3.connect(tmp_path / f"r{number}" / name)) as connection:
                assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
                pairs = connection.execute("select a, b from pair order by a").fetchall()
            assert pairs == [(i, i) for i in range(1, len(pairs) + 1)]
            rows.append(len(pairs))
        words = (tmp_path / f"r{number}/whole.txt").read_text().split()
        assert len(words) == 5000 and len(set(words)) == 1
    assert rows[-1] > rows[0] > 0 and writer.poll() is None  # it went on meanwhile


_SLOW = """
import sys, time
from pathlib import Path
from studio.backup import archive
add, number = archive._{step}, [0, 1, 1]
def slow(*arguments):
    print("under way", flush=True)
    time.sleep(0.2 if number.pop() else 600)
    return add(*arguments)
archive._{step} = slow
archive.{call}
"""


@pytest.mark.parametrize(
    ("step", "call", "result"),
    [
        ("add", "back_up(Path(sys.argv[1]), Path(sys.argv[2]) / 'b', 'workspace')", "b"),
        ("extract", "restore(Path(sys.argv[2]) / 'good', Path(sys.argv[2]) / 'new')", "new"),
    ],
    ids=["backup", "restore"],
)
def test_a_killed_one_leaves_nothing_under_the_name(
    home: Path, tmp_path: Path, step: str, call: str, result: str
) -> None:
    back_up(home, tmp_path / "good", "workspace")
    program = _SLOW.replace("{step}", step).replace("{call}", call)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(home), str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "under way\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / result).exists()
    assert len(list(tmp_path.glob(f".{result}.*.part"))) == 1
    if result == "b":  # the next one works, and removes what was left
        back_up(home, tmp_path / "b", "workspace")
    else:
        restore(tmp_path / "good", tmp_path / "new")
    assert (tmp_path / result).exists() and list(tmp_path.glob(".*.part")) == []


# ---- older states


def test_a_backup_of_the_previous_schema_opens_after_a_restore(tmp_path: Path) -> None:
    old = tmp_path / "7b"
    database = old / "grading" / ".studio" / "compute.sqlite3"
    database.parent.mkdir(parents=True)
    engine = create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        opening.upgrade(connection, "1")
        connection.exec_driver_sql(
            "insert into use (id, owner, purpose, title, kind, share, memory, seconds, device, granted, ended)"
            " values ('l1', 'ada', 'page', 'tape', 'cpu', 1, 1, 60, 'cpu:0', ?, ?)",
            (time.time() - 60, time.time()),
        )
    engine.dispose()
    marks = old / "grading" / "classes" / "7b"
    marks.mkdir(parents=True)
    with book.opened(Classroom(marks)) as gradebook:
        gradebook.add_student("ada")
    with closing(sqlite3.connect(marks / "gradebook.db")) as connection:  # as nbgrader alone left it
        connection.execute("drop table sampan_outcome")
        connection.commit()
    back_up(old, tmp_path / "b", "class")
    told, migrated = restore(tmp_path / "b", tmp_path / "new" / "7b")
    assert told.kind == "class"
    assert migrated == ["grading/.studio/compute.sqlite3", "grading/classes/7b/gradebook.db"]
    new = tmp_path / "new" / "7b" / "grading"
    with closing(sqlite3.connect(new / ".studio" / "compute.sqlite3")) as connection:
        assert connection.execute("select version_num from alembic_version").fetchone() == (schema.REVISION,)
    with SqlStore(f"sqlite:///{new}/.studio/compute.sqlite3") as store:
        (use,) = store.uses(0)
        assert use.ask.owner == "ada"
    engine = create_engine(f"sqlite:///{new}/classes/7b/gradebook.db")
    assert "sampan_outcome" in inspect(engine).get_table_names()
    engine.dispose()
    with book.opened(Classroom(new / "classes" / "7b")) as gradebook:
        assert [student.id for student in gradebook.students] == ["ada"]


def test_a_class_without_and_with_the_key(tmp_path: Path) -> None:
    root = tmp_path / "7b"
    for name in (
        "roster.json",
        "hub/config.json",
        "passwords-2026.csv",
        "grading/course/00.ipynb",
        "shared/a/b/card.json",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET if name.startswith(("hub", "passwords")) else "{}")
    key = receipts.key(root / "grading" / "receipt.key")
    told = back_up(root, tmp_path / "b", "class")
    assert (
        set(told.files) == {"roster.json", "grading/course/00.ipynb", "shared/a/b/card.json"}
        and not told.keys
    )
    with_keys = back_up(root, tmp_path / "c", "class", with_keys=True)
    assert set(with_keys.files) - set(told.files) == {"grading/receipt.key"} and with_keys.keys
    restore(tmp_path / "c", tmp_path / "new")
    assert receipts.key(tmp_path / "new/grading/receipt.key") == key
    assert stat.S_IMODE((tmp_path / "new/grading/receipt.key").stat().st_mode) == 0o600


def test_a_state_folder_of_a_newer_version_is_not_used(tmp_path: Path) -> None:
    states.settle(tmp_path)
    states.settle(tmp_path)
    assert (tmp_path / "format").read_text() == f"{states.FORMAT}\n"
    for text in (f"{states.FORMAT + 1}\n", "x"):
        (tmp_path / "format").write_text(text)
        with pytest.raises(ValueError, match="update Sampan"):
            states.settle(tmp_path)


def test_the_table_of_states_knows_its_patterns() -> None:
    for path, copied in {
        ".studio/compute.sqlite3": True,
        "homes/ada/sampan-work/.studio/studio-1.json": False,
        "homes/ada/sampan-work/.studio/attempts/x.json": True,
        "poetry.lock": True,
        "notes.tmp": True,
        ".studio/attempts/.00.lock": True,
        "hub/x": False,
        "github/x": True,
    }.items():
        assert states.is_copied(path, with_keys=False) is copied, path


def test_the_commands(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(home))
    file = str(tmp_path / "b")
    assert main(["backup", file]) == 0
    assert "10 files" in capsys.readouterr().out
    assert main(["backup", file]) == 1
    assert "does not overwrite" in capsys.readouterr().err
    assert main(["restore", file, "--check"]) == 0
    assert main(["restore", file, str(tmp_path / "new")]) == 0
    assert "in the form of this version: .studio/compute.sqlite3" in capsys.readouterr().out
    assert main(["restore", file]) == main(["restore", file, str(tmp_path / "new")]) == 1
    assert main(["class", "backup", str(home), str(tmp_path / "c")]) == 0
    assert archive.check(tmp_path / "c").kind == "class"
