"""Snapshots: columns packed per snapshot, probes and documents stored once per probe set."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session, defer

from app.domain.snapshots import SnapshotRecord
from app.errors import InvalidRequest
from app.store.metrics import cutoffs
from app.store.models import ProbeDocument, ProbeSet, Run, RunEvent, Snapshot, SnapshotColumn

_IN_LIST: Final = 500
Column = NDArray[np.float64]


def save(session: Session, run_id: str, record: SnapshotRecord, *, attempt: int) -> bool:
    """Store a snapshot; returns False when this very snapshot, or one of a later attempt, is there.

    Raises:
        InvalidRequest: the file leaves out probes that are not known, or their number differs.
    """
    _save_probes(session, record)
    _save_documents(session, record)
    stored = session.scalar(select(Snapshot).where(Snapshot.run_id == run_id, Snapshot.step == record.step))
    if stored is not None:
        if stored.attempt > attempt or (stored.attempt == attempt and stored.t == record.t):
            return False
        session.delete(stored)
        session.flush()
    snapshot = Snapshot(
        run_id=run_id,
        dataset=record.dataset,
        task=record.task,
        attempt=attempt,
        step=record.step,
        epoch=record.epoch,
        t=record.t,
        model_version=record.model_version,
        probe_set=record.probe_set,
        num_examples=len(record.outputs),
        cost_s=record.cost_s,
        summary=record.summary,
        outputs=_pack(record.outputs),
    )
    session.add(snapshot)
    session.flush()
    session.add_all(
        SnapshotColumn(snapshot_id=snapshot.id, name=name, values=np.array(column, "<f8").tobytes())
        for name, column in record.columns.items()
    )
    return True


def drop_unused_probes(session: Session, probe_sets: Iterable[str]) -> None:
    """Remove those of ``probe_sets`` that no snapshot needs any more, with their documents."""
    still_used = select(Snapshot.id).where(Snapshot.probe_set == ProbeSet.hash).exists()
    session.execute(
        delete(ProbeSet)
        .where(ProbeSet.hash.in_(list(probe_sets)), ~still_used)
        .execution_options(synchronize_session=False)
    )


def dataset_runs(session: Session) -> list[tuple[str, str, float]]:
    """``(dataset, run_id, created_at of the run)`` of every run with snapshots, newest run first."""
    rows = session.execute(
        select(Snapshot.dataset, Run.id, Run.created_at)
        .join(Run, Run.id == Snapshot.run_id)
        .where(Run.deleted_at.is_(None))
        .group_by(Snapshot.dataset, Run.id, Run.created_at)
        .order_by(Run.created_at.desc(), Run.id.desc())
    )
    return [(dataset, run_id, created_at) for dataset, run_id, created_at in rows]


def list_snapshots(session: Session, run_id: str, *, dataset: str) -> list[Snapshot]:
    """The snapshots of a run by step, without their outputs.

    What an attempt answered beyond the step a later attempt began at is left out, like its points.
    """
    found = session.scalars(
        select(Snapshot)
        .where(Snapshot.run_id == run_id, Snapshot.dataset == dataset)
        .options(defer(Snapshot.outputs))
        .order_by(Snapshot.step)
    )
    last_steps = cutoffs(session, [run_id]).get(run_id, {})
    return [one for one in found if one.step <= last_steps.get(one.attempt, one.step)]


def skipped(session: Session, run_id: str) -> list[dict[str, Any]]:
    """Snapshots that were not taken: ``[{"step", "reason"}]``."""
    events = session.scalars(
        select(RunEvent)
        .where(RunEvent.run_id == run_id, RunEvent.type == "snapshot_skipped")
        .order_by(RunEvent.id)
    )
    return [{"step": event.step, "reason": event.body.get("reason")} for event in events]


def columns(
    session: Session, snapshot_ids: Sequence[int], *, names: Iterable[str] | None = None
) -> dict[int, dict[str, Column]]:
    """The columns of each snapshot, float64, one entry per probe."""
    found: dict[int, dict[str, Column]] = {snapshot_id: {} for snapshot_id in snapshot_ids}
    wanted = None if names is None else list(names)
    for index in range(0, len(snapshot_ids), _IN_LIST):
        some = snapshot_ids[index : index + _IN_LIST]
        statement = select(SnapshotColumn).where(SnapshotColumn.snapshot_id.in_(some))
        if wanted is not None:
            statement = statement.where(SnapshotColumn.name.in_(wanted))
        for row in session.scalars(statement):
            found[row.snapshot_id][row.name] = np.frombuffer(row.values, "<f8")
    return found


def outputs(session: Session, snapshot_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """What each snapshot answered, one object per probe."""
    found: dict[int, list[dict[str, Any]]] = {}
    for index in range(0, len(snapshot_ids), _IN_LIST):
        some = snapshot_ids[index : index + _IN_LIST]
        rows = session.execute(select(Snapshot.id, Snapshot.outputs).where(Snapshot.id.in_(some)))
        found.update((snapshot_id, _unpack(packed)) for snapshot_id, packed in rows)
    return found


def examples(session: Session, probe_set: str) -> list[dict[str, Any]]:
    """The probes of a set, in the order of every column."""
    return _unpack(session.scalars(select(ProbeSet.examples).where(ProbeSet.hash == probe_set)).one())


def documents(session: Session, probe_set: str, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """``{id: (title, text)}`` of those documents that are known."""
    wanted = list(ids)
    found: dict[str, tuple[str, str]] = {}
    for index in range(0, len(wanted), _IN_LIST):
        rows = session.execute(
            select(ProbeDocument.document_id, ProbeDocument.title, ProbeDocument.text).where(
                ProbeDocument.probe_set == probe_set,
                ProbeDocument.document_id.in_(wanted[index : index + _IN_LIST]),
            )
        )
        found.update((document_id, (title, text)) for document_id, title, text in rows)
    return found


def _save_probes(session: Session, record: SnapshotRecord) -> None:
    known = session.scalar(select(ProbeSet.num_examples).where(ProbeSet.hash == record.probe_set))
    if known is None:
        if record.examples is None:
            raise InvalidRequest(
                f"snapshot: probes are missing and the probe set {record.probe_set!r} is not known",
                field="probes",
            )
        session.add(
            ProbeSet(
                hash=record.probe_set,
                task=record.task,
                num_examples=len(record.examples),
                examples=_pack(record.examples),
            )
        )
        session.flush()
    elif known != len(record.outputs):
        raise InvalidRequest(
            f"snapshot: outputs has {len(record.outputs)} entries, the probe set has {known}", field="outputs"
        )


def _save_documents(session: Session, record: SnapshotRecord) -> None:
    wanted = list(record.documents)
    known: set[str] = set()
    for index in range(0, len(wanted), _IN_LIST):
        known.update(
            session.scalars(
                select(ProbeDocument.document_id).where(
                    ProbeDocument.probe_set == record.probe_set,
                    ProbeDocument.document_id.in_(wanted[index : index + _IN_LIST]),
                )
            )
        )
    rows = [
        {"probe_set": record.probe_set, "document_id": document_id, "title": title, "text": text}
        for document_id, (title, text) in record.documents.items()
        if document_id not in known
    ]
    if rows:
        session.execute(insert(ProbeDocument), rows)


def _pack(rows: list[dict[str, Any]]) -> bytes:
    return zlib.compress(orjson.dumps(rows), 6)


def _unpack(packed: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return rows
