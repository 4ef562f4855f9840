"""Both kinds of database for the tests of leases: `url` and `store` run a test on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from studio.compute.machine import Device, Machine
from studio.compute.quota import Quota
from studio.compute.sql import SqlStore
from tests.webapp.compute import postgres

_numbers = itertools.count()
GIB = 1 << 30


class Clock:
    """A clock that the test sets; it begins on a Wednesday."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0 + 3600

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The server's own database; a test that writes gets one of its own from `url`."""
    binaries = postgres.binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL on this machine (apt-get install postgresql)")
    with postgres.running(binaries) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/compute.sqlite3"
    return new_database(request.getfixturevalue("postgres_url"))


def new_database(postgres_url: str) -> str:
    """The address of an empty database of that server."""
    server = sqlalchemy.make_url(postgres_url).set(drivername="postgresql+psycopg")
    name = f"test_{next(_numbers)}"
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"create database {name}")
    engine.dispose()
    return server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


def machine(slots: int = 2, gpus: int = 0, memory: int = 64 * GIB) -> Machine:
    """`slots` for sessions and one more for grading; simulated GPUs."""
    devices = [Device(f"cpu:{n}", "cpu", grading_only=n == slots) for n in range(slots + 1)]
    devices += [Device(f"sim:{n}", "gpu", "simulated GPU", 8 * GIB) for n in range(gpus)]
    return Machine(tuple(devices), memory)


@pytest.fixture
def open_store(url: str, clock: Clock) -> Iterator[Callable[..., SqlStore]]:
    """`open_store(slots=2, gpus=0, quota=None)`: stores on one database; closed when the test ends."""
    opened: list[SqlStore] = []

    def make(quota: Quota | None = None, **parts: Any) -> SqlStore:
        opened.append(SqlStore(url, machine(**parts), quota or Quota(), clock))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., SqlStore]) -> SqlStore:
    """Two slots and the one for grading, no GPU, no quota."""
    return open_store()
