"""Order inside a priority of the queue, and the inbox.

Revision 0005_queue_inbox, follows 0004_alerts_and_preferences.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_queue_inbox"
down_revision = "0004_alerts_and_preferences"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("queue_rank", sa.Integer(), server_default="0", nullable=False))
    op.create_table(
        "inbox_settings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=True),
        sa.Column("recipe", sa.String(length=64), nullable=True),
        sa.Column("preset", sa.String(length=64), nullable=True),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "inbox_items",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("goal", sa.LargeBinary(), nullable=True),
        sa.Column("num_bytes", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("inode", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=True),
        sa.Column("sidecar", sa.Text(), nullable=True),
        sa.Column("wish", sa.JSON(), nullable=True),
        sa.Column("is_forced", sa.Boolean(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
    )
    for column in ("created_at", "path", "run_id", "sha256", "state"):
        op.create_index(f"ix_inbox_items_{column}", "inbox_items", [column])


def downgrade() -> None:
    op.drop_table("inbox_items")
    op.drop_table("inbox_settings")
    op.drop_column("runs", "queue_rank")
