"""What runs took and how fast they go: what estimates are made of."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.store.models import MetricChunk, Run, Series

PACE_SERIES: Final = "train/loss"
PACE_WINDOW_S: Final = 60.0
_NUM_CHUNKS: Final = 64
_NUM_PAST: Final = 200


def past_runs(session: Session, recipe: str) -> list[Run]:
    """The newest runs of a recipe that finished in one attempt: their times hold no waiting."""
    statement = (
        select(Run)
        .where(
            Run.recipe == recipe,
            Run.state == RunState.FINISHED.value,
            Run.attempt == 1,
            Run.started_at.is_not(None),
            Run.ended_at.is_not(None),
            Run.deleted_at.is_(None),
        )
        .order_by(Run.created_at.desc())
        .limit(_NUM_PAST)
    )
    return list(session.scalars(statement))


def pace(session: Session, run: Run) -> float | None:
    """Steps per second over about the last minute of the newest attempt; None before two reports."""
    series_id = session.scalar(select(Series.id).where(Series.run_id == run.id, Series.name == PACE_SERIES))
    if series_id is None:
        return None
    rows = session.execute(
        select(MetricChunk.first_step, MetricChunk.last_step, MetricChunk.first_time, MetricChunk.last_time)
        .where(MetricChunk.series_id == series_id, MetricChunk.attempt == run.attempt)
        .order_by(MetricChunk.start.desc())
        .limit(_NUM_CHUNKS)
    ).all()
    if not rows:
        return None
    last_step, last_time = rows[0].last_step, rows[0].last_time
    first = rows[-1]
    for row in rows:
        if last_time - row.first_time >= PACE_WINDOW_S:
            first = row
            break
    steps, seconds = last_step - first.first_step, last_time - first.first_time
    return steps / seconds if steps > 0 and seconds > 0 else None
