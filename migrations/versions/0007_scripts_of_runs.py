"""Which registered script a run is of.

Revision 0007_scripts_of_runs, follows 0006_run_columns_and_content.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007_scripts_of_runs"
down_revision = "0006_run_columns_and_content"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "runs", sa.Column("script", sa.String(length=64), server_default=sa.text("''"), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("runs", "script")
