"""Alerts of runs, and settings that people change on the pages.

Revision 0004_alerts_and_preferences, follows 0003_plans_of_attempts.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004_alerts_and_preferences"
down_revision = "0003_plans_of_attempts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "preferences",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("slot", sa.String(length=80), nullable=False),
        sa.Column("category", sa.String(length=64), nullable=True),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("raised_step", sa.BigInteger(), nullable=True),
        sa.Column("raised_at", sa.Double(), nullable=False),
        sa.Column("resolved_step", sa.BigInteger(), nullable=True),
        sa.Column("resolved_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("dismissed_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_alerts_open_slot",
        "alerts",
        ["run_id", "slot"],
        unique=True,
        sqlite_where=sa.text("resolved_at IS NULL"),
        postgresql_where=sa.text("resolved_at IS NULL"),
    )
    op.create_index("ix_alerts_run", "alerts", ["run_id", "id"])
    op.add_column("runs", sa.Column("active_alerts", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_column("active_alerts")
    op.drop_index("ix_alerts_run", table_name="alerts")
    op.drop_index("ix_alerts_open_slot", table_name="alerts")
    op.drop_table("alerts")
    op.drop_table("preferences")
