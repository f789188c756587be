"""One trainer process from its run folder to its end.

Loads no torch itself: heartbeat, reports and the ear for SIGTERM are there
before the heavy imports, which take seconds on a busy machine.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trainer.engine.manifests import manifests
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes
from trainer.recipes.search_process import isolated
from trainer.telemetry.controls import Controls, StopRequested
from trainer.telemetry.reporter import Reporter

Entry = Callable[[RunSpec, RunPaths, Reporter, Controls], None]


def train_run(paths: RunPaths, *, attempt: int, entry: Entry | None = None) -> None:
    """Run one attempt of the run in ``paths``; returns when it has finished or was stopped.

    It trains with the run's parameters, changed as the attempt's plan says.
    ``entry`` is what trains; without one the recipe of the spec names it.

    Raises:
        Exception: whatever the training raised, after it was reported.
    """
    spec = _planned(RunSpec.load(paths), AttemptPlan.load(paths, attempt))
    saved = manifests(paths) if attempt > 1 else []
    step = saved[-1].step if saved else 0  # where the run stands until the training says more
    controls = Controls(paths)
    reporter = Reporter(paths, attempt=attempt)
    try:
        reporter.phase(Phase.LOADING, step=step, detail="importing libraries")
        train = entry or entry_of(spec.recipe)
        importlib.import_module("trainer.engine.seeding").seed_everything(int(spec.params.get("seed", 0)))
        controls.stop_if_asked()
        train(spec, paths, reporter, controls)
    except StopRequested:
        reporter.finished(step, reason="stopped", metrics={"last": {}, "best": {}})
    except Exception as exc:
        reporter.alert("error", type(exc).__name__, str(exc))
        raise
    finally:
        reporter.close()


def _planned(spec: RunSpec, plan: AttemptPlan | None) -> RunSpec:
    params = spec.params if plan is None else {**spec.params, **plan.params}
    return replace(spec, params=isolated(params, profile=spec.profile))


def entry_of(recipe: str) -> Entry:
    """The function that trains ``recipe``.

    Raises:
        LookupError: there is no such recipe.
    """
    known = recipes()
    if recipe not in known:
        raise LookupError(f"recipe {recipe!r} is unknown; there are {', '.join(known)}")
    module, _, function = known[recipe].entry.partition(":")
    entry: Any = getattr(importlib.import_module(module), function)
    checked: Entry = entry
    return checked
