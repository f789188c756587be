"""Answers of snapshots lie in small blocks of rows, so that one example's way costs little to read.

Revision 0008_answers_in_blocks, follows 0007_scripts_of_runs.
"""

from __future__ import annotations

import array
import json
import math
import zlib

import sqlalchemy as sa
from alembic import op

revision = "0008_answers_in_blocks"
down_revision = "0007_scripts_of_runs"
branch_labels = None
depends_on = None

BLOCK_BYTES, MOST_ROWS = 1_024, 64


def upgrade() -> None:
    op.create_table(
        "snapshot_answers",
        sa.Column("snapshot_id", sa.Integer(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["snapshot_id"], ["snapshots.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("snapshot_id", "block"),
    )
    op.add_column(
        "probe_sets", sa.Column("stored_at", sa.Double(), server_default=sa.text("0"), nullable=False)
    )
    # the default serves the rows there are; it goes again, as the models have none
    with op.batch_alter_table("snapshots") as batch_op:
        batch_op.add_column(sa.Column("block_rows", sa.Integer(), nullable=False, server_default="1"))
    connection = op.get_bind()
    for snapshot_id in ids_of(connection):
        move_into_blocks(connection, snapshot_id)
    with op.batch_alter_table("snapshots") as batch_op:
        batch_op.alter_column("block_rows", server_default=None)
        batch_op.drop_column("outputs")


def downgrade() -> None:
    with op.batch_alter_table("snapshots") as batch_op:
        batch_op.add_column(sa.Column("outputs", sa.LargeBinary(), nullable=True))
    connection = op.get_bind()
    for snapshot_id in ids_of(connection):
        move_into_one(connection, snapshot_id)
    with op.batch_alter_table("snapshots") as batch_op:
        batch_op.alter_column("outputs", nullable=False, existing_type=sa.LargeBinary())
        batch_op.drop_column("block_rows")
    op.drop_column("probe_sets", "stored_at")
    op.drop_table("snapshot_answers")


def ids_of(connection: sa.Connection) -> list[int]:
    return list(connection.scalars(sa.text("SELECT id FROM snapshots ORDER BY id")))


def move_into_blocks(connection: sa.Connection, snapshot_id: int) -> None:
    chosen = {"id": snapshot_id}
    packed = connection.scalar(sa.text("SELECT outputs FROM snapshots WHERE id = :id"), chosen)
    outputs = json.loads(zlib.decompress(packed))
    rows = connection.execute(
        sa.text('SELECT name, "values" FROM snapshot_columns WHERE snapshot_id = :id'), chosen
    )
    columns = {
        name: [value if math.isfinite(value) else None for value in array.array("d", column)]
        for name, column in rows
    }
    numbers = list(zip(*columns.values(), strict=True)) if columns else [()] * len(outputs)
    size = rows_per_block(len(written(outputs)), len(outputs))
    lines = [written(pair) for pair in zip(numbers, outputs, strict=True)]
    blocks = []
    for start in range(0, len(lines), size):
        packed = zlib.compress(b"\n".join([written(list(columns)), *lines[start : start + size]]), 6)
        blocks.append({"id": snapshot_id, "block": start // size, "packed": packed})
    if blocks:
        connection.execute(
            sa.text(
                "INSERT INTO snapshot_answers (snapshot_id, block, packed) VALUES (:id, :block, :packed)"
            ),
            blocks,
        )
    connection.execute(
        sa.text("UPDATE snapshots SET block_rows = :size WHERE id = :id"), {**chosen, "size": size}
    )


def written(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def rows_per_block(num_bytes: int, num_rows: int) -> int:
    mean_bytes, rows = num_bytes / max(1, num_rows), 1
    while rows < MOST_ROWS and 2 * rows * mean_bytes <= BLOCK_BYTES:
        rows *= 2
    return rows


def move_into_one(connection: sa.Connection, snapshot_id: int) -> None:
    blocks = connection.scalars(
        sa.text("SELECT packed FROM snapshot_answers WHERE snapshot_id = :id ORDER BY block"),
        {"id": snapshot_id},
    )
    outputs = [json.loads(line)[1] for packed in blocks for line in zlib.decompress(packed).split(b"\n")[1:]]
    connection.execute(
        sa.text("UPDATE snapshots SET outputs = :outputs WHERE id = :id"),
        {"outputs": zlib.compress(written(outputs), 6), "id": snapshot_id},
    )
