"""What happens before a trainer is launched: the plan, the orders of yesterday, the end of last time."""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Command
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.run_folder import ExitRecord, RunPaths
from trainer.protocol.rungs import Rung
from trainer.supervisor.ladder import lasting
from trainer.supervisor.process import raise_open_files
from trainer.supervisor.recovery import forget_set_aside, set_aside_checkpoints
from trainer.supervisor.rung_effects import CHECKPOINT, OPEN_FILES

if TYPE_CHECKING:
    from trainer.recipes.declaration import Remedy

log = logging.getLogger(__name__)


def first_plan(paths: RunPaths, *, attempt: int) -> AttemptPlan:
    """The plan of a supervisor's first attempt: the lasting rungs of the newest one there was, if any.

    Whoever resumes a run expects the remedies that got it this far to stay; its budget begins anew.
    A supervisor that was killed in the pause before an attempt has left the plan for it, which is this one.
    """
    coming = _announced(paths, attempt)
    if coming is not None:
        return coming
    fresh = AttemptPlan(attempt)
    try:
        before = AttemptPlan.load(paths, attempt - 1) if attempt > 1 else None
    except ProtocolError as exc:
        log.warning("the plan of attempt %d is not used: %s", attempt - 1, exc)
        before = None
    if before is None:
        return fresh
    return replace(fresh, rungs=lasting(before), params=before.params, environment=before.environment)


def announce(paths: RunPaths, plan: AttemptPlan) -> None:
    """Write down what the coming attempt will be, should this supervisor not live to start it."""
    try:
        write_atomic(paths.next_plan, json.dumps(plan.to_json(), indent=2).encode())
    except OSError as exc:
        log.warning("the plan of attempt %d cannot be kept over the pause: %s", plan.attempt, exc)


def tidy(paths: RunPaths, record: ExitRecord) -> None:
    """Remove what nobody needs once the run has ended: the plan of a next attempt, checkpoints set aside."""
    try:
        paths.next_plan.unlink(missing_ok=True)
        if record.state == "finished":
            forget_set_aside(paths)
    except OSError as exc:
        log.warning("the run folder cannot be tidied up: %s", exc)


def _announced(paths: RunPaths, attempt: int) -> AttemptPlan | None:
    """The plan an earlier supervisor left for ``attempt``; None where it left none that can be used."""
    if not paths.next_plan.exists():
        return None
    try:
        plan = AttemptPlan.from_json(read_object(paths.next_plan))
    except ProtocolError as exc:
        log.warning("the plan of the coming attempt is not used: %s", exc)
        return None
    return plan if plan.attempt == attempt else None


def prepare(paths: RunPaths, plan: AttemptPlan) -> None:
    """Write the plan for the trainer to find, make its checkpoint the newest one, and its limits ours.

    Raises:
        OSError: the disk refuses.
    """
    if plan.newest is not None and CHECKPOINT in plan.newest.changes:
        set_aside_checkpoints(paths, after_step=int(plan.newest.changes[CHECKPOINT][1]))
    for taken in plan.rungs:
        if OPEN_FILES in taken.changes:
            raise_open_files(int(taken.changes[OPEN_FILES][1]))
    forget_orders(paths)
    plan.save(paths)
    paths.next_plan.unlink(missing_ok=True)


def forget_orders(paths: RunPaths) -> None:
    """Orders an earlier attempt did not obey any more must not be taken for this one's."""
    for order in Command:
        (paths.control / order.value).unlink(missing_ok=True)


def put_last_end_away(paths: RunPaths, *, attempt: int) -> None:
    """An earlier end of the run must not be taken for the one to come; it stays with its attempt.

    ``attempt`` is the number of the next one.
    """
    if paths.exit.exists():
        kept = paths.attempt_exit(max(1, attempt - 1))
        kept.parent.mkdir(parents=True, exist_ok=True)
        if kept.exists():
            paths.exit.unlink()
        else:
            paths.exit.replace(kept)
    forget_orders(paths)


def remedies_of(recipe: str) -> Mapping[Rung, Remedy]:
    """What ``recipe`` can change of its parameters to be tried again; loads the declarations only now."""
    registry: Any = importlib.import_module("trainer.recipes.registry")
    found = registry.recipes().get(recipe)
    remedies: Mapping[Rung, Remedy] = found.remedies if found is not None else {}
    return remedies
