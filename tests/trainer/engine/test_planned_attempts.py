"""An attempt trains with what its plan changes, and goes on exactly, or says where it could not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.children import tiny_task
from tests.trainer.engine.runs import events, series, train_here
from trainer.engine import checkpoints
from trainer.engine.process import train_run
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.run_folder import RunPaths, RunSpec

PARAMS: dict[str, Any] = {"num_epochs": 2, "batch_size": 16, "checkpoint_every": 4, "snapshot_budget": 0.0}


def interrupted(root: Path, *, after: int) -> RunPaths:
    """A run whose newest checkpoint is that of step ``after``; an epoch has 13 steps."""
    paths = train_here(root, **{**PARAMS, "max_steps": after})
    return tiny_task.create_run(paths.root, **PARAMS)


def go_on(paths: RunPaths, **changed: Any) -> list[str]:
    """Train attempt 2 with a plan; the titles of its alerts."""
    AttemptPlan(2, params=changed).save(paths)
    train_run(paths, attempt=2, entry=tiny_task.entry)
    return [event["title"] for event in events(paths, "alert") if event["attempt"] == 2]


def test_the_plan_decides_over_the_spec_and_is_kept_with_the_checkpoints(tmp_path: Path) -> None:
    paths = interrupted(tmp_path / "run", after=8)
    assert go_on(paths, learning_rate=0.5) == ["Resumed from a checkpoint"]
    newest = checkpoints.newest_verified(paths)
    assert newest is not None
    assert torch.load(newest, weights_only=True)["params"]["learning_rate"] == 0.5
    assert max(series(paths, "train/loss")) == 26


def test_the_profile_safe_reaches_the_training_and_a_plan_decides_over_it(tmp_path: Path) -> None:
    seen: list[Any] = []

    def entry(spec: RunSpec, *_: Any) -> None:
        seen.append(spec.params["search_process"])

    for number, (profile, wish) in enumerate((("auto", "auto"), ("safe", "auto"), ("safe", "shared"))):
        paths = RunPaths(tmp_path / str(number))
        params = {"search_process": wish, "seed": 0}
        RunSpec("run-1", "a", "two_tower", "none", params, 0.0, "", profile=profile).save(paths)
        train_run(paths, attempt=1, entry=entry)
    AttemptPlan(2, params={"search_process": "shared"}).save(RunPaths(tmp_path / "1"))
    train_run(RunPaths(tmp_path / "1"), attempt=2, entry=entry)
    assert seen == ["auto", "own", "shared", "shared"]


def test_an_epoch_cut_into_other_batches_is_begun_again_and_said_so(tmp_path: Path) -> None:
    paths = interrupted(tmp_path / "run", after=8)
    assert go_on(paths, batch_size=8, accumulate=2) == [
        "Resumed from a checkpoint",
        "The epoch is begun again",
    ]
    # 8 steps were done; two whole epochs of 26 halves, two at a time, follow
    assert max(series(paths, "train/loss", attempt=2)) == 8 + 13 + 13


def test_an_epoch_that_is_over_is_over_however_it_is_cut(tmp_path: Path) -> None:
    paths = interrupted(tmp_path / "run", after=13)
    assert go_on(paths, batch_size=8, accumulate=2) == ["Resumed from a checkpoint"]
    assert max(series(paths, "train/loss", attempt=2)) == 13 + 13
