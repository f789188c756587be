"""The user's own variables, the rungs in force, and how far each attempt came.

Revision 0002_own_variables_and_rungs, follows 0001.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002_own_variables_and_rungs"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # the default serves the rows there are; it goes again, as the models have none
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("environment", sa.JSON(), nullable=False, server_default="{}"))
        batch_op.add_column(sa.Column("rungs", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.alter_column("environment", server_default=None)
        batch_op.alter_column("rungs", server_default=None)
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("reached_step", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_column("reached_step")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_column("rungs")
        batch_op.drop_column("environment")
