"""Real runs whose training asks pinned and added probes: both timelines, known to a back-fill afterwards."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.backfill.small_runs import FEW_STEPS, SMALL_RUNS, write_dataset
from tests.waiting import wait_for
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.process

PINNED = {"two_tower": "pair_58", "text_classification": "58", "causal_lm": "20"}
ADDED = {
    "two_tower": {"input": "merge strings", "expected_output": "pair_3"},
    "text_classification": {"input": "salt the soup", "expected_output": "kitchen"},
    "causal_lm": {"input": "open_matrix(x)", "expected_output": "Open the matrix of x."},
}


def start(recipe: str, folder: Path, **changes: Any) -> subprocess.Popen[str]:
    """``trainer run`` of a small dataset in ``folder``, with its run in ``folder/run``."""
    params = {**SMALL_RUNS[recipe], **FEW_STEPS, "snapshot_budget": 1.0, **changes}
    command = [sys.executable, "-m", "trainer", "run", recipe, "--json", "--run-dir", str(folder / "run")]
    command += ["--dataset", str(write_dataset(recipe, folder))]
    command += [word for name, value in params.items() for word in ("--set", f"{name}={value}")]
    environ = {**os.environ, "SIGNALBOX_INSTANCE": str(folder), "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def timeline(folder: Path) -> dict[int, dict[str, Any]]:
    """The snapshots of a folder by step."""
    found = [json.loads(gzip.decompress(path.read_bytes())) for path in folder.glob("step_*.json.gz")]
    return {content["step"]: content for content in found}


def asked(content: dict[str, Any]) -> list[str]:
    return [example["example_id"] for example in content["probes"]["examples"]]


@pytest.mark.parametrize("recipe", SMALL_RUNS)
def test_a_run_with_pins_and_a_file_of_probes_makes_both_timelines(recipe: str, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(json.dumps(ADDED[recipe]))
    process = start(recipe, tmp_path, pinned_probes=PINNED[recipe], probe_file="new.jsonl")
    said, complaint = process.communicate(timeout=110)
    assert process.returncode == 0, said + complaint
    paths = RunPaths(tmp_path / "run")
    own, added = timeline(paths.snapshots), timeline(paths.snapshots / "added")
    assert sorted(own) == sorted(added) == [0, 10, 12]
    for step, content in own.items():
        assert PINNED[recipe] in asked(content)
        assert len(asked(content)) == SMALL_RUNS[recipe]["num_probes"]
        assert asked(added[step]) == ["added_0001"]
        assert added[step]["dataset"] == f"{content['dataset']} (added probes)"
        assert added[step]["columns"].keys() == content["columns"].keys()
    for words in ([], ["--probes", str(paths.root / "probes.jsonl")]):
        command = [
            sys.executable,
            "-m",
            "trainer",
            "snapshot",
            str(paths.root),
            "--json",
            "--checkpoint",
            "12",
        ]
        done = subprocess.run(
            [*command, *words], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
        )
        assert json.loads(done.stdout.splitlines()[-1])["report"]["known"] == [12], done.stdout + done.stderr


def test_a_run_is_not_begun_with_what_cannot_be_asked(tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(json.dumps({"input": "q", "expected_output": "no such label"}))
    process = start("text_classification", tmp_path, pinned_probes="1", probe_file="new.jsonl")
    _, complaint = process.communicate(timeout=110)
    assert process.returncode == 2
    assert "'1' is trained on" in complaint
    assert not (tmp_path / "run").exists()
    process = start("text_classification", tmp_path, probe_file="new.jsonl")
    _, complaint = process.communicate(timeout=110)
    assert process.returncode == 2
    assert "new.jsonl: row 1: expected_output 'no such label' is no label" in complaint


def test_a_probe_that_is_added_to_a_living_run_is_asked_from_the_next_snapshot_on(tmp_path: Path) -> None:
    process = start("two_tower", tmp_path, max_steps=100_000, checkpoint_every=1000, eval_every=50_000)
    paths = RunPaths(tmp_path / "run")
    try:
        wait_for(lambda: 25 in timeline(paths.snapshots), what="the snapshot of step 25")
        write_atomic(paths.root / "probes.jsonl", json.dumps(ADDED["two_tower"]).encode())
        before = max(timeline(paths.snapshots))
        wait_for(lambda: timeline(paths.snapshots / "added"), what="an answer to the added probe")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    own, added = timeline(paths.snapshots), timeline(paths.snapshots / "added")
    first = min(added)
    assert first >= before
    assert [step for step in sorted(own) if step >= first] == sorted(added)
