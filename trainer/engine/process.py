"""One trainer process from its run folder to its end.

Loads no torch itself: heartbeat, reports and the ear for SIGTERM are there
before the heavy imports, which take seconds on a busy machine.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from trainer.engine.importing import importing
from trainer.engine.manifests import manifests
from trainer.engine.place import PeerLost, Place, here
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import Phase
from trainer.protocol.files import write_atomic
from trainer.protocol.rank_files import LOST_PEER, rank_paths
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes
from trainer.recipes.search_process import isolated
from trainer.telemetry.controls import Controls, StopRequested
from trainer.telemetry.rank_voice import PassingControls, SilentReporter
from trainer.telemetry.reporter import Reporter

log = logging.getLogger(__name__)
_POLL_S: Final = 0.05
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
    place = here()
    controls, reporter = _voice(place, paths, attempt=attempt)
    try:
        reporter.phase(Phase.LOADING, step=step, detail="importing libraries")
        with importing():
            train = entry or entry_of(spec.recipe)
            seeding = importlib.import_module("trainer.engine.seeding")
            importlib.import_module("torch._dynamo")  # every optimizer does, and takes a fifth longer outside
        if not place.is_first:
            _await_first(paths, controls, attempt=attempt)
        seeding.seed_everything(int(spec.params.get("seed", 0)))
        controls.stop_if_asked()
        train(spec, paths, reporter, controls)
    except StopRequested:
        reporter.finished(step, reason="stopped", metrics={"last": {}, "best": {}})
    except PeerLost as exc:
        log.info("another rank is gone (%s); its own output tells why", exc)
        raise SystemExit(LOST_PEER) from None
    except Exception as exc:
        reporter.alert("error", type(exc).__name__, str(exc))
        if not place.is_alone:
            _leave_time(place, paths, attempt=attempt)
        raise
    finally:
        reporter.close()


def _voice(place: Place, paths: RunPaths, *, attempt: int) -> tuple[Controls, Reporter]:
    if place.is_first:
        return Controls(paths), Reporter(paths, attempt=attempt)
    mine = rank_paths(paths, attempt, place.rank)
    return PassingControls(paths), SilentReporter(mine, attempt=attempt)


def _await_first(paths: RunPaths, controls: Controls, *, attempt: int) -> None:
    """Rank 0 reads and tokenises alone; the others then find what it has put into the caches."""
    first = rank_paths(paths, attempt, 0)
    while not first.is_ready.exists():
        controls.stop_if_asked()
        time.sleep(_POLL_S)


def _leave_time(place: Place, paths: RunPaths, *, attempt: int) -> None:
    """Write down when it happened: of several ranks that fall, the first one counts."""
    with contextlib.suppress(OSError):
        path = rank_paths(paths, attempt, place.rank).exception
        write_atomic(path, json.dumps({"t": time.time()}).encode())


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
