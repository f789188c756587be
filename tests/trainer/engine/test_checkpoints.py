"""Checkpoints are whole or absent, verified before use, and never run code."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.engine.runs import ROOT, wait_until
from trainer.engine import checkpoints
from trainer.engine.checkpoints import CheckpointError, Manifest, NotEnoughSpace
from trainer.protocol.run_folder import RunPaths


def save(paths: RunPaths, step: int, *, best: bool = False, state: dict[str, Any] | None = None) -> Manifest:
    return checkpoints.write(
        paths,
        state if state is not None else {"weights": torch.arange(1000) + step, "step": step},
        step=step,
        epoch=0,
        metrics={"loss": 1.0, "worst": float("nan")},
        reason="schedule",
        best=best,
    )


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    manifest = save(paths, 500)
    assert manifest.file == "step_000500.pt"
    path = checkpoints.newest_verified(paths)
    assert path == paths.checkpoints / manifest.file
    assert path is not None
    assert torch.equal(checkpoints.load(path)["weights"], torch.arange(1000) + 500)
    (read,) = checkpoints.manifests(paths)
    assert (read.sha256, read.bytes, read.step) == (manifest.sha256, path.stat().st_size, 500)
    assert np.isnan(read.metrics["worst"])


def test_every_flipped_bit_and_every_missing_byte_is_noticed(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    manifest = save(paths, 1)
    path = paths.checkpoints / manifest.file
    content = path.read_bytes()
    chance = random.Random(0)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert checkpoints.problem_with(paths, manifest) == "has other content than was written (sha256)"
    for length in range(0, len(content), 512):
        path.write_bytes(content[:length])
        assert checkpoints.problem_with(paths, manifest) == f"has {length} bytes instead of {len(content)}"
    path.write_bytes(content)
    assert checkpoints.problem_with(paths, manifest) is None


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_it_used(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    for step in (1, 2, 3):
        save(paths, step)
    (paths.checkpoints / "step_000003.pt").write_bytes(b"zeros")
    (paths.checkpoints / "step_000002.pt").unlink()
    told: list[tuple[int, str]] = []
    path = checkpoints.newest_verified(paths, on_damage=lambda m, problem: told.append((m.step, problem)))
    assert path == paths.checkpoints / "step_000001.pt"
    assert [step for step, _ in told] == [3, 2]
    assert [manifest.step for manifest in checkpoints.manifests(paths)] == [1]
    assert (paths.checkpoints / "step_000003.pt.damaged").exists()


def test_a_file_without_a_manifest_is_no_checkpoint(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    save(paths, 1)
    save(paths, 2)
    (paths.checkpoints / "step_000002.json").unlink()
    assert checkpoints.newest_verified(paths) == paths.checkpoints / "step_000001.pt"
    (paths.checkpoints / "step_000001.json").write_text('{"step": ')
    assert checkpoints.newest_verified(paths) is None


def test_only_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    for step in range(1, 7):
        save(paths, step, best=step in (1, 2))
        checkpoints.prune(paths, keep=2)
    kept = checkpoints.manifests(paths)
    assert [(manifest.step, manifest.best) for manifest in kept] == [(2, True), (5, False), (6, False)]
    assert len(list(paths.checkpoints.iterdir())) == 6


def test_a_lost_best_mark_of_an_old_checkpoint_goes_when_a_better_one_comes(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    save(paths, 1, best=True)
    save(paths, 2, best=True)
    checkpoints.prune(paths, keep=5)
    assert [manifest.best for manifest in checkpoints.manifests(paths)] == [False, True]


def test_leftovers_of_interrupted_writes_are_removed(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    save(paths, 1)
    (paths.checkpoints / ".step_000002.pt.tmp").write_bytes(b"half")
    (paths.checkpoints / "step_000003.pt").write_bytes(b"renamed, but without its manifest")
    checkpoints.prune(paths, keep=2)
    assert sorted(path.name for path in paths.checkpoints.iterdir()) == ["step_000001.json", "step_000001.pt"]


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"rows": np.arange(3)}, r"checkpoint\['rows'\] is a ndarray"),
        ({"a": [1, {"b": np.float64(1.0)}]}, r"checkpoint\['a'\]\[1\]\['b'\] is a float64"),
        ({"path": Path()}, r"checkpoint\['path'\] is a PosixPath"),
    ],
)
def test_what_could_not_be_loaded_safely_is_not_written(
    tmp_path: Path, state: dict[str, Any], place: str
) -> None:
    with pytest.raises(CheckpointError, match=place):
        save(RunPaths(tmp_path), 1, state=state)
    assert checkpoints.manifests(RunPaths(tmp_path)) == []


class Evil:
    """Runs a command when unpickled by a careless reader."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.target),))


def test_loading_runs_no_code(tmp_path: Path) -> None:
    path = tmp_path / "step_000001.pt"
    torch.save({"weights": Evil(tmp_path / "owned")}, path)
    with pytest.raises(CheckpointError, match=r"step_000001\.pt: .*Remove it to resume from the one before"):
        checkpoints.load(path)
    assert not (tmp_path / "owned").exists()


def test_too_little_space_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = RunPaths(tmp_path)
    save(paths, 1)
    monkeypatch.setattr(checkpoints, "RESERVE_BYTES", 2**62)
    with pytest.raises(NotEnoughSpace, match=r"No space left on device for the checkpoint step_000002"):
        save(paths, 2)
    assert [manifest.step for manifest in checkpoints.manifests(paths)] == [1]
    assert len(list(paths.checkpoints.iterdir())) == 2


DISK_FULL_WHILE_WRITING = """
import resource, signal, sys, torch
from pathlib import Path
from trainer.engine import checkpoints
from trainer.protocol.run_folder import RunPaths
paths = RunPaths(Path(sys.argv[1]))
def save(step):
    state = {"weights": torch.zeros(100_000)}
    checkpoints.write(paths, state, step=step, epoch=0, metrics={}, reason="schedule", best=False)
save(1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
save(2)
"""


@pytest.mark.process
def test_a_disk_that_fills_up_while_writing_leaves_the_earlier_checkpoint_and_no_rubbish(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DISK_FULL_WHILE_WRITING, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "NotEnoughSpace: " in done.stderr
    assert "while writing a checkpoint. Free space there and resume the" in done.stderr
    paths = RunPaths(tmp_path)
    assert checkpoints.newest_verified(paths) == paths.checkpoints / "step_000001.pt"
    assert len(list(paths.checkpoints.iterdir())) == 2


KILLED_WHILE_WRITING = """
import sys, torch
from pathlib import Path
from trainer.engine import checkpoints
from trainer.protocol.run_folder import RunPaths
paths = RunPaths(Path(sys.argv[1]))
step = 0
while True:
    step += 1
    state = {"weights": torch.full((200_000,), step)}
    checkpoints.write(paths, state, step=step, epoch=0, metrics={}, reason="schedule", best=step % 3 == 0)
    checkpoints.prune(paths, keep=2)
"""


@pytest.mark.process
@pytest.mark.parametrize("trial", range(3))
def test_a_kill_at_any_moment_leaves_a_good_checkpoint(tmp_path: Path, trial: int) -> None:
    paths = RunPaths(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path)], cwd=ROOT)
    least = random.Random(trial).randint(2, 30)
    wait_until(
        lambda: any(manifest.step >= least for manifest in checkpoints.manifests(paths)), what="checkpoints"
    )
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    for manifest in checkpoints.manifests(paths):
        assert checkpoints.problem_with(paths, manifest) is None
        weights = checkpoints.load(paths.checkpoints / manifest.file)["weights"]
        assert weights.unique().tolist() == [manifest.step]
    assert checkpoints.newest_verified(paths) is not None
