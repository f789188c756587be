"""Whole runs of any recipe on small data: their folders, their processes, their losses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.trainer.engine.runs import events
from tests.trainer.warm import launch_engine
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes, validate


def prepared(recipe: str, folder: Path, dataset: Path, **params: Any) -> RunPaths:
    """The folder of a run that has not started."""
    paths = RunPaths(folder)
    RunSpec(
        run_id=folder.name, name="test", recipe=recipe, dataset=str(dataset),
        params=validate(recipes()[recipe], params), created_at=time.time(),
        datasets_dir=str(folder.parent / "datasets"),
    ).save(paths)  # fmt: skip
    return paths


def finished(paths: RunPaths, attempt: int = 1) -> list[dict[str, Any]]:
    """What an attempt in a process of its own has reported when it has ended well."""
    process = launch_engine(paths.root, attempt=attempt)
    assert process.wait() == 0, process.output()
    return events(paths)


def losses(found: list[dict[str, Any]]) -> dict[int, float]:
    """The loss of every step; of a step done twice the later attempt counts."""
    return {
        event["step"]: event["values"]["train/loss"]
        for event in found
        if event["type"] == "metrics" and "train/loss" in event["values"]
    }
