"""Two real processes that train one run: killed, broken, hung, stopped and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.children import tiny_task
from tests.trainer.engine.runs import series
from tests.trainer.supervisor.supervised import ROOT, STARTED, events, finish, wait_until
from trainer.protocol.events import Stream
from trainer.protocol.rank_files import rank_paths
from trainer.protocol.run_folder import ExitRecord, Heartbeat, RunPaths, RunSpec
from trainer.supervisor.tree import marked

pytestmark = [pytest.mark.process, pytest.mark.timeout(400)]  # each start loads torch three times

PARAMS: dict[str, Any] = {"num_epochs": 2, "checkpoint_every": 2, "snapshot_budget": 0.0, "nproc": 2}


def new_run(root: Path, *, stall_after_s: float | None = None, **params: Any) -> RunPaths:
    paths = tiny_task.create_run(root, **PARAMS, **params)
    policy: dict[str, Any] = {"max_attempts": 1}
    if stall_after_s is not None:
        policy["stall_after_s"] = stall_after_s
    replace(RunSpec.load(paths), policy=policy).save(paths)
    return paths


def start(paths: RunPaths) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.children.supervisor_of_ranks", str(paths.root)]
    with paths.supervisor_log.open("ab") as log:
        supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
    STARTED.append(supervisor)
    return supervisor


def supervise(paths: RunPaths) -> ExitRecord:
    return finish(start(paths), paths, timeout_s=180)


def reached(paths: RunPaths, step: int, attempt: int = 1) -> None:
    wait_until(lambda: max(series(paths, "train/loss", attempt=attempt), default=0) >= step, timeout_s=120)


def pid_of(paths: RunPaths, rank: int, attempt: int = 1) -> int:
    beat = Heartbeat.load(rank_paths(paths, attempt, rank).heartbeat if rank else paths.heartbeat)
    assert beat is not None
    return beat.pid


def nobody_is_left(paths: RunPaths) -> bool:
    return not marked(str(paths.root))


def test_two_ranks_that_are_killed_repeat_the_losses_of_undisturbed_ones(tmp_path: Path) -> None:
    whole = new_run(tmp_path / "whole")
    assert supervise(whole).state == "finished"
    assert {rank_paths(whole, 1, rank).output.exists() for rank in (0, 1)} == {True}
    assert "[rank 1]" not in rank_paths(whole, 1, 1).output.read_text()
    expected = series(whole, "train/loss")
    assert len(expected) == 14  # 13 batches an epoch, two of them a step

    paths = new_run(tmp_path / "run", step_s=0.05)
    supervisor = start(paths)
    reached(paths, 4)
    os.kill(pid_of(paths, 1), signal.SIGKILL)
    record = finish(supervisor, paths, timeout_s=120)
    assert (record.state, record.exit_signal) == ("failed", signal.SIGKILL)
    assert record.reason == "rank 1 of 2 was killed by SIGKILL (signal 9)"
    assert record.findings[0]["cause"].startswith("Rank 1 was killed by SIGKILL (signal 9). ")
    assert nobody_is_left(paths)

    supervisor = start(paths)
    reached(paths, 9, attempt=2)
    for process in (one for one in marked(str(paths.root)) if one.pid != supervisor.pid):
        process.kill()
    finish(supervisor, paths, timeout_s=120)
    assert supervise(paths).state == "finished"
    assert series(paths, "train/loss") == expected
    assert series(paths, "train/grad_norm") == series(whole, "train/grad_norm")


def test_an_exception_in_a_rank_is_the_cause_and_what_torchrun_says_of_it_is_not(tmp_path: Path) -> None:
    paths = new_run(tmp_path / "run", habit="raises")
    record = supervise(paths)
    assert (record.state, record.exit_code) == ("failed", 1)
    assert record.reason == "rank 1 of 2 ended with exit code 1"
    first = record.findings[0]
    assert first["cause"].startswith("Rank 1 stopped with ValueError: the fourth batch is bad. ")
    assert "child_failed" not in [finding["id"] for finding in record.findings]
    assert "[rank 1] " in paths.output(1).read_text()
    assert nobody_is_left(paths)


def test_a_suspended_rank_is_named_and_a_stop_reaches_all(tmp_path: Path) -> None:
    paths = new_run(tmp_path / "run", step_s=0.05, max_steps=10_000)
    supervisor = start(paths)
    reached(paths, 3)
    psutil.Process(pid_of(paths, 1)).suspend()
    wait_until(lambda: _stalls(paths), timeout_s=60)
    stall = _stalls(paths)[-1]
    assert stall["verdict"] == "stopped"
    assert stall["text"].startswith("rank 1 is suspended from outside")
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths, timeout_s=120)
    assert (record.state, record.exit_code) == ("stopped", 0)
    assert (paths.checkpoints / f"step_{record.step:06d}.pt").exists()
    assert nobody_is_left(paths)


def test_a_rank_that_waits_for_ever_is_found_by_the_stacks_of_all(tmp_path: Path) -> None:
    paths = new_run(tmp_path / "run", habit="waits", stall_after_s=2)
    supervisor = start(paths)
    wait_until(lambda: _told(paths, "stacks"), timeout_s=120)
    stacks = _told(paths, "stacks")[-1]
    assert "Rank 0:" in stacks["text"]
    assert "rank_that.py" in stacks["frame"]
    wait_until(lambda: any("Rank 1 stands in" in event["reason"] for event in _told(paths, "state")))
    supervisor.send_signal(signal.SIGQUIT)
    finish(supervisor, paths, timeout_s=60)
    assert nobody_is_left(paths)


def _told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == kind]


def _stalls(paths: RunPaths) -> list[dict[str, Any]]:
    return [event for event in _told(paths, "stall") if event["what"] == "began"]
