"""The tables, once for SQLite and PostgreSQL. `migrations/` brings a database to this form; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, String, Table, text

REVISION = "3"  # the newest of migrations/versions

metadata = MetaData()


def _ask() -> list[Column]:
    """The columns of an `Ask`, with its field names."""
    return [
        Column("owner", String, nullable=False),
        Column("purpose", String, nullable=False),
        Column("title", String, nullable=False),
        Column("kind", String, nullable=False),
        Column("share", Double, nullable=False),
        Column("memory", BigInteger, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("places", Integer, nullable=False, server_default="1"),
    ]


# `boot` is the scope of `pid`, and so tells which machine's devices these are (machine.boot).
# `seen` is when the holder was last seen alive; before there is a holder, when the lease was last requested.
# A lease of several devices has a row for each. They share `gang`, which is the lease's id and that of its first row.
lease = Table(
    "lease",
    metadata,
    Column("id", String, primary_key=True),
    Column("boot", String, nullable=False),
    *_ask(),
    Column("device", String, nullable=False),
    Column("granted", Double, nullable=False),
    Column("ends", Double, nullable=False),
    Column("seen", Double, nullable=False),
    Column("pid", Integer),
    Column("started", Double),
    Column("gang", String, nullable=False, server_default=""),
    Index("lease_owner", "owner", "kind"),
    Index("lease_gang", "gang"),
)
# Whatever the code does, the database never lends a whole device twice.
_whole = text("share >= 1")
Index("lease_whole", lease.c.boot, lease.c.device, unique=True, sqlite_where=_whole, postgresql_where=_whole)

ticket = Table(
    "ticket",
    metadata,
    Column("id", String, primary_key=True),
    Column("boot", String, nullable=False),
    *_ask(),
    Column("asked", Double, nullable=False),
    Column("seen", Double, nullable=False),
)

# Ended leases.
use = Table(
    "use",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String, nullable=False),  # the lease's
    *_ask(),
    Column("device", String, nullable=False),
    Column("granted", Double, nullable=False),
    Column("ended", Double, nullable=False),
    Index("use_ended", "ended"),
    Index("use_owner", "owner", "kind", "ended"),
)
