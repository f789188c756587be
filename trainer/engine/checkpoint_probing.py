"""Asks the probes of checkpoints that were written long ago; trains nothing and reports to nobody."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch

from trainer.engine import checkpoints
from trainer.engine.checkpoints import CheckpointError
from trainer.engine.seeding import seed_everything
from trainer.engine.snapshot_writer import SnapshotWriter, dataset_name
from trainer.engine.task import TakesProbes, Task, Tell
from trainer.protocol.probe_files import BACK_FILLED, AddedProbe, ProbeRowError, added_name
from trainer.protocol.run_folder import RunPaths, RunSpec

Rebuild = Callable[[RunSpec, Tell], Task]


class _Heard:
    """Who the writer announces a snapshot to: keeps the last one."""

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.last: dict[str, Any] = {}

    def snapshot(self, step: int, file: str, summary: dict[str, float], cost_s: float) -> None:
        self.last = {"step": step, "file": file, "summary": dict(summary), "cost_s": cost_s}


class CheckpointProber:
    """Holds one task at a time, rebuilt where checkpoints were written with other parameters."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        rebuild: Rebuild,
        into: RunPaths,
        attempt: int,
        device: str,
        added: Sequence[AddedProbe] | None,
        tell: Tell,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            spec: of the run.
            rebuild: makes its task again.
            into: in whose ``snapshots`` the files are written.
            attempt: of the run; the snapshots count as of this one.
            device: where the model is put.
            added: probes instead of the run's own.
            tell: hears how far it is.
        """
        self._spec, self._rebuild, self._into = spec, rebuild, into
        self._device, self._added, self._tell = device, added, tell
        self._heard = _Heard(attempt)
        self._built_for: dict[str, Any] | None = None
        self._task: Task | None = None
        self._writer: SnapshotWriter | None = None

    def open(self, checkpoint: Path) -> dict[str, Any]:
        """Load a checkpoint: ``{"probe_set", "num_probes"}``.

        Raises:
            CheckpointError: it cannot be read, or does not fit.
            ProbeRowError: an added probe cannot be asked of such a model.
        """
        state = checkpoints.load(checkpoint, is_mapped=True)
        task, writer = self._built(_params_of(state, self._spec))
        self._tell(f"loading {checkpoint.name}", 0.9)
        modules = task.modules()
        try:
            for name, module in modules.items():
                module.load_state_dict(state["modules"][name])
            task.load_state_dict(state["task"])
        except (KeyError, RuntimeError, TypeError) as exc:
            first_line = str(exc).strip().split("\n", 1)[0]
            raise CheckpointError(
                f"{checkpoint.name} does not fit the model of its run ({first_line})"
            ) from exc
        for module in modules.values():
            module.train(False)
        asked = writer.probe_set()
        return {"probe_set": asked["hash"], "num_probes": len(asked["examples"])}

    def snapshot(self, *, step: int, epoch: float) -> dict[str, Any]:
        """Ask what is open: ``{"step", "file", "summary", "cost_s"}``.

        Raises:
            OSError: the file cannot be written.
        """
        if self._writer is None:
            raise LookupError("no checkpoint is open")
        with torch.no_grad():
            self._writer.take(step=step, epoch=epoch)
        return self._heard.last

    def _built(self, params: dict[str, Any]) -> tuple[Task, SnapshotWriter]:
        if self._task is None or self._writer is None or params != self._built_for:
            self._task = self._writer = None  # the old model goes before the new one takes its room
            known = {**params, "device": self._device} if "device" in params else params
            seed_everything(int(params.get("seed", 0)))
            self._task = self._rebuild(replace(self._spec, params=known), self._tell)
            self._built_for = params
            self._writer = self._new_writer(self._task)
        return self._task, self._writer

    def _new_writer(self, task: Task) -> SnapshotWriter:
        name = dataset_name(self._spec.dataset)
        asked = task
        if self._added is not None:
            if not isinstance(task, TakesProbes):
                raise ProbeRowError(1, "cannot be asked: models of this recipe take no added probes")
            asked, name = task.with_probes(self._added), added_name(name)
        return SnapshotWriter(
            asked, spec=self._spec, paths=self._into, reporter=self._heard, dataset=name, mark=BACK_FILLED
        )


def rebuild_of(declaration: str) -> Rebuild:
    """The function called ``module:function``."""
    module, _, name = declaration.partition(":")
    return cast(Rebuild, getattr(importlib.import_module(module), name))


def _params_of(state: dict[str, Any], spec: RunSpec) -> dict[str, Any]:
    """Those of the attempt that wrote it: the ladder may have changed some since, or before."""
    params = state.get("params")
    return dict(params) if isinstance(params, dict) else dict(spec.params)
