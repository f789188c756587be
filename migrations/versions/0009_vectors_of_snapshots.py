"""Where a model placed its probes at each snapshot.

Revision 0009_vectors_of_snapshots, follows 0008_answers_in_blocks.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009_vectors_of_snapshots"
down_revision = "0008_answers_in_blocks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshot_vectors",
        sa.Column("snapshot_id", sa.Integer(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("values", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["snapshot_id"], ["snapshots.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("snapshot_id"),
    )


def downgrade() -> None:
    op.drop_table("snapshot_vectors")
