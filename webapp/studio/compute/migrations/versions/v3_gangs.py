"""A lease may have several devices: a row for each, which share a `gang`, the lease's id."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    for table in ("lease", "ticket", "use"):
        op.add_column(table, sa.Column("places", sa.Integer, nullable=False, server_default="1"))
    op.add_column("lease", sa.Column("gang", sa.String, nullable=False, server_default=""))
    op.execute("update lease set gang = id")
    op.create_index("lease_gang", "lease", ["gang"])
