"""Opening a database of leases: its URL, its engine, and the migration of its schema."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from studio import paths

from . import schema

_log = logging.getLogger(__name__)

WAIT_S = 10.0  # for another process's transaction
LOCK = 0x53414D50414E  # "SAMPAN": the advisory lock that every writer of a PostgreSQL database takes first
MIGRATIONS = Path(__file__).parent / "migrations"


def address(url: str | None) -> URL:
    """The database to use: `url`, else SAMPAN_STORE, else a file among the Studio's own. ValueError for others."""
    given = url or os.environ.get("SAMPAN_STORE", "")
    if not given:
        return URL.create("sqlite", database=str(paths.state_folder(paths.workspace()) / "compute.sqlite3"))
    try:
        found = make_url(given)
    except ArgumentError:
        # Not the text itself: a password may be in it.
        raise ValueError(
            f"SAMPAN_STORE must be a URL, sqlite:///... or postgresql://..., got {len(given)} other characters"
        ) from None
    if found.drivername == "sqlite" and found.database not in (None, "", ":memory:"):
        return found
    if found.drivername in ("postgresql", "postgresql+psycopg"):
        return found.set(drivername="postgresql+psycopg")
    shown = found.render_as_string(hide_password=True)
    raise ValueError(f"SAMPAN_STORE must be sqlite:///<file> or postgresql://..., got {shown}")


def open_engine(url: URL) -> Engine:
    """An engine on a database with the newest schema. ValueError if its schema is newer than this version knows;
    ModuleNotFoundError if PostgreSQL's driver is not installed."""
    engine = _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)
    try:
        with reader(engine).connect() as connection:
            found = _revision(connection)
        if found == schema.REVISION:
            return engine
        if found is not None and int(found) > int(schema.REVISION):
            raise ValueError(
                f"the database of leases has schema {found}, and this version of Sampan knows {schema.REVISION} at most: "
                "update Sampan, or give SAMPAN_STORE another address"
            )
        with engine.begin() as connection:  # a second process waits here, and then finds nothing to do
            upgrade(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the database to a revision, through Alembic and inside the connection's transaction."""
    from alembic import command  # imported only when needed: it takes a tenth of a second
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def reader(engine: Engine) -> Engine:
    """The same engine for transactions that only read: they take no lock."""
    return engine.execution_options(reads_only=True)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("select version_num from alembic_version")).scalar()


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # two processes that find it damaged must not both move it
    with FileLock(f"{path}.opening", timeout=WAIT_S * 2):
        _set_damaged_aside(path)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it contains people's names
        _write_ahead(path)
    engine = create_engine(url, connect_args={"timeout": WAIT_S})

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions by itself
        connection.execute("pragma synchronous=normal")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("reads_only")
        connection.exec_driver_sql("begin" if reads else "begin immediate")

    return engine


def _set_damaged_aside(path: Path) -> None:
    """Move a database that SQLite cannot read out of the way, with its journal; a new one replaces it.

    It holds leases and the queue, which start empty after a reboot anyway. The damaged file is kept, so that its
    history can be recovered.
    """
    if not path.exists() or path.stat().st_size == 0 or not _is_damaged(path):
        return
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y-%m-%d-%H%M%S')}")
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{end}", f"{aside}{end}")
    _log.warning(
        "The database of sessions %s is damaged. It was renamed to %s, and a new one is used.",
        path,
        aside.name,
    )


def _is_damaged(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
            return connection.execute("pragma quick_check(1)").fetchone() != ("ok",)
    except sqlite3.DatabaseError as error:
        # Not for a locked file or a full disk: the database is intact then, and the next call reports the error.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _write_ahead(path: Path) -> None:
    """Switch to write-ahead logging, so that readers and a writer do not block each other; the file stores this
    mode.

    If several processes do this at once, SQLite refuses all but one, without the usual timeout.
    """
    end = time.monotonic() + WAIT_S
    with closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
        while True:
            try:
                connection.execute("pragma journal_mode=wal")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)


def _postgresql(url: URL) -> Engine:
    # A process that hangs in a transaction must not keep the lock.
    patience = (
        f"-c idle_in_transaction_session_timeout={int(WAIT_S * 500)} -c lock_timeout={int(WAIT_S * 1000)}"
    )
    wanted = {"connect_timeout": int(WAIT_S), "options": patience}
    try:
        engine = create_engine(url, connect_args=wanted, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("PostgreSQL needs its driver: pip install sampan[postgres]") from error

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("reads_only"):
            connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")

    return engine
