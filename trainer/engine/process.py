"""One trainer process from its run folder to its exit code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from trainer.engine import checkpoints
from trainer.engine.seeding import seed_everything
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes
from trainer.telemetry.controls import Controls, StopRequested
from trainer.telemetry.reporter import Reporter

Entry = Callable[[RunSpec, RunPaths, Reporter, Controls], None]


def train_run(paths: RunPaths, *, attempt: int, entry: Entry | None = None) -> None:
    """Run one attempt of the run in ``paths``; returns when it has finished or was stopped.

    ``entry`` is what trains; without one the recipe of the spec names it.

    Raises:
        Exception: whatever the training raised, after it was reported.
    """
    spec = RunSpec.load(paths)
    controls = Controls(paths)
    reporter = Reporter(paths, attempt=attempt)
    try:
        seed_everything(int(spec.params.get("seed", 0)))
        (entry or entry_of(spec.recipe))(spec, paths, reporter, controls)
    except StopRequested:
        saved = checkpoints.manifests(paths)  # stopped while loading: the run stands where it was saved
        step = saved[-1].step if saved and attempt > 1 else 0
        reporter.finished(step, reason="stopped", metrics={"last": {}, "best": {}})
    except Exception as exc:
        reporter.alert("error", type(exc).__name__, str(exc))
        raise
    finally:
        reporter.close()


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
