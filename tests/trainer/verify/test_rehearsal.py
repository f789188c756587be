"""The rehearsal for real, on a small corpus; what breaks is told, and nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.architecture.sources import ROOT
from tests.trainer.verify.corpus import small_corpus
from tests.waiting import wait_for
from trainer.preflight.spool_times import LOSS, events_of
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, segments
from trainer.verify import proofs
from trainer.verify.plan import STAGES

pytestmark = pytest.mark.process


def command(instance: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "trainer", "verify", "--json", "--instance", str(instance), *words]


def processes_of(instance: Path) -> list[int]:
    """Pids of processes that name the folder on their command line."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(instance) in word for word in process.info["cmdline"] or [])
    ]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The lines of one rehearsal that passed and was kept, and its report."""
    instance = tmp_path_factory.mktemp("rehearsal")
    small_corpus(instance / "datasets")
    done = subprocess.run(command(instance, "--keep"), cwd=ROOT, capture_output=True, text=True, timeout=110)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert processes_of(instance) == []
    return lines, lines[-1]


Kept = tuple[list[dict[str, Any]], dict[str, Any]]


def test_every_stage_is_told_as_it_passes_and_the_report_comes_last(kept: Kept) -> None:
    lines, report = kept
    names = [stage.id for stage in STAGES]
    assert [stage["id"] for stage in lines[0]["order"]] == names
    assert [line["stage"]["id"] for line in lines[1:-1]] == names
    assert report["verdict"] == "ok"
    found = {stage["id"]: stage["found"] for stage in report["stages"]}
    assert "with mining, 2 FAISS evaluations" in found["train"]
    assert "SIGKILL at step" in found["kill"]
    assert "bit for bit" in found["resume"]


def test_one_loss_that_differs_in_its_last_bit_is_found(kept: Kept, tmp_path: Path) -> None:
    folder = Path(kept[1]["folder"])
    whole, broken = RunPaths(folder / "whole"), RunPaths(folder / "broken")
    count = proofs.same_numbers(whole, broken)
    assert count == proofs.last_step(whole)
    (segment,) = segments(whole.spool(Stream.TRAINER))
    lines = segment.read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    number = next(n for n, one in enumerate(events) if one["type"] == "metrics" and one["step"] == 9)
    event = events[number]
    event["values"][LOSS] = event["values"][LOSS] * (1 + 2**-52)
    lines[number] = json.dumps(event)
    copied = RunPaths(tmp_path / "copy")
    copied.spool(Stream.TRAINER).mkdir(parents=True)
    (copied.spool(Stream.TRAINER) / segment.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(proofs.Disproved, match="the loss of step 9 is"):
        proofs.same_numbers(copied, broken)


def test_a_snapshot_that_is_missing_and_a_damaged_checkpoint_are_found(kept: Kept) -> None:
    paths = RunPaths(Path(kept[1]["folder"]) / "whole")
    counts = proofs.went_through_everything(paths)
    assert min(counts.values()) > 0
    checkpoint = next(paths.checkpoints.glob("*.pt"))
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1] + b"?")
    with pytest.raises(proofs.Disproved, match="is not what its manifest says"):
        proofs.went_through_everything(paths)
    for snapshot in paths.snapshots.iterdir():
        snapshot.unlink()
    with pytest.raises(proofs.Disproved, match="finished without snapshots"):
        proofs.went_through_everything(paths)
    assert any(event["type"] == "snapshot" for event in events_of(paths))


def test_a_limit_that_passes_breaks_the_stage_and_the_exit_code_says_so(tmp_path: Path) -> None:
    small_corpus(tmp_path / "datasets")
    done = subprocess.run(
        command(tmp_path, "--limit", "1"), cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    report = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 1
    (broken,) = [stage for stage in report["stages"] if stage["verdict"] == "problem"]
    assert "time limit" in broken["found"]
    assert [path.name for path in tmp_path.iterdir()] == ["datasets"]
    assert processes_of(tmp_path) == []


def test_ending_it_ends_its_runs_and_removes_its_folder(tmp_path: Path) -> None:
    small_corpus(tmp_path / "datasets")
    with subprocess.Popen(command(tmp_path), cwd=ROOT, stdout=subprocess.PIPE) as process:
        wait_for(lambda: list(tmp_path.glob("verify-*/*/heartbeat.json")), what="a trainer at work")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["datasets"]
    wait_for(lambda: not processes_of(tmp_path), what="end of its processes")


def test_a_killed_rehearsal_takes_its_runs_with_it_and_the_next_one_clears_up(tmp_path: Path) -> None:
    small_corpus(tmp_path / "datasets")
    with subprocess.Popen(command(tmp_path), cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: list(tmp_path.glob("verify-*/*/heartbeat.json")), what="a trainer at work")
        process.kill()
    wait_for(lambda: not processes_of(tmp_path), what="end of its processes")
    assert list(tmp_path.glob("verify-*"))
    subprocess.run(command(tmp_path, "--limit", "1"), cwd=ROOT, capture_output=True, timeout=100)
    assert not list(tmp_path.glob("verify-*"))


def test_a_wrong_limit_is_wrong_use(tmp_path: Path) -> None:
    environ = os.environ | {"SIGNALBOX_INSTANCE": str(tmp_path)}
    done = subprocess.run(
        command(tmp_path, "--limit", "0"), cwd=ROOT, env=environ, capture_output=True, timeout=60
    )
    assert done.returncode == 2
