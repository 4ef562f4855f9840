"""Leases, the queue, and past use."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def _ask() -> list[sa.Column]:
    return [
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("title", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("share", sa.Double, nullable=False),
        sa.Column("memory", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "lease",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("boot", sa.String, nullable=False),
        *_ask(),
        sa.Column("device", sa.String, nullable=False),
        sa.Column("granted", sa.Double, nullable=False),
        sa.Column("ends", sa.Double, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        sa.Column("pid", sa.Integer),
        sa.Column("started", sa.Double),
    )
    op.create_index("lease_owner", "lease", ["owner", "kind"])
    whole = sa.text("share >= 1")
    op.create_index(
        "lease_whole", "lease", ["boot", "device"], unique=True, sqlite_where=whole, postgresql_where=whole
    )
    op.create_table(
        "ticket",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("boot", sa.String, nullable=False),
        *_ask(),
        sa.Column("asked", sa.Double, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
    )
    op.create_table(
        "use",
        sa.Column("id", sa.String, primary_key=True),
        *_ask(),
        sa.Column("device", sa.String, nullable=False),
        sa.Column("granted", sa.Double, nullable=False),
        sa.Column("ended", sa.Double, nullable=False),
    )
    op.create_index("use_ended", "use", ["ended"])
    op.create_index("use_owner", "use", ["owner", "kind", "ended"])
