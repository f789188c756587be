"""One back-fill from start to end: which checkpoints, in a process that is bounded, each file delivered.

Every snapshot is a file of its own below ``backfill/`` of the run's folder,
written whole or not at all, so a job that is killed has done what it has done,
and the next one goes on from there.  Nothing of a living trainer is touched.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.asking.chosen import choose, file_of
from trainer.asking.faults import AskingError, Fault
from trainer.asking.model_process import ModelProcess
from trainer.asking.surroundings import AskLimits, command, environment, program_folder
from trainer.backfill.delivery import Delivery
from trainer.engine.manifests import Manifest, manifests, problem_with
from trainer.protocol.events import snapshot_name
from trainer.protocol.probe_files import ADDED_FOLDER
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes

ALL: Final = "all"
FOLDER: Final = "backfill"
Say = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Wish:
    """What is to be asked.

    Attributes:
        checkpoint: ``all``, ``best``, ``last`` or a step.
        probes: a file of added probes; None stands for the run's own.
        device: ``cpu`` takes nothing from a training on the GPU.
        again: whether checkpoints that were asked these probes before are asked again.
    """

    checkpoint: str = ALL
    probes: Path | None = None
    device: str = "cpu"
    again: bool = False


class Backfill:
    """Asks checkpoints one after the other; used by one thread."""

    def __init__(self, paths: RunPaths, wish: Wish, *, limits: AskLimits, say: Say) -> None:
        """Look whether it can be done; nothing is started yet.

        Args:
            paths: of the run.
            wish: what is to be asked.
            limits: what the model may take; ``answer_s`` is for the probes of one checkpoint.
            say: hears ``{"tell", "fraction"}`` and ``{"snapshot": {"step", "result", …}}``.
        Raises:
            ProtocolError: the run's spec cannot be read.
            AskingError: models of its recipe cannot be asked, or there is no such checkpoint.
        """
        self._paths, self._wish, self._limits, self._say = paths, wish, limits, say
        self._spec = RunSpec.load(paths)
        recipe = recipes().get(self._spec.recipe)
        if recipe is None or not recipe.rebuild:
            raise AskingError(
                Fault.OPENING, f"Checkpoints of the recipe {self._spec.recipe} cannot be asked their probes."
            )
        self._chosen = self._choose()
        kind = "own" if wish.probes is None else "added"
        self._into = RunPaths(paths.root / FOLDER / kind)
        self._delivery = Delivery(paths, run=self._spec.run_id, folder=self._into.snapshots)
        self._done = 0

    def run(self) -> dict[str, Any]:
        """Ask them all: ``{"asked", "known", "gone", "undelivered"}``, each a list of steps.

        Raises:
            AskingError: the model cannot be opened, or its process died.
        """
        for leftover in self._into.snapshots.glob(".*.tmp"):  # of a job that was killed
            leftover.unlink(missing_ok=True)
        self._tell("starting a process", 0.0)
        process = ModelProcess(
            command(self._paths, module="trainer.backfill"),
            environ=environment(self._spec, self._paths, device=self._wish.device),
            cwd=program_folder(),
            memory_bytes=self._limits.memory_bytes,
        )
        found: dict[str, list[int]] = {"asked": [], "known": [], "gone": [], "undelivered": []}
        try:
            self._prepare(process)
            for chosen in self._chosen:
                result = self._ask(process, chosen)
                found[result].append(chosen.step)
                self._done += 1
        finally:
            process.end()
        return found

    def _choose(self) -> list[Manifest]:
        """Newest first: if the rest is cancelled, the most wanted is there."""
        if self._wish.checkpoint != ALL:
            return [choose(self._paths, self._wish.checkpoint)]
        choose(self._paths, None)  # says in words that there is none
        return manifests(self._paths)[::-1]

    def _prepare(self, process: ModelProcess) -> None:
        request = {
            "do": "prepare",
            "device": self._wish.device,
            "attempt": _newest_attempt(self._paths),
            "into": str(self._into.root),
            "probes": None if self._wish.probes is None else str(self._wish.probes),
        }
        process.ask(request, what="starting", limit_s=self._limits.open_s, tell=self._tell)

    def _ask(self, process: ModelProcess, chosen: Manifest) -> str:
        """What became of one checkpoint."""
        if problem_with(self._paths, chosen) is not None:
            self._say({"snapshot": {"step": chosen.step, "result": "gone"}})
            return "gone"
        request: dict[str, Any] = {"do": "open", "checkpoint": str(file_of(self._paths, chosen))}
        limits = self._limits
        opened = process.ask(request, what="opening the model", limit_s=limits.open_s, tell=self._tell)
        path = self._into.snapshots / snapshot_name(chosen.step)
        result, told = "known", {}
        if self._wish.again or not self._is_known(chosen.step, opened["probe_set"], path):
            self._tell(f"asking the checkpoint of step {chosen.step:,}", 0.0)
            request = {"do": "snapshot", "step": chosen.step, "epoch": float(chosen.epoch)}
            told = process.ask(request, what="asking", limit_s=limits.answer_s, tell=self._tell)
            result = "asked"
        if not self._delivery.deliver(path):
            result = "undelivered"
        told = {name: told[name] for name in ("summary", "cost_s") if name in told}
        self._say({"snapshot": {"step": chosen.step, "result": result, **told}})
        return result

    def _is_known(self, step: int, probe_set: str, path: Path) -> bool:
        """Whether this checkpoint has been asked these probes: in training, or by an earlier job."""
        taken = [
            folder / path.name for folder in (self._paths.snapshots, self._paths.snapshots / ADDED_FOLDER)
        ]
        return any(_probe_set_of(one) == probe_set for one in (*taken, path))

    def _tell(self, detail: str, fraction: float) -> None:
        """Fractions are of the whole job."""
        share = (self._done + 0.9 * fraction) / max(1, len(self._chosen))
        self._say({"tell": detail, "fraction": round(share, 4)})


def _newest_attempt(paths: RunPaths) -> int:
    """What is kept is of the newest attempt's line: that one went on from a checkpoint of those before."""
    numbers = [int(path.name) for path in paths.root.glob("attempts/[0-9][0-9][0-9]")]
    return max(numbers, default=1)


def _probe_set_of(path: Path) -> str | None:
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))["probe_set"]
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None
    return found if isinstance(found, str) else None
