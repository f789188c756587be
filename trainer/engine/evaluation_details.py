"""Keeps what a task can say of an evaluation beyond numbers, where it says something."""

from __future__ import annotations

import time

from trainer.engine.task import ExplainsEvaluation, Task
from trainer.protocol import evaluation_files
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter


def keep(task: Task, *, paths: RunPaths, reporter: Reporter, step: int) -> None:
    """Write the details of the evaluation just made; details lost are no reason to end the training."""
    if not isinstance(task, ExplainsEvaluation):
        return
    facts = {"step": step, "task": task.name, "attempt": reporter.attempt, "t": time.time()}
    try:
        evaluation_files.write(paths, step, {**facts, **task.evaluation_details()})
    except OSError as exc:
        reporter.alert(
            "warning",
            "Details of an evaluation were not kept",
            f"They could not be written: {exc}. Free space there; the training itself goes on.",
            step=step,
        )
