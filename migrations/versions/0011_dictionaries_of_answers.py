"""Answers are packed with the first answers of their probe set as the dictionary.

What is stored already stays as it is: a stream says itself whether it needs a
dictionary.

Revision 0011_dictionaries_of_answers, follows 0010_snapshots_by_dataset.
"""

from __future__ import annotations

import zlib

import sqlalchemy as sa
from alembic import op

revision = "0011_dictionaries_of_answers"
down_revision = "0010_snapshots_by_dataset"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshot_dictionaries",
        sa.Column(
            "probe_set",
            sa.String(64),
            sa.ForeignKey("probe_sets.hash", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("block_rows", sa.Integer(), primary_key=True),
        sa.Column("block", sa.Integer(), primary_key=True),
        sa.Column("dictionary", sa.LargeBinary(), nullable=False),
    )


def downgrade() -> None:
    connection = op.get_bind()
    packed_with = sa.text(
        "SELECT a.snapshot_id, a.block, a.packed, d.dictionary FROM snapshot_answers a "
        "JOIN snapshots s ON s.id = a.snapshot_id "
        "JOIN snapshot_dictionaries d "
        "ON d.probe_set = s.probe_set AND d.block_rows = s.block_rows AND d.block = a.block "
        "WHERE s.id = :snapshot"
    )
    plain = sa.text(
        "UPDATE snapshot_answers SET packed = :packed WHERE snapshot_id = :snapshot AND block = :block"
    )
    for snapshot in connection.execute(sa.text("SELECT id FROM snapshots")).scalars().all():
        rows = connection.execute(packed_with, {"snapshot": snapshot}).all()
        for _, block, packed, dictionary in rows:
            whole = zlib.compress(zlib.decompressobj(zdict=dictionary).decompress(packed))
            connection.execute(plain, {"packed": whole, "snapshot": snapshot, "block": block})
    op.drop_table("snapshot_dictionaries")
