"""Where an attempt goes on, and that a stranger is never taken for a survivor."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import psutil

from trainer.protocol.process_identity import ProcessIdentity
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.recovery import (
    forget_set_aside,
    last_attempt,
    process_record,
    resume_step,
    set_aside_checkpoints,
    survivors,
)
from trainer.supervisor.tree import identity_of


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


def test_of_checkpoints_set_aside_the_newest_stays_until_a_good_end(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.checkpoints.mkdir()
    for step in (5, 10, 15, 20):
        for suffix in ("json", "pt"):
            (paths.checkpoints / f"step_{step:06d}.{suffix}").write_text("x")
    set_aside_checkpoints(paths, after_step=15)
    set_aside_checkpoints(paths, after_step=5)
    names = sorted(path.name for path in paths.checkpoints.iterdir())
    assert names == [
        "step_000005.json",
        "step_000005.pt",
        "step_000020.json.skipped",
        "step_000020.pt.skipped",
    ]
    forget_set_aside(paths)
    assert sorted(path.name for path in paths.checkpoints.iterdir()) == names[:2]


def test_attempts_are_counted_by_their_folders(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    assert last_attempt(paths) == 0
    paths.attempt(1).mkdir(parents=True)
    paths.attempt(12).mkdir(parents=True)
    assert last_attempt(paths) == 12


def write_record(paths: RunPaths, identity: ProcessIdentity) -> None:
    paths.attempt(1).mkdir(parents=True)
    process_record(paths, 1).write_text(json.dumps(asdict(identity)))


def test_a_reused_pid_is_no_survivor(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    write_record(paths, replace(identity_of(psutil.Process()), create_time=1.0, start_ticks=1))
    assert survivors(paths) == []


def test_a_trainer_of_an_earlier_boot_is_no_survivor(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    write_record(paths, replace(identity_of(psutil.Process()), boot_id="another boot"))
    assert survivors(paths) == []


def test_a_survivor_is_known_although_somebody_set_the_clock(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    us = identity_of(psutil.Process())
    write_record(paths, replace(us, create_time=us.create_time - 3600.0))
    assert [process.pid for process in survivors(paths)] == ([os.getpid()] if us.start_ticks else [])
