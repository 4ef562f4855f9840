"""Addresses of stores; databases of every age are brought to the newest form, also by two at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from studio.compute import machine as machines
from studio.compute import opening, schema
from studio.compute.lease import Ask, Lease
from studio.compute.quota import Quota
from studio.compute.sql import SqlStore, open_store
from tests.webapp.compute.conftest import GIB, machine

pytestmark = pytest.mark.servers

REVISIONS = ["1", "2", "3"]
ASK = {
    "owner": "amy",
    "purpose": "job",
    "title": "x.py",
    "kind": "cpu",
    "share": 1.0,
    "memory": GIB,
    "seconds": 60.0,
}


def store_at(url: str) -> SqlStore:
    return SqlStore(url, machine(), Quota())


def engine_at(url: str) -> sqlalchemy.Engine:
    """A database as an older Studio left it: nothing is brought up to date."""
    address = opening.address(url)
    return (
        opening._sqlite(address) if address.get_backend_name() == "sqlite" else opening._postgresql(address)
    )


def test_the_newest_revision_is_the_one_that_is_looked_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(opening.MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_current_head() == schema.REVISION
    assert [revision.revision for revision in script.walk_revisions()] == REVISIONS[::-1]


@pytest.mark.parametrize("revision", ["none", *REVISIONS])
def test_from_every_revision_to_the_form_of_the_schema(url: str, revision: str) -> None:
    engine = engine_at(url)
    if revision != "none":
        with engine.begin() as connection:
            opening.upgrade(connection, revision)
            row = {**ASK, "id": "old", "device": "cpu:0", "granted": 10.0, "ended": 20.0}
            use = sqlalchemy.table("use", *(sqlalchemy.column(name) for name in row))
            connection.execute(sqlalchemy.insert(use).values(row))
    with store_at(url) as store:
        assert [(use.id, use.ask, use.seconds) for use in store.uses(0)] == (
            [("old", Ask(**ASK), 10.0)] if revision != "none" else []  # type: ignore[arg-type]
        )
        lease = store.take(Ask(**ASK))  # type: ignore[arg-type]
        assert isinstance(lease, Lease)
        store.release(lease.id)
        assert store.uses(0)[-1].id == lease.id
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    engine.dispose()


def test_a_lease_of_before_there_were_several_places(url: str) -> None:
    engine = engine_at(url)
    with engine.begin() as connection:
        opening.upgrade(connection, "2")
        row = {**ASK, "id": "old", "boot": machines.boot(), "device": "cpu:0", "granted": 10.0, "ends": 20.0}
        row |= {"seen": 10.0, "pid": os.getpid(), "started": machines.started(os.getpid())}
        lease = sqlalchemy.table("lease", *(sqlalchemy.column(name) for name in row))
        connection.execute(sqlalchemy.insert(lease).values(row))
    engine.dispose()
    with store_at(url) as store:
        (found,) = store.leases()
        assert (found.id, found.devices, found.ask) == ("old", ("cpu:0",), Ask(**ASK))  # type: ignore[arg-type]
        store.release("old")
        assert store.leases() == []


def test_a_store_that_is_up_to_date_is_opened_without_alembic(url: str) -> None:
    store_at(url).close()
    code = (
        "import sys; from studio.compute.sql import open_store; open_store(sys.argv[1]).close();"
        "assert not any(name.startswith('alembic') for name in sys.modules), 'alembic was imported'"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, url], check=True)


def test_two_open_an_empty_database_at_once(url: str) -> None:
    code = (
        "import sys; from studio.compute.sql import open_store; import alembic.command;"
        "print('ready', flush=True); sys.stdin.readline(); store = open_store(sys.argv[1]);"
        "print(len(store.leases())); store.close()"
    )
    command = [sys.executable, "-W", "error", "-c", code, url]
    openers = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for opener in openers:
        assert opener.stdout is not None and opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    answers = [opener.communicate() for opener in openers]
    assert answers == [("0\n", "")] * 3


def test_what_failed_half_way_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import op

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the power went out")

    with monkeypatch.context() as patch:
        patch.setattr(op, "rename_table", fail)  # in the second migration
        with pytest.raises(RuntimeError, match="the power went out"):
            store_at(url)
    engine = engine_at(url)
    with engine.connect() as connection:
        assert sqlalchemy.inspect(connection).get_table_names() == []
    engine.dispose()
    store_at(url).close()


def test_a_file_of_its_own_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path / "home"))
    with open_store():
        file = tmp_path / "home" / ".studio" / "compute.sqlite3"
        assert file.stat().st_mode & 0o777 == 0o600  # names of people are in it
    monkeypatch.setenv("SAMPAN_STORE", f"sqlite:///{tmp_path}/other.sqlite3")
    with open_store():
        assert (tmp_path / "other.sqlite3").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "mysql://me:secret@host/x",
            r"must be sqlite:///<file> or postgresql://..., got mysql://me:\*\*\*@host/x",
        ),
        ("sqlite://", "got sqlite://"),
        ("here.sqlite3", "must be a URL"),
    ],
)
def test_addresses_that_are_none(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refusal:
        opening.address(url)
    assert "secret" not in str(refusal.value)


def test_a_form_of_the_future_is_left_alone(url: str) -> None:
    store_at(url).close()
    engine = engine_at(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("update alembic_version set version_num = '99'")
    engine.dispose()
    with pytest.raises(
        ValueError, match=f"has schema 99, and this version of Sampan knows {schema.REVISION} at most"
    ):
        store_at(url)


def test_without_the_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install sampan\[postgres\]"):
        store_at("postgresql://me:secret@nowhere/x")


def test_who_is_killed_in_a_transaction_stops_nobody(url: str) -> None:
    code = (
        "import sys, os; from studio.compute.sql import open_store; store = open_store(sys.argv[1]);"
        "context = store._engine.begin(); context.__enter__(); print('in it', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "in it\n"
        other.kill()
        with store_at(url) as store:
            assert isinstance(store.take(Ask(**ASK), holder=machines.holder(1)), Lease)  # type: ignore[arg-type]


DAMAGES = {
    "other text": lambda data: b"this is no database\n" * 50,
    "first page lost": lambda data: b"\0" * 4096 + data[4096:],
    "cut": lambda data: data[: len(data) // 2],
    "pages of noise": lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_set_aside(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "compute.sqlite3"
    with store_at(f"sqlite:///{path}") as store:
        store.take(Ask(**ASK))  # type: ignore[arg-type]
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    broken = DAMAGES[damage](path.read_bytes())
    path.write_bytes(broken)
    with store_at(f"sqlite:///{path}") as store:
        assert store.leases() == []
        assert isinstance(store.take(Ask(**ASK)), Lease)  # type: ignore[arg-type]
    (aside,) = tmp_path.glob("*.damaged-*[0-9]")
    assert aside.read_bytes() == broken
    assert "damaged" in caplog.text and aside.name in caplog.text


def test_a_sound_database_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "compute.sqlite3"
    for _ in range(2):
        with store_at(f"sqlite:///{path}") as store:
            store.take(Ask(**ASK))  # type: ignore[arg-type]
    assert not list(tmp_path.glob("*.damaged-*")) and not caplog.text


def test_processes_that_find_it_damaged_at_once_agree_on_one(tmp_path: Path) -> None:
    path = tmp_path / "compute.sqlite3"
    path.write_bytes(b"x" * 10000)
    code = f"from studio.compute.sql import open_store; open_store('sqlite:///{path}').leases()"
    runs = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1
