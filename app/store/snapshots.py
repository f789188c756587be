"""Snapshots: which there are, their numbers by column, their answers over time.

What an attempt answered beyond the step a later attempt began at is left out
of every reading, like its points.  What one of them answered: ``snapshot_answers``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session

from app.domain.answer_lines import lines_of
from app.domain.answers import documents_named
from app.domain.snapshots import SnapshotRecord
from app.store import probes, snapshot_answers, vectors
from app.store.metrics import cutoffs
from app.store.models import Run, RunEvent, Snapshot, SnapshotBlock, SnapshotColumn
from app.store.snapshot_blocks import rows_per_block

_IN_LIST: Final = 500
Column = NDArray[np.float64]


class Moment(NamedTuple):
    """A snapshot without its summary: enough to name it, and cheap to list by the hundred."""

    id: int
    step: int
    t: float
    epoch: float | None
    model_version: str
    cost_s: float | None
    attempt: int
    task: str
    probe_set: str
    num_examples: int
    block_rows: int


_MOMENTS: Final = select(*(getattr(Snapshot, name) for name in Moment._fields))


def save(session: Session, run_id: str, record: SnapshotRecord, *, attempt: int) -> bool:
    """Store a snapshot; returns False when this very snapshot, or one of a later attempt, is there.

    Raises:
        InvalidRequest: the file leaves out probes that are not known, or their number differs.
    """
    probes.save_probes(session, record)
    probes.save_documents(session, record)
    here = Snapshot.run_id == run_id, Snapshot.dataset == record.dataset, Snapshot.step == record.step
    stored = session.scalar(select(Snapshot).where(*here))
    if stored is not None:
        if stored.attempt > attempt or (stored.attempt == attempt and stored.t == record.t):
            return False
        session.delete(stored)
        session.flush()
    examples = probes.examples(session, record.probe_set)
    lines = _told(session, record, examples)
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
        block_rows=rows_per_block(lines),
    )
    session.add(snapshot)
    session.flush()
    session.add_all(
        SnapshotColumn(snapshot_id=snapshot.id, name=name, values=np.array(column, "<f8").tobytes())
        for name, column in record.columns.items()
    )
    if record.vectors is not None:
        vectors.save(session, snapshot.id, record.vectors)
    snapshot_answers.save(session, snapshot, lines, expected=[one["expected_output"] for one in examples])
    return True


def _told(session: Session, record: SnapshotRecord, examples: list[dict[str, Any]]) -> list[bytes]:
    """What was answered, in the words it is told in."""
    documents = probes.documents(session, record.probe_set, documents_named(record.outputs))
    return lines_of(record.task, examples, record.columns, record.outputs, documents)


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


def newest_run(session: Session, dataset: str) -> str | None:
    """The newest run with snapshots of ``dataset``."""
    return session.scalar(
        select(Run.id)
        .where(Run.deleted_at.is_(None), _has_snapshots_of(dataset))
        .order_by(Run.created_at.desc(), Run.id.desc())
        .limit(1)
    )


def has_snapshots(session: Session, run_id: str, dataset: str) -> bool:
    """Whether a run that is not deleted has snapshots of ``dataset``."""
    found = select(Run.id).where(Run.id == run_id, Run.deleted_at.is_(None), _has_snapshots_of(dataset))
    return session.scalar(found) is not None


def list_snapshots(session: Session, run_id: str, *, dataset: str) -> list[Snapshot]:
    """The snapshots of a run by step."""
    found = session.scalars(
        select(Snapshot).where(*_counting(session, run_id, dataset)).order_by(Snapshot.step)
    )
    return list(found)


def moments(session: Session, run_id: str, *, dataset: str) -> list[Moment]:
    """The same without their summaries."""
    rows = session.execute(_MOMENTS.where(*_counting(session, run_id, dataset)).order_by(Snapshot.step))
    return [Moment._make(row) for row in rows]


def at_step(session: Session, run_id: str, *, dataset: str, step: int) -> Snapshot | None:
    """The snapshot at exactly this step."""
    return session.scalar(select(Snapshot).where(Snapshot.step == step, *_counting(session, run_id, dataset)))


def moment_of(one: Snapshot) -> Moment:
    """A snapshot without its summary, for keeping beyond the session."""
    return Moment._make(getattr(one, name) for name in Moment._fields)


def latest(session: Session, run_id: str, *, dataset: str) -> Snapshot | None:
    """The newest snapshot."""
    counting = _counting(session, run_id, dataset)
    return session.scalar(select(Snapshot).where(*counting).order_by(Snapshot.step.desc()).limit(1))


def steps_beside(session: Session, run_id: str, *, dataset: str, step: int) -> tuple[int | None, int | None]:
    """The steps of the snapshots before and after ``step``."""
    counting = _counting(session, run_id, dataset)
    before = select(func.max(Snapshot.step)).where(Snapshot.step < step, *counting).scalar_subquery()
    after = select(func.min(Snapshot.step)).where(Snapshot.step > step, *counting).scalar_subquery()
    row = session.execute(select(before, after)).one()
    return row[0], row[1]


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
        statement = select(SnapshotColumn.snapshot_id, SnapshotColumn.name, SnapshotColumn.values).where(
            SnapshotColumn.snapshot_id.in_(some)
        )
        if wanted is not None:
            statement = statement.where(SnapshotColumn.name.in_(wanted))
        for snapshot_id, name, packed in session.execute(statement):
            found[snapshot_id][name] = np.frombuffer(packed, "<f8")
    return found


def answers_over_time(
    session: Session, run_id: str, *, dataset: str, probe_set: str, row: int
) -> list[tuple[Moment, bytes]]:
    """What every snapshot of one probe set answered to the probe at ``row``, by step: one query.

    Answers are lines of ``app.domain.answer_lines``.
    """
    found = session.execute(
        _MOMENTS.add_columns(SnapshotBlock.packed)
        .join(
            SnapshotBlock,
            and_(
                SnapshotBlock.snapshot_id == Snapshot.id,
                SnapshotBlock.block == row // Snapshot.block_rows,
            ),
        )
        .where(Snapshot.probe_set == probe_set, *_counting(session, run_id, dataset))
        .order_by(Snapshot.step)
    )
    reader = snapshot_answers.RowReader(session, probe_set=probe_set, row=row)
    way = []
    for *fields, packed in found:
        moment = Moment._make(fields)
        way.append((moment, reader.line(packed, block_rows=moment.block_rows)))
    return way


def _has_snapshots_of(dataset: str) -> ColumnElement[bool]:
    return select(Snapshot.id).where(Snapshot.run_id == Run.id, Snapshot.dataset == dataset).exists()


def _counting(session: Session, run_id: str, dataset: str) -> list[ColumnElement[bool]]:
    """What the snapshots of a run that count have in common."""
    conditions: list[ColumnElement[bool]] = [Snapshot.run_id == run_id, Snapshot.dataset == dataset]
    superseded = [
        and_(Snapshot.attempt == attempt, Snapshot.step > last_step)
        for attempt, last_step in cutoffs(session, [run_id]).get(run_id, {}).items()
    ]
    return [*conditions, not_(or_(*superseded))] if superseded else conditions
