"""Back-fills of runs: at most one of each run and a few together; started, watched and cancelled here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from app.domain.run_states import ENDED, RunState
from app.errors import Conflict, InvalidRequest, TooManyRequests, Unavailable
from app.services.backfill_job import BackfillJob
from app.services.checkpoint_files import checkpoints_in
from app.services.runs import Runs
from trainer.protocol.probe_files import has_probes, probes_path
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.registry import recipes

ALL: Final = "all"
MOST_JOBS: Final = 2
LIMIT_S: Final = 6 * 3600.0
MakeCommand = Callable[[RunPaths, str, str], list[str]]


class Backfill:
    """Who is asked at the moment; started and ended with the server."""

    def __init__(self, runs: Runs, *, command: MakeCommand | None = None, limit_s: float = LIMIT_S) -> None:
        """Wire it; nothing can be asked before :meth:`start`.

        Args:
            runs: what is known of runs.
            command: what asks, from folder, checkpoint and ``own`` or ``added``; None: the training side's.
            limit_s: seconds after which a job is ended.
        """
        self._runs = runs
        self._command = command or backfill_command
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._is_open = False
        self._jobs: dict[str, BackfillJob] = {}

    def start(self) -> None:
        """From now on jobs can be launched."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End every job, and start none any more."""
        with self._lock:
            self._is_open = False
            jobs, self._jobs = list(self._jobs.values()), {}
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.close()

    def forget(self, run_id: str) -> None:
        """End the job of a run that has ended and is to be deleted; harmless when there is none.

        Raises:
            NotFound: there is no such run.
        """
        if RunState(self._runs.get(run_id).state) not in ENDED:
            return  # it cannot be deleted
        with self._lock:
            job = self._jobs.pop(run_id, None)
        if job is not None:
            job.close()

    def status(self, run_id: str) -> dict[str, Any]:
        """``{"why_not", "num_checkpoints", "running", "job"}``; ``job`` is the newest, or None.

        Raises:
            NotFound: there is no such run.
        """
        run = self._runs.get(run_id)
        paths = self._runs.paths(run_id)
        with self._lock:
            job = self._jobs.get(run_id)
        return {
            "why_not": _why_not(run.recipe, paths),
            "num_checkpoints": len(checkpoints_in(paths)),
            "has_added": has_probes(paths),
            "running": job is not None and job.is_running,
            "job": None if job is None else job.status(),
        }

    def launch(self, run_id: str, *, checkpoint: str, probes: str) -> dict[str, Any]:
        """Start asking the run's checkpoints; returns :meth:`status`.

        Args:
            run_id: which run.
            checkpoint: ``all``, ``best``, ``last`` or a step.
            probes: ``own`` or ``added``.
        Raises:
            NotFound: there is no such run.
            InvalidRequest: there is no such checkpoint, or no added probe.
            Conflict: this run cannot be asked, or is being asked.
            TooManyRequests: other runs are being asked.
            Unavailable: no process can be started.
        """
        run = self._runs.get(run_id)
        paths = self._runs.paths(run_id)
        refusal = _why_not(run.recipe, paths)
        if refusal is not None:
            raise Conflict(refusal)
        _check_checkpoint(checkpoint, paths)
        if probes == "added" and not has_probes(paths):
            raise InvalidRequest(
                "no probe has been added to this run",
                field="probes",
                hint=f"POST /api/runs/{run_id}/probes adds some.",
            )
        with self._lock:
            self._make_room(run_id)
            try:
                self._jobs[run_id] = BackfillJob(
                    self._command(paths, checkpoint, probes),
                    checkpoint=checkpoint,
                    probes=probes,
                    limit_s=self._limit_s,
                )
            except OSError as exc:
                raise Unavailable(f"No process can be started: {exc.strerror}.", hint="Try again.") from exc
        return self.status(run_id)

    def cancel(self, run_id: str) -> dict[str, Any]:
        """End the run's job; harmless when none runs."""
        self._runs.get(run_id)
        with self._lock:
            job = self._jobs.get(run_id)
        if job is not None and job.is_running:
            job.cancel()
        return self.status(run_id)

    def _make_room(self, run_id: str) -> None:
        if not self._is_open:
            raise Conflict("the server is starting or ending", hint="try again in a moment")
        running = {name for name, job in self._jobs.items() if job.is_running}
        if run_id in running:
            raise Conflict(
                "The checkpoints of this run are being asked already.", hint="Wait for it, or cancel it."
            )
        if len(running) >= MOST_JOBS:
            raise TooManyRequests(
                f"The checkpoints of {len(running)} other runs are being asked.", hint="Try again later."
            )


def backfill_command(paths: RunPaths, checkpoint: str, probes: str) -> list[str]:
    """What asks the checkpoints of the run in ``paths``."""
    command = [sys.executable, "-P", "-m", "trainer", "snapshot", str(paths.root), "--json"]
    added = ["--probes", str(probes_path(paths))] if probes == "added" else []
    return [*command, "--checkpoint", checkpoint, *added]


def _why_not(recipe_name: str, paths: RunPaths) -> str | None:
    """Why the run's checkpoints cannot be asked, for a person; None when they can."""
    recipe = recipes().get(recipe_name)
    if recipe is None:
        return "This version does not know the run's recipe."
    if not recipe.rebuild:
        return f"Checkpoints of the recipe {recipe.title} cannot be asked their probes."
    if not paths.spec.is_file():
        return "The run's folder is not on this machine."
    if not checkpoints_in(paths):
        return "There is no checkpoint yet: they can be asked once the first one is saved."
    return None


def _check_checkpoint(checkpoint: str, paths: RunPaths) -> None:
    known = checkpoints_in(paths)
    steps = [str(one["step"]) for one in known]
    if checkpoint in (ALL, "last") or checkpoint in steps:
        return
    if checkpoint == "best" and any(one["best"] for one in known):
        return
    raise InvalidRequest(
        f"there is no checkpoint {checkpoint[:40]!r}",
        field="checkpoint",
        hint=f"Say all, last, best, or one of the steps {', '.join(steps)}.",
    )
