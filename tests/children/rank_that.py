"""One rank of a tiny task, with a habit (``habit`` in the run's parameters) that only rank 1 has."""

from __future__ import annotations

import time
from typing import Any

import torch

from tests.children import tiny_task
from trainer.engine.__main__ import main
from trainer.engine.loop import train
from trainer.engine.place import here
from trainer.engine.task import LoopConfig, LossOutput
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

AT_MICRO_BATCH = 4


class Habitual(tiny_task.TinyTask):
    """Trains, until its habit shows."""

    habit = ""
    num_done = 0

    def loss(self, micro_batch: Any) -> LossOutput:
        self.num_done += 1
        if self.habit == "raises" and self.num_done == AT_MICRO_BATCH:
            raise ValueError("the fourth batch is bad")
        while self.habit == "waits" and self.num_done == AT_MICRO_BATCH:
            time.sleep(0.2)
        return super().loss(micro_batch)


def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Train like a recipe does."""
    torch.set_num_threads(1)
    params = {name: value for name, value in spec.params.items() if name not in ("nproc", "habit")}
    own = {name: params.pop(name) for name in tiny_task.TASK_PARAMS if name in params}
    task = Habitual(seed=params["seed"], **own)
    if here().rank == 1:
        task.habit = spec.params.get("habit", "")
    config = LoopConfig(**params)
    train(task, config, spec=spec, paths=paths, reporter=reporter, controls=controls)


if __name__ == "__main__":
    main(entry)
