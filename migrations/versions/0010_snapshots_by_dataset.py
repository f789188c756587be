"""A run may have a snapshot of a step for each of several probe sets, each under a dataset's name of its own.

Revision 0010_snapshots_by_dataset, follows 0009_vectors_of_snapshots.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010_snapshots_by_dataset"
down_revision = "0009_vectors_of_snapshots"
branch_labels = None
depends_on = None

# the constraint was never named: SQLite forgets what PostgreSQL calls it by itself
NAMES = {"uq": "%(table_name)s_%(column_0_N_name)s_key"}


def upgrade() -> None:
    with op.batch_alter_table("snapshots", naming_convention=NAMES) as batch_op:
        batch_op.drop_constraint("snapshots_run_id_step_key", type_="unique")
        batch_op.create_unique_constraint("snapshots_run_id_dataset_step_key", ["run_id", "dataset", "step"])


def downgrade() -> None:
    op.execute(  # an older version knows the run's own probes only
        sa.text("DELETE FROM snapshots WHERE dataset LIKE '% (added probes)'")
    )
    with op.batch_alter_table("snapshots", naming_convention=NAMES) as batch_op:
        batch_op.drop_constraint("snapshots_run_id_dataset_step_key", type_="unique")
        batch_op.create_unique_constraint("snapshots_run_id_step_key", ["run_id", "step"])
