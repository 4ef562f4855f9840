"""Uploaded sets on the disk: versions, the quota, and what killed processes leave."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sampan import datasets
from studio.cli import main
from studio.uploads.places import Uploads, taken
from studio.uploads.refusal import Refusal
from studio.uploads.store import Store, quota
from tests.webapp.uploads import files
from tests.webapp.uploads.putting import put


def test_versions(store: Store) -> None:
    first = put(store, files.CSV, "a.csv")
    second = put(store, files.CSV + b"Li,3,1\n", "a.csv")
    assert [card["version"] for card in store.sets()["notes"]] == [second["version"], first["version"]]
    assert len(datasets.load("notes")) == 4
    assert len(datasets.load("notes", version=first["version"])) == 3
    again = put(store, files.CSV, "a.csv")  # the same content: no new version, but the newest one now
    assert again["version"] == first["version"] and len(store.sets()["notes"]) == 2
    assert len(datasets.load("notes")) == 3
    with pytest.raises(ValueError, match=f"version: expected one of .*{first['version']}.*, got 'ffff'"):
        datasets.load("notes", version="ffff")
    store.remove(first)
    assert len(datasets.load("notes")) == 4
    store.remove(second)
    assert store.sets() == {} and not (store.folder / "notes").exists()
    with pytest.raises(ValueError, match="no such data set"):
        datasets.load("notes")


def test_the_card_can_be_changed(store: Store) -> None:
    card = put(store, files.CSV, "a.csv")
    assert card["title"] == "Notes" and card["licence"] == "CC0" and card["items"] == 3
    store.edit(card, {"title": "  Two\nlines ", "source": "me"})
    changed = store.card("notes")
    assert changed is not None and (changed["title"], changed["source"]) == ("Two lines", "me")
    with pytest.raises(Refusal, match="title has 201 characters"):
        store.edit(card, {"title": "x" * 201})
    assert store.look(card)[0]["columns"] == ["name", "age", "score"]


# ---- names and the quota


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a/b", "..", "live", "a" * 65, "digits"])
def test_names_that_cannot_be_used(store: Store, name: str) -> None:
    with pytest.raises(Refusal, match="name"):
        store.begin(name, 10, taken())


def test_the_quota_counts_what_is_on_its_way(tmp_path: Path) -> None:
    store = Store(tmp_path, most=1000)
    first, second = store.begin("a", 400, set()), store.begin("b", 400, set())
    assert store.usage().used == 800  # before a byte has arrived
    with pytest.raises(Refusal, match="300 bytes, and 200 of your 1,000 bytes are free"):
        store.begin("c", 300, set())
    first.discard()
    store.begin("c", 600, set()).discard()
    with pytest.raises(Refusal, match="400 bytes were announced, 401"):
        second.write(b"x" * 401)
    second.write(b"x")
    with pytest.raises(Refusal, match="400 bytes were announced, 1 arrived"):
        second.complete()
    second.discard()
    assert store.usage().used == 0


def test_the_quota_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quota() == 2 << 30
    monkeypatch.setenv("SAMPAN_UPLOAD_GIB", "0.5")
    assert quota() == 1 << 29
    monkeypatch.setenv("SAMPAN_UPLOAD_GIB", "much")
    with pytest.raises(ValueError, match="SAMPAN_UPLOAD_GIB must be a number"):
        quota()


_RACE = """
import sys
from pathlib import Path
from studio.uploads.refusal import Refusal
from studio.uploads.store import Store
store, taken = Store(Path(sys.argv[1]), most=10_000), []
sys.stdin.readline()
for i in range(20):
    try:
        taken.append(store.begin("a", 900, set()))
    except Refusal:
        pass
print(len(taken), flush=True)
sys.stdin.readline()
"""


def test_processes_together_stay_within_the_quota_and_a_killed_one_gives_its_room_back(
    tmp_path: Path,
) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _RACE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        counts = [int(process.stdout.readline()) for process in started]  # type: ignore[union-attr]  # it is a pipe
        assert sum(counts) == 11  # 11 * 900 fit into 10,000
        with pytest.raises(Refusal):
            Store(tmp_path, most=10_000).begin("b", 900, set())
    finally:
        for process in started:
            process.kill()
            process.communicate()
    Store(tmp_path, most=10_000).begin("b", 9_000, set()).discard()


def test_a_folder_of_a_class_can_be_read_by_all_and_is_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, home = Store(tmp_path / "7b" / "shared", most=10**9, public=True), tmp_path / "home"
    old = os.umask(0o077)
    try:
        card = put(shared, files.CSV, "a.csv")
    finally:
        os.umask(old)
    place = shared.folder / "notes" / card["version"]
    modes = [
        stat.S_IMODE(path.stat().st_mode)
        for path in (shared.folder, place, place / "card.json", place / card["file"])
    ]
    assert modes == [0o755, 0o755, 0o644, 0o644]
    monkeypatch.setenv("SAMPAN_CLASS_RELEASED", str(tmp_path / "7b" / "released"))
    monkeypatch.delenv("SAMPAN_UPLOADS", raising=False)
    uploads = Uploads(home)
    monkeypatch.setenv("SAMPAN_UPLOADS", "")  # monkeypatch restores it
    uploads.announce()
    assert len(datasets.load("notes")) == 3
    found = uploads.find("notes")
    assert found is not None and found[0].folder == shared.folder
    put(uploads.own, files.CSV + b"x,1,1\n", "a.csv")
    assert len(datasets.load("notes")) == 4
    found = uploads.find("notes")
    assert found is not None and found[0] is uploads.own


def test_the_command_adds_lists_shows_and_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SAMPAN_UPLOADS", raising=False)
    file = tmp_path / "a.csv"
    file.write_bytes(files.CSV)
    assert main(["data", "add", str(file), "--name", "ages", "--licence", "CC0", "--source", "us"]) == 0
    version = json.loads(next((tmp_path / "home/datasets/ages").glob("*/card.json")).read_text())["version"]
    assert capsys.readouterr().out == f'sampan.datasets.load("ages", version="{version}")\n'
    assert len(datasets.load("ages", version=version)) == 3
    assert main(["data", "show", "ages"]) == 0
    assert "CC0" in capsys.readouterr().out
    assert main(["data", "list"]) == 0
    assert f"ages ({version})" in capsys.readouterr().out
    file.write_bytes(b"a,b\n1\n")
    assert main(["data", "add", str(file), "--name", "ages"]) == 1
    assert "a.csv, line 2: 1 cells" in capsys.readouterr().err
    assert main(["data", "remove", "ages", "0" * 12]) == 1
    assert main(["data", "remove", "ages", version]) == 0
    assert not (tmp_path / "home/datasets/ages").exists()
    assert list((tmp_path / "home/datasets/.incoming").iterdir()) == []


def test_adding_leaves_nothing_of_a_refused_file(tmp_path: Path) -> None:
    from studio.uploads.adding import add

    file = tmp_path / "a.npy"
    file.write_bytes(files.OBJECTS)
    store = Store(tmp_path / "datasets", most=10**6)
    with pytest.raises(Refusal, match="Python objects"):
        asyncio.run(add(store, file, "a", {}))
    assert store.usage().used == 0 and store.sets() == {}
