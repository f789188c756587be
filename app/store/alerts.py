"""Alerts of runs: at most one open per run and slot, which a partial unique index enforces.

Every function may be called again with the same facts and then changes
nothing.  All keep ``runs.active_alerts`` right in the same transaction.
"""

from __future__ import annotations

import time
from typing import Any, Final

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.domain.run_states import ENDED, RunState
from app.errors import NotFound
from app.store.models import Alert, Run

CRASH: Final = "crash"  # stays open when its run has ended, until it is started again
MAX_PER_RUN: Final = 1000
_DEAD: Final = frozenset({RunState.FAILED, RunState.LOST})
LOST_TITLE: Final = "The run is lost"
LOST_TEXT: Final = (
    "Its supervisor vanished without a record: killed, or the machine went down. Start goes on from the last"
    " good checkpoint."
)


def raise_alert(session: Session, run: Run, alert: Alert) -> bool:
    """Store ``alert`` unless its slot is taken; returns whether it is new.

    What no longer concerns the run as it is now (an earlier attempt, a run that has ended) is stored as over.
    """
    if _open_in(session, run.id, alert.slot) is not None or _count(session, run.id) >= MAX_PER_RUN:
        return False
    if alert.resolved_at is None and not _concerns(run, alert):
        alert.resolved_at = max(alert.raised_at, run.ended_at or 0.0)
        alert.outcome = (
            f"The run is {run.state}." if alert.attempt >= run.attempt else "A later attempt began."
        )
    session.add(alert)
    _recount(session, run)
    return True


def resolve(session: Session, run: Run, slot: str, *, at: float, step: int | None, outcome: str) -> bool:
    """Close the open alert of ``slot``; returns whether there was one."""
    alert = _open_in(session, run.id, slot)
    if alert is None:
        return False
    alert.resolved_at, alert.resolved_step, alert.outcome = at, step, outcome
    _recount(session, run)
    return True


def close_before_attempt(session: Session, run: Run, attempt: int, *, at: float) -> None:
    """A further attempt has begun: nothing of the earlier ones is open any more."""
    _close(session, run, Alert.attempt < attempt, at=at, outcome=f"Attempt {attempt} has begun.")


def follow_state(session: Session, run: Run) -> None:
    """Close what the run's new state makes pointless, and tell a loss."""
    state, now = RunState(run.state), time.time()
    if state is RunState.QUEUED:
        _close(session, run, at=now, outcome="The run is started again.")
    elif state is RunState.RUNNING:  # back from being lost
        _close(session, run, Alert.slot == CRASH, at=now, outcome="The run goes on.")
    elif state in ENDED:
        ended_at = run.ended_at or now
        _close(session, run, Alert.slot != CRASH, at=ended_at, outcome=f"The run is {run.state}.")
        if state is RunState.LOST:
            raise_alert(session, run, _loss(run, at=ended_at))
        elif state not in _DEAD:
            _close(session, run, at=ended_at, outcome=f"The run is {run.state}.")


def of_run(session: Session, run_id: str, *, limit: int) -> list[Alert]:
    """The newest ``limit`` alerts of a run, open ones first, newest first."""
    order = (Alert.resolved_at.is_(None).desc(), Alert.raised_at.desc(), Alert.id.desc())
    return list(session.scalars(select(Alert).where(Alert.run_id == run_id).order_by(*order).limit(limit)))


def of_all_runs(session: Session, *, active: bool | None, limit: int) -> list[tuple[Alert, str]]:
    """Alerts with the names of their runs, newest first; ``active`` None gives all."""
    statement = select(Alert, Run.name).join(Run, Run.id == Alert.run_id).where(Run.deleted_at.is_(None))
    is_active = Alert.resolved_at.is_(None) & Alert.dismissed_at.is_(None)
    if active is not None:
        statement = statement.where(is_active if active else ~is_active)
    rows = session.execute(statement.order_by(Alert.raised_at.desc(), Alert.id.desc()).limit(limit))
    return [(alert, name) for alert, name in rows]


def dismiss(session: Session, alert_id: int) -> Alert:
    """Take an alert off the active ones; it still holds its slot until it is over.

    Raises:
        NotFound: there is no such alert.
    """
    alert = session.get(Alert, alert_id)
    run = session.get(Run, alert.run_id) if alert is not None else None
    if alert is None or run is None or run.deleted_at is not None:
        raise NotFound(f"There is no alert {alert_id}.", hint="GET /api/alerts lists the alerts there are.")
    alert.dismissed_at = alert.dismissed_at or time.time()
    _recount(session, run)
    return alert


def _concerns(run: Run, alert: Alert) -> bool:
    state = RunState(run.state)
    if alert.attempt < run.attempt or state is RunState.QUEUED:
        return False
    return state not in ENDED or (alert.slot == CRASH and state in _DEAD)


def _loss(run: Run, *, at: float) -> Alert:
    return Alert(
        run_id=run.id,
        attempt=max(1, run.attempt),
        slot=CRASH,
        category=CRASH,
        level="error",
        title=LOST_TITLE,
        text=LOST_TEXT,
        raised_step=run.step,
        raised_at=at,
    )


def _open_in(session: Session, run_id: str, slot: str) -> Alert | None:
    statement = select(Alert).where(Alert.run_id == run_id, Alert.slot == slot, Alert.resolved_at.is_(None))
    return session.scalar(statement)


def _count(session: Session, run_id: str) -> int:
    return session.scalar(select(func.count()).select_from(Alert).where(Alert.run_id == run_id)) or 0


def _close(session: Session, run: Run, *conditions: Any, at: float, outcome: str) -> None:
    statement = (
        update(Alert)
        .where(Alert.run_id == run.id, Alert.resolved_at.is_(None), *conditions)
        .values(resolved_at=at, outcome=outcome)
        .returning(Alert.id)
    )
    if session.scalars(statement).all():
        _recount(session, run)


def _recount(session: Session, run: Run) -> None:
    session.flush()
    is_active = (Alert.run_id == run.id, Alert.resolved_at.is_(None), Alert.dismissed_at.is_(None))
    run.active_alerts = session.scalar(select(func.count()).select_from(Alert).where(*is_active)) or 0
    session.flush()
