"""Runs that were imported: found again by their dataset, their files known by their hashes.

What a file says and the snapshot tables do not keep lies in one event per
snapshot: ``snapshot_id``, ``timestamp`` and ``sha256`` of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.store import probes
from app.store.models import Run, RunEvent, Snapshot
from app.store.runs import find_by_idempotency_key

STREAM: Final = "import"
EVENT: Final = "snapshot_imported"


def import_key(dataset: str) -> str:
    """The key under which the one imported run of a dataset is found again."""
    return f"import-evolution:{hashlib.sha256(dataset.encode()).hexdigest()}"


def imported_run(session: Session, dataset: str) -> Run | None:
    """The run that holds the imported snapshots of ``dataset``."""
    return find_by_idempotency_key(session, import_key(dataset))


def headers(session: Session, run_id: str) -> dict[int, dict[str, Any]]:
    """``{step: header}`` of the imported snapshots of a run; empty for a run of our own."""
    found = session.scalars(
        select(RunEvent).where(RunEvent.run_id == run_id, RunEvent.type == EVENT).order_by(RunEvent.id)
    )
    return {event.step: dict(event.body) for event in found if event.step is not None}


def header_at(session: Session, run_id: str, step: int) -> dict[str, Any] | None:
    """The header of one imported snapshot; None where it is none."""
    event = session.scalar(
        select(RunEvent).where(RunEvent.run_id == run_id, RunEvent.type == EVENT, RunEvent.step == step)
    )
    return None if event is None else dict(event.body)


def add_header(session: Session, run_id: str, *, step: int, t: float, header: Mapping[str, Any]) -> None:
    """Keep what a file said; one per step."""
    last = session.scalar(
        select(func.max(RunEvent.seq)).where(RunEvent.run_id == run_id, RunEvent.stream == STREAM)
    )
    session.add(
        RunEvent(
            run_id=run_id, stream=STREAM, seq=(last or 0) + 1, t=t, type=EVENT, step=step, body=dict(header)
        )
    )
    session.flush()


def forget(session: Session, run_id: str, steps: Collection[int]) -> None:
    """Remove the imported snapshots of these steps, and the probes that nothing else needs."""
    for step in steps:
        mine = Snapshot.run_id == run_id, Snapshot.step == step
        probe_sets = set(session.scalars(select(Snapshot.probe_set).where(*mine)))
        session.execute(delete(Snapshot).where(*mine))
        probes.drop_unused(session, probe_sets)
        session.execute(
            delete(RunEvent).where(RunEvent.run_id == run_id, RunEvent.type == EVENT, RunEvent.step == step)
        )
