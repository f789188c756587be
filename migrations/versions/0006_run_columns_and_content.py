"""Which columns a run reads, and the hash of what it has read.

Revision 0006_run_columns_and_content, follows 0005_queue_inbox.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006_run_columns_and_content"
down_revision = "0005_queue_inbox"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # the default serves the rows there are; it goes again, as the models have none
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("columns", sa.JSON(), nullable=False, server_default="{}"))
        batch_op.add_column(sa.Column("dataset_hash", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("dataset_counts", sa.JSON(), nullable=True))
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.alter_column("columns", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_column("dataset_counts")
        batch_op.drop_column("dataset_hash")
        batch_op.drop_column("columns")
