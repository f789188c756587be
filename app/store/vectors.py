"""Where a model placed its probes at each snapshot: packed half floats, one row per probe.

Shape suffixes: N probes, D numbers of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.snapshots import PackedVectors
from app.store.models import SnapshotVectors

_IN_LIST: Final = 500


def save(session: Session, snapshot_id: int, vectors: PackedVectors) -> None:
    """Keep the vectors of a snapshot that has just been stored."""
    session.add(SnapshotVectors(snapshot_id=snapshot_id, dim=vectors.dim, values=vectors.packed))


def dims(session: Session, snapshot_ids: Sequence[int]) -> dict[int, int]:
    """Length of the vectors of those snapshots that have any."""
    found: dict[int, int] = {}
    for index in range(0, len(snapshot_ids), _IN_LIST):
        some = snapshot_ids[index : index + _IN_LIST]
        rows = session.execute(
            select(SnapshotVectors.snapshot_id, SnapshotVectors.dim).where(
                SnapshotVectors.snapshot_id.in_(some)
            )
        )
        found.update((snapshot_id, dim) for snapshot_id, dim in rows)
    return found


def vectors_of(session: Session, snapshot_id: int) -> NDArray[np.float16]:
    """The vectors (N, D) of one snapshot that has some, as stored."""
    row = session.scalars(select(SnapshotVectors).where(SnapshotVectors.snapshot_id == snapshot_id)).one()
    vectors_ND: NDArray[np.float16] = np.frombuffer(row.values, "<f2").reshape(-1, row.dim)
    return vectors_ND
