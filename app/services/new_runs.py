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
        columns=plan.columns,
        params=plan.params,
        profile=plan.profile,
        environment=plan.environment,
        script=plan.script_name,
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
    before = (
        *(earlier.recipe, earlier.script, earlier.dataset),
        *(earlier.columns, earlier.params, earlier.environment),
    )
    now = (
        *(plan.recipe.name, plan.script_name, plan.dataset),
        *(plan.columns, plan.params, plan.environment),
    )
    if before != now:
        raise Conflict(
            f"This Idempotency-Key made run {earlier.id} with other settings.",
            hint="Use a fresh key for a new run.",
        )
    return earlier


def insert_once(
    session: Session, plan: RunPlan, *, name: str | None, idempotency_key: str | None, **values: Any
) -> tuple[Run, bool]:
    """The run that the key made before, or a new one of ``plan``; and whether it is new.

    Raises:
        Conflict: the key made a run with other settings.
        Unavailable: too many runs are waiting.
    """
    earlier = made_before(session, idempotency_key, plan)
    if earlier is not None:
        return earlier, False
    check_room(session)
    run = new_run(plan, name=name or default_name(session, plan), idempotency_key=idempotency_key, **values)
    return run_rows.insert_run(session, run), True


def check_room(session: Session) -> None:
    """Raise Unavailable when too many runs are waiting."""
    _, num_queued = run_rows.list_runs(session, states=[RunState.QUEUED], limit=1, offset=0)
    if num_queued >= MAX_QUEUED:
        raise Unavailable(f"{num_queued} runs are waiting already.", hint="Stop some of them first.")


def default_name(session: Session, plan: RunPlan) -> str:
    """A name that no run has: recipe or script, dataset and a number."""
    _, num_earlier = run_rows.list_runs(
        session, recipe=plan.recipe.name, dataset=plan.dataset, limit=1, offset=0
    )
    number = num_earlier + 1
    while True:
        name = f"{_words(plan)} #{number}"
        matches, _ = run_rows.list_runs(session, q=name, limit=100, offset=0)
        if all(run.name != name for run in matches):
            return name
        number += 1


def _words(plan: RunPlan) -> str:
    """What is trained on what; a script without a file is called by its name alone."""
    is_alone = plan.dataset_title == plan.subject
    return plan.subject if is_alone else f"{plan.subject} on {plan.dataset_title}"
