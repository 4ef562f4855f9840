"""A ticket may be granted a second time, after its first lease ended: past use has its own numbers."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    names = "id, owner, purpose, title, kind, share, memory, seconds, device, granted, ended"
    op.drop_index("use_ended", "use")
    op.drop_index("use_owner", "use")
    op.rename_table("use", "use_before")
    op.create_table(
        "use",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("title", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("share", sa.Double, nullable=False),
        sa.Column("memory", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("device", sa.String, nullable=False),
        sa.Column("granted", sa.Double, nullable=False),
        sa.Column("ended", sa.Double, nullable=False),
    )
    op.execute(f"insert into use ({names}) select {names} from use_before order by ended")
    op.drop_table("use_before")
    op.create_index("use_ended", "use", ["ended"])
    op.create_index("use_owner", "use", ["owner", "kind", "ended"])
