"""What the fallback ladder changed for an attempt, and how the attempt ended in words.

Revision 0003_plans_of_attempts, follows 0002_own_variables_and_rungs.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003_plans_of_attempts"
down_revision = "0002_own_variables_and_rungs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("attempts") as attempts:
        attempts.add_column(sa.Column("plan", sa.JSON(), nullable=True))
        attempts.add_column(sa.Column("ended_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("attempts") as attempts:
        attempts.drop_column("ended_reason")
        attempts.drop_column("plan")
