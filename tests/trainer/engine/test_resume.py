"""Killing, stopping and resuming real trainer processes: nothing reported is lost, the losses repeat."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.children import tiny_task
from tests.trainer.engine.runs import events, series, snapshot, start, train_here, wait_until
from trainer.engine import checkpoints
from trainer.protocol.events import Command
from trainer.protocol.run_folder import Heartbeat, RunPaths

pytestmark = pytest.mark.process

PARAMS: dict[str, Any] = {
    "num_epochs": 5,
    "accumulate": 2,
    "checkpoint_every": 4,
    "eval_every": 6,
    "warmup_steps": 5,
    "schedule": "cosine",
    "snapshot_budget": 1e9,
}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run nobody disturbed: 35 updates."""
    paths = tiny_task.create_run(tmp_path_factory.mktemp("whole") / "run", **PARAMS)
    process = start(paths)
    output = process.output()
    assert process.returncode == 0, output
    return paths


def last_step(paths: RunPaths, attempt: int) -> int:
    return max(series(paths, "train/loss", attempt=attempt), default=0)


def test_a_run_killed_at_random_steps_repeats_the_losses_bit_for_bit(
    uninterrupted: RunPaths, tmp_path: Path
) -> None:
    paths = tiny_task.create_run(tmp_path / "run", step_s=0.004, **PARAMS)
    chance = random.Random(0)
    attempt = 0
    for _ in range(3):
        attempt += 1
        kill_at = last_step(paths, attempt - 1) + chance.randint(1, 10)
        process = start(paths, attempt=attempt)
        wait_until(
            lambda: last_step(paths, attempt) >= kill_at or process.poll() is not None,  # noqa: B023 - used at once
            what=f"step {kill_at}",
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
    process = start(paths, attempt=attempt + 1)
    output = process.output()
    assert process.returncode == 0, output

    for name in ("train/loss", "train/grad_norm", "train/learning_rate", "eval/loss", "eval/accuracy"):
        expected = series(uninterrupted, name)
        for number in range(1, attempt + 2):
            reported = series(paths, name, attempt=number)
            assert {step: expected[step] for step in reported} == reported
        assert series(paths, name) == expected
    assert [event["seq"] for event in events(paths)] == list(range(1, len(events(paths)) + 1))
    assert {event["step"] for event in events(paths, "snapshot")} == {0, 10, 25, 35}
    assert snapshot(paths, 35)["columns"] == snapshot(uninterrupted, 35)["columns"]


def test_a_stopped_run_leaves_a_checkpoint_and_goes_on_from_it(
    uninterrupted: RunPaths, tmp_path: Path
) -> None:
    paths = tiny_task.create_run(tmp_path / "run", step_s=0.02, **PARAMS)
    process = start(paths)
    wait_until(lambda: last_step(paths, 1) >= 6, what="step 6")
    process.send_signal(signal.SIGTERM)
    output = process.output()
    assert process.returncode == 0, output
    (finished,) = events(paths, "finished")
    assert finished["reason"] == "stopped"
    assert checkpoints.manifests(paths)[-1].step == finished["step"] < 35

    output = start(paths, attempt=2).output()
    assert series(paths, "train/loss") == series(uninterrupted, "train/loss"), output
    assert min(series(paths, "train/loss", attempt=2)) == finished["step"] + 1


def test_a_damaged_checkpoint_is_passed_over_and_said_so(uninterrupted: RunPaths, tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", **{**PARAMS, "max_steps": 18, "keep_checkpoints": 3})
    tiny_task.create_run(paths.root, **PARAMS)  # the same run, now to its natural end
    newest, before = (manifest.file for manifest in reversed(checkpoints.manifests(paths)[-2:]))
    content = bytearray((paths.checkpoints / newest).read_bytes())
    content[len(content) // 2] ^= 1
    (paths.checkpoints / newest).write_bytes(content)

    process = start(paths, attempt=2)
    output = process.output()
    assert process.returncode == 0, output
    damaged, resumed = (event["text"] for event in events(paths, "alert") if event["attempt"] == 2)
    assert damaged.startswith(f"{newest} has other content than was written")
    assert resumed.startswith(before)
    assert max(series(paths, "train/loss", attempt=2)) == 35


def test_commands_in_the_control_folder_are_obeyed(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run", num_epochs=1000, step_s=0.005)
    process = start(paths)

    def ask(command: Command) -> None:
        (paths.control / command.value).touch()

    def beat() -> Heartbeat:
        found = Heartbeat.load(paths.heartbeat)
        assert found is not None
        return found

    wait_until(lambda: last_step(paths, 1) >= 1, what="the first step")
    ask(Command.CHECKPOINT)
    wait_until(lambda: bool(checkpoints.manifests(paths)), what="a checkpoint")
    assert checkpoints.manifests(paths)[-1].reason == "asked"

    ask(Command.PAUSE)
    wait_until(lambda: beat().phase == "paused", what="the pause")
    paused_at = last_step(paths, 1)
    known = len(events(paths, "snapshot"))
    ask(Command.SNAPSHOT)
    wait_until(lambda: len(events(paths, "snapshot")) > known, what="a snapshot in the pause")
    assert events(paths, "snapshot")[-1]["step"] == paused_at == last_step(paths, 1)

    ask(Command.RESUME)
    wait_until(lambda: last_step(paths, 1) > paused_at, what="the next step")
    ask(Command.STOP)
    output = process.output()
    assert process.returncode == 0, output
    assert events(paths, "finished")[-1]["reason"] == "stopped"
    assert list(paths.control.iterdir()) == []


def test_a_run_that_has_ended_ends_again_when_resumed(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=1)
    process = start(paths, attempt=2)
    output = process.output()
    assert process.returncode == 0, output
    assert [event["step"] for event in events(paths, "finished")] == [13, 13]


def test_a_checkpoint_of_another_model_is_refused_in_words(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=1)
    path = paths.checkpoints / checkpoints.manifests(paths)[-1].file
    state = checkpoints.load(path)
    del state["modules"]["bag"]
    checkpoints.write(paths, state, step=13, epoch=1, metrics={}, reason="final", best=False)
    process = start(paths, attempt=2)
    output = process.output()
    assert process.returncode == 1
    assert "CheckpointError: " in output
    assert "does not fit this run's model or parameters: it holds the modules ['head']" in output
