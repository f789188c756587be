"""Runs and what hangs on them: the only place that writes a state."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, cast, func, or_, select, update
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session

from app.domain.run_states import ACTIVE, ENDED, TRANSITIONS, RunState, sources_of
from app.errors import Conflict, InvalidTransition, NotFound
from app.store import alerts, inbox, probes
from app.store.models import Attempt, Checkpoint, Run, RunEvent, Snapshot, StreamMark

_FIXED: Final = frozenset({"id", "state"})


def insert_run(session: Session, run: Run) -> Run:
    """Store a new run; its state must be ``queued``."""
    if run.state != RunState.QUEUED:
        raise InvalidTransition(f"a new run starts as queued, not {run.state}")
    session.add(run)
    session.flush()
    return run


def transition(
    session: Session, run_id: str, *, new: RunState, old: frozenset[RunState] | None = None, **values: Any
) -> Run:
    """Move a run to ``new`` by a conditional UPDATE; of two racing callers exactly one wins.

    Args:
        session: a writing session.
        run_id: which run.
        new: the state to reach.
        old: states it may leave (default: all from which the table of moves allows ``new``).
        **values: further columns to set in the same statement. ``started_at`` and ``ended_at`` are kept
            by themselves where not given.
    Raises:
        NotFound: there is no such run.
        InvalidTransition: the run is in no state that may move to ``new``.
    """
    allowed = sources_of(new) if old is None else old & sources_of(new)
    statement = (
        update(Run)
        .where(Run.id == run_id, Run.state.in_([state.value for state in allowed]), Run.deleted_at.is_(None))
        .values({**_stamps(new), **values, "state": new.value})
        .returning(Run.id)
        .execution_options(synchronize_session=False)
    )
    if session.scalar(statement) is None:
        run = get_run(session, run_id)
        wanted = "" if old is None else f" (expected {', '.join(sorted(old))})"
        raise InvalidTransition(
            f"Run {run_id} is {run.state}{wanted} and cannot become {new.value}.",
            hint=f"From {run.state} it may become: {_targets(run.state)}.",
        )
    session.expire_all()
    run = get_run(session, run_id)
    alerts.follow_state(session, run)
    return run


def _targets(state: str) -> str:
    return ", ".join(sorted(TRANSITIONS[RunState(state)])) or "nothing else"


def _stamps(new: RunState) -> dict[str, Any]:
    now = time.time()
    if new in ENDED:
        return {"ended_at": now, "phase": None}
    if new is RunState.QUEUED:
        return {
            "queued_at": now,
            "ended_at": None,
            "reason": None,
            "exit_code": None,
            "exit_signal": None,
            "stop_requested": False,
            "queue_rank": 0,
        }
    if new in (RunState.STARTING, RunState.RUNNING):
        return {"started_at": func.coalesce(Run.started_at, now), "ended_at": None}
    return {}


def touch(session: Session, run_id: str, **values: Any) -> None:
    """Set columns of a run other than its state; no error when the run is gone.

    Raises:
        ValueError: ``id`` or ``state`` is among the columns, or a name is no column.
    """
    if _FIXED & values.keys():
        raise ValueError("a state is changed by transition() only, an id never")
    if unknown := values.keys() - Run.__table__.columns.keys():
        raise ValueError(f"runs have no column {', '.join(sorted(unknown))}")
    run = session.get(Run, run_id)
    if run is not None:
        for column, value in values.items():
            setattr(run, column, value)
        session.flush()


def get_run(session: Session, run_id: str) -> Run:
    """The run.

    Raises:
        NotFound: there is none with this id.
    """
    run = session.scalar(select(Run).where(Run.id == run_id, Run.deleted_at.is_(None)))
    if run is None:
        raise NotFound(f"There is no run {run_id!r}.", hint="GET /api/runs lists the runs there are.")
    return run


def find_by_idempotency_key(session: Session, key: str) -> Run | None:
    """The run an earlier request with this key made."""
    return session.scalar(select(Run).where(Run.idempotency_key == key))


def list_runs(
    session: Session,
    *,
    states: Iterable[str] | None = None,
    recipe: str | None = None,
    dataset: str | None = None,
    q: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Run], int]:
    """One page of runs, newest first, and how many match in all.

    ``q`` is looked for in name, id, recipe, dataset and tags, without regard to case.
    """
    conditions: list[ColumnElement[bool]] = [Run.deleted_at.is_(None)]
    if states is not None:
        conditions.append(Run.state.in_([str(state) for state in states]))
    if recipe is not None:
        conditions.append(Run.recipe == recipe)
    if dataset is not None:
        conditions.append(Run.dataset == dataset)
    if q:
        columns = (Run.name, Run.id, Run.recipe, Run.dataset)
        in_tags = cast(Run.tags, Text).icontains(json.dumps(q)[1:-1], autoescape=True)  # stored as JSON
        conditions.append(or_(in_tags, *(column.icontains(q, autoescape=True) for column in columns)))
    total = session.scalar(select(func.count()).select_from(Run).where(*conditions)) or 0
    page = select(Run).where(*conditions).order_by(Run.created_at.desc(), Run.id.desc())
    return list(session.scalars(page.limit(limit).offset(offset))), total


def queued_runs(session: Session, *, limit: int | None = None) -> list[Run]:
    """The queued runs in the order they will start: by priority, as arranged, then longest waiting."""
    return list(
        session.scalars(
            select(Run)
            .where(Run.state == RunState.QUEUED.value, Run.deleted_at.is_(None))
            .order_by(Run.priority.desc(), Run.queue_rank, Run.queued_at, Run.id)
            .limit(limit)
        )
    )


def next_queued(session: Session) -> Run | None:
    """The queued run that is next."""
    return next(iter(queued_runs(session, limit=1)), None)


def count_active(session: Session) -> int:
    """How many runs a supervisor is, or should be, alive for."""
    return session.scalar(select(func.count()).select_from(Run).where(Run.state.in_(_ACTIVE))) or 0


def active_runs(session: Session) -> list[Run]:
    """The runs a supervisor is, or should be, alive for, oldest first."""
    return list(session.scalars(select(Run).where(Run.state.in_(_ACTIVE)).order_by(Run.created_at)))


def attempts(session: Session, run_id: str) -> list[Attempt]:
    """The launches of a run, first to last."""
    return list(session.scalars(select(Attempt).where(Attempt.run_id == run_id).order_by(Attempt.number)))


def events(
    session: Session, run_id: str, *, types: Iterable[str] | None = None, limit: int = 200
) -> list[RunEvent]:
    """The newest ``limit`` sparse events, oldest first."""
    statement = select(RunEvent).where(RunEvent.run_id == run_id)
    if types is not None:
        statement = statement.where(RunEvent.type.in_([str(kind) for kind in types]))
    newest = session.scalars(statement.order_by(RunEvent.id.desc()).limit(limit))
    return list(newest)[::-1]


def checkpoints(session: Session, run_id: str) -> list[Checkpoint]:
    """The announced checkpoints, by step."""
    statement = select(Checkpoint).where(Checkpoint.run_id == run_id).order_by(Checkpoint.step, Checkpoint.id)
    return list(session.scalars(statement))


def stream_marks(session: Session, run_id: str) -> dict[str, int]:
    """The high-water mark of each stream that has sent anything."""
    marks = session.scalars(select(StreamMark).where(StreamMark.run_id == run_id))
    return {mark.stream: mark.have for mark in marks}


def delete(session: Session, run_id: str) -> None:
    """Remove a run with everything of it: points, output, events, checkpoints, snapshots, token.

    Probes and documents that no snapshot of another run needs go too.  The run's folder is the caller's.

    Raises:
        NotFound: there is no such run.
        Conflict: it is active; stop it first.
    """
    run = get_run(session, run_id)
    if RunState(run.state) in ACTIVE:
        raise Conflict(f"Run {run_id} is {run.state}.", hint="Stop it first, then delete it.")
    inbox.settle(session, run)
    probe_sets = set(session.scalars(select(Snapshot.probe_set).where(Snapshot.run_id == run_id)))
    session.execute(delete_rows(Run).where(Run.id == run_id))
    probes.drop_unused(session, probe_sets)


_ACTIVE: Final = [state.value for state in ACTIVE]
