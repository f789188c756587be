"""The snapshots of a training: its own probes, and beside them those that people have added, together."""

from __future__ import annotations

from typing import Any

from trainer.engine.added_snapshots import AddedSnapshots, Hears
from trainer.engine.snapshot_writer import SnapshotWriter
from trainer.engine.task import Task
from trainer.protocol.run_folder import RunPaths, RunSpec


class RunSnapshots:
    """Asks both sets at the same steps; what both cost counts as one."""

    def __init__(self, task: Task, *, spec: RunSpec, paths: RunPaths, reporter: Hears) -> None:
        self._own = SnapshotWriter(task, spec=spec, paths=paths, reporter=reporter)
        self._added = AddedSnapshots(task, spec=spec, paths=paths, reporter=reporter)

    def are_taken(self, step: int) -> bool:
        """Whether everybody has been asked at ``step``."""
        return self._own.last_step == step and self._added.are_taken(step)

    def take(self, *, step: int, epoch: float) -> float:
        """Ask those that have not been asked at ``step``; returns what it cost in seconds.

        Raises:
            ValueError: the task's answers do not match its probes; names the column.
            OSError: the file of the own probes cannot be written.
        """
        cost_s = 0.0 if self._own.last_step == step else self._own.take(step=step, epoch=epoch)
        return cost_s + self._added.take(step=step, epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return {**self._own.state_dict(), "added": self._added.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`; older checkpoints know nothing of added probes."""
        self._own.load_state_dict(state)
        self._added.load_state_dict(state.get("added", {}))
