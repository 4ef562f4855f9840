"""Trouble of the machine is recognised from real exceptions: SQLite's, SQLAlchemy's and the system's."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError

from studio.trouble import trouble

pytestmark = pytest.mark.servers


def test_a_full_disk() -> None:
    assert trouble(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == "full"
    try:
        try:
            with open("/dev/full", "wb", buffering=0) as device:
                device.write(b"x")
        except OSError as error:
            raise RuntimeError("no copy") from error
    except RuntimeError as error:
        assert trouble(error) == "full"


def test_a_full_database(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'x.sqlite3'}")
    with engine.connect() as connection:
        connection.exec_driver_sql("pragma max_page_count=2")
        connection.exec_driver_sql("create table t (x)")
        with pytest.raises(OperationalError) as caught:
            connection.exec_driver_sql("insert into t values (zeroblob(100000))")
    engine.dispose()
    assert trouble(caught.value) == "full"


def test_a_locked_database(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite3"
    with closing(sqlite3.connect(path)) as other:
        other.execute("begin exclusive")
        engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.1})
        with pytest.raises(OperationalError) as caught, engine.connect() as connection:
            connection.exec_driver_sql("create table t (x)")
        engine.dispose()
    assert trouble(caught.value) == "locked"


def test_a_database_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite3"
    sqlite3.connect(path).close()
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("create table t (x)")
        assert trouble(caught.value) == "read_only"


@pytest.mark.parametrize(
    "error", [None, ValueError("x"), OSError(errno.ENOENT, "x"), sqlite3.ProgrammingError("x")]
)
def test_anything_else_is_no_trouble(error: BaseException | None) -> None:
    assert trouble(error) is None
