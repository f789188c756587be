"""A new run's row: its name, its place in the queue, and that one wish makes one run."""

from __future__ import annotations

import time
from typing import Any, Final

from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import Conflict, Unavailable
from app.services.run_ids import new_run_id
from app.services.run_plan import RunPlan
from app.store import runs as run_rows
from app.store.models import Run

MAX_QUEUED: Final = 1000


def new_run(plan: RunPlan, **values: Any) -> Run:
    """A queued run of ``plan``; ``values`` are further columns. Not stored yet."""
    now = time.time()
    return Run(
        id=new_run_id(now=now),
        recipe=plan.recipe.name,
        dataset=plan.dataset,
        params=plan.params,
        profile=plan.profile,
        environment=plan.environment,
        rungs=[],
        state=RunState.QUEUED.value,
        created_at=now,
        queued_at=now,
        latest={},
        **values,
    )


def made_before(session: Session, key: str | None, plan: RunPlan) -> Run | None:
    """The run that ``key`` made, None when it made none.

    Raises:
        Conflict: it made a run with other settings.
    """
    earlier = run_rows.find_by_idempotency_key(session, key) if key is not None else None
    if earlier is None:
        return None
    before = (earlier.recipe, earlier.dataset, earlier.params, earlier.environment)
    if before != (plan.recipe.name, plan.dataset, plan.params, plan.environment):
        raise Conflict(
            f"This Idempotency-Key made run {earlier.id} with other settings.",
            hint="Use a fresh key for a new run.",
        )
    return earlier


def check_room(session: Session) -> None:
    """Raise Unavailable when too many runs are waiting."""
    _, num_queued = run_rows.list_runs(session, states=[RunState.QUEUED], limit=1, offset=0)
    if num_queued >= MAX_QUEUED:
        raise Unavailable(f"{num_queued} runs are waiting already.", hint="Stop some of them first.")


def default_name(session: Session, plan: RunPlan) -> str:
    """A name that no run has: recipe, dataset and a number."""
    _, num_earlier = run_rows.list_runs(
        session, recipe=plan.recipe.name, dataset=plan.dataset, limit=1, offset=0
    )
    number = num_earlier + 1
    while True:
        name = f"{plan.recipe.name} on {plan.dataset_title} #{number}"
        matches, _ = run_rows.list_runs(session, q=name, limit=100, offset=0)
        if all(run.name != name for run in matches):
            return name
        number += 1
