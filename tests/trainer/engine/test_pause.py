"""A pause changes nothing but the time: optimizer, schedule and random numbers go on where they were."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.children import tiny_task
from tests.trainer.engine.runs import events, series, snapshot, start, wait_until
from trainer.engine import checkpoints
from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process

PARAMS: dict[str, Any] = {
    "num_epochs": 4,
    "accumulate": 2,
    "checkpoint_every": 100,
    "eval_every": 6,
    "warmup_steps": 5,
    "schedule": "cosine",
    "snapshot_budget": 1e9,
}
MEASURED = ("train/loss", "train/grad_norm", "train/learning_rate", "eval/loss", "eval/accuracy")


def ask(paths: RunPaths, command: Command) -> None:
    (paths.control / command.value).touch()


def phase_of(paths: RunPaths) -> str:
    """The phase reported last; the heartbeat may be a second old."""
    reported = events(paths, "phase")
    return str(reported[-1]["name"]) if reported else ""


def last_step(paths: RunPaths) -> int:
    return max(series(paths, "train/loss"), default=0)


def test_a_run_that_was_paused_twice_has_the_losses_of_one_that_never_was(tmp_path: Path) -> None:
    whole = tiny_task.create_run(tmp_path / "whole", **PARAMS)
    undisturbed = start(whole)
    paths = tiny_task.create_run(tmp_path / "paused", step_s=0.01, **PARAMS)
    process = start(paths)
    for pause_at in (3, 14):  # in the warm-up, and in a later epoch
        wait_until(lambda: last_step(paths) >= pause_at, what=f"step {pause_at}")  # noqa: B023 - used at once
        ask(paths, Command.PAUSE)
        wait_until(lambda: phase_of(paths) == "paused", what="the pause")
        paused_at = last_step(paths)
        ask(paths, Command.CHECKPOINT)
        wait_until(
            lambda: any(one.step == paused_at for one in checkpoints.manifests(paths)),  # noqa: B023
            what="a checkpoint in the pause",
        )
        ask(paths, Command.SNAPSHOT)
        wait_until(
            lambda: any(one["step"] == paused_at for one in events(paths, "snapshot")),  # noqa: B023
            what="a snapshot in the pause",
        )
        assert last_step(paths) == paused_at, "it must not train while it is paused"
        ask(paths, Command.RESUME)
        wait_until(lambda: last_step(paths) > paused_at, what="the next step")  # noqa: B023
    output = process.output()
    assert process.returncode == 0, output
    assert undisturbed.wait() == 0
    for name in MEASURED:
        assert series(paths, name) == series(whole, name)
    last = max(event["step"] for event in events(whole, "snapshot"))
    assert snapshot(paths, last)["columns"] == snapshot(whole, last)["columns"]
    assert checkpoints.manifests(paths)[-1].step == checkpoints.manifests(whole)[-1].step


def test_what_was_saved_in_a_pause_goes_on_with_the_same_losses_after_a_kill(tmp_path: Path) -> None:
    whole = tiny_task.create_run(tmp_path / "whole", **PARAMS)
    undisturbed = start(whole)
    paths = tiny_task.create_run(tmp_path / "paused", step_s=0.01, **PARAMS)
    process = start(paths)
    wait_until(lambda: last_step(paths) >= 9, what="step 9")
    ask(paths, Command.PAUSE)
    wait_until(lambda: phase_of(paths) == "paused", what="the pause")
    paused_at = last_step(paths)
    ask(paths, Command.CHECKPOINT)
    wait_until(
        lambda: any(one.step == paused_at for one in checkpoints.manifests(paths)),
        what="a checkpoint in the pause",
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    output = start(paths, attempt=2).output()
    undisturbed.wait()
    assert min(series(paths, "train/loss", attempt=2)) == paused_at + 1, output
    assert series(paths, "train/loss") == series(whole, "train/loss")
