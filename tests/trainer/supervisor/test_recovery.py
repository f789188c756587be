"""Where an attempt goes on, and that a stranger is never taken for a survivor."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import psutil

from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.process import ProcessRecord
from trainer.supervisor.recovery import last_attempt, process_record, resume_step, survivors


def checkpoint(paths: RunPaths, step: int, *, damaged: bool = False) -> None:
    paths.checkpoints.mkdir(exist_ok=True)
    content = b"weights of step %d" % step
    name = f"step_{step:06d}.pt"
    said = {"file": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "step": step}
    (paths.checkpoints / f"step_{step:06d}.json").write_text(json.dumps(said))
    (paths.checkpoints / name).write_bytes(content[::-1] if damaged else content)


def test_a_run_without_checkpoints_begins_at_step_0(tmp_path: Path) -> None:
    assert resume_step(RunPaths(tmp_path)) == 0


def test_the_newest_whole_checkpoint_is_where_the_next_attempt_begins(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    checkpoint(paths, 100)
    checkpoint(paths, 250)
    checkpoint(paths, 500, damaged=True)
    (paths.checkpoints / "step_000600.json").write_text("not json")
    assert resume_step(paths) == 250


def test_attempts_are_counted_by_their_folders(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    assert last_attempt(paths) == 0
    paths.attempt(1).mkdir(parents=True)
    paths.attempt(12).mkdir(parents=True)
    assert last_attempt(paths) == 12


def test_a_reused_pid_is_no_survivor(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.attempt(1).mkdir(parents=True)
    ours = psutil.Process()
    ProcessRecord(os.getpid(), ours.create_time() - 100.0).save(process_record(paths, 1))
    assert survivors(paths) == []
