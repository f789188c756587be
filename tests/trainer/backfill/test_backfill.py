"""A real run of each kind, whose kept checkpoints are asked again: what they say is what they said then."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.backfill.small_runs import SMALL_RUNS, train_small
from trainer.engine.manifests import manifests
from trainer.protocol.run_folder import RunPaths

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.process

ADDED = {  # of each recipe: what is added, and what the first row must be like
    "two_tower": [
        {"input": "a question nobody asked", "expected_output": "DOCUMENT"},
        {"input": "another", "expected_output": "DOCUMENT", "group": "mine", "example_id": "own-name"},
    ],
    "text_classification": [{"input": "a text nobody wrote", "expected_output": "LABEL"}],
    "causal_lm": [{"input": "def sum(values):", "expected_output": "Add them up."}],
}
OF_ONE_RECIPE = pytest.mark.parametrize("trained", ["two_tower"], indirect=True)  # all go the same way


@pytest.fixture(scope="session", params=SMALL_RUNS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    return train_small(str(request.param), tmp_path_factory.mktemp("backfill"))


@pytest.fixture
def run_copy(trained: RunPaths, tmp_path: Path) -> RunPaths:
    shutil.copytree(trained.root, tmp_path / "run")
    return RunPaths(tmp_path / "run")


def ask(paths: RunPaths, *words: str, code: int = 0) -> list[dict[str, Any]]:
    """Run the command; what it said, line by line."""
    command = [sys.executable, "-m", "trainer", "snapshot", str(paths.root), "--json", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return content


def first_expected(paths: RunPaths) -> str:
    """What the first own probe expects."""
    return str(read(next(paths.snapshots.glob("step_*.gz")))["probes"]["examples"][0]["expected_output"])


def write_added(paths: RunPaths) -> Path:
    recipe = json.loads(paths.spec.read_text())["recipe"]
    known = first_expected(paths)
    rows = [
        {**row, "expected_output": row["expected_output"].replace("DOCUMENT", known).replace("LABEL", known)}
        for row in ADDED[recipe]
    ]
    path = paths.root / "probes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_own_probes_get_the_answers_of_that_time(run_copy: RunPaths) -> None:
    last = manifests(run_copy)[-1]
    before = read(run_copy.snapshots / f"step_{last.step:06d}.json.gz")
    assert ask(run_copy, "--checkpoint", "last")[-1] == {
        "report": {"asked": [], "known": [last.step], "gone": [], "undelivered": []}
    }
    shutil.rmtree(run_copy.snapshots)
    said = ask(run_copy)
    assert said[-1]["report"]["asked"] == [one.step for one in manifests(run_copy)][::-1]
    after = read(run_copy.root / "backfill" / "own" / "snapshots" / f"step_{last.step:06d}.json.gz")
    assert after["probe_set"] == before["probe_set"]
    assert after["outputs"] == before["outputs"]
    assert after["columns"]["loss"] == pytest.approx(before["columns"]["loss"], rel=1e-4)
    assert after["model_version"] == f"{before['model_version']} back-filled"
    assert not run_copy.snapshots.exists()  # the trainer's own folder is not written to
    assert ask(run_copy)[-1]["report"]["asked"] == []


def test_added_probes_are_a_set_of_their_own(run_copy: RunPaths) -> None:
    path = write_added(run_copy)
    said = ask(run_copy, "--probes", str(path))
    steps = said[-1]["report"]["asked"]
    assert len(steps) >= 2
    found = read(run_copy.root / "backfill" / "added" / "snapshots" / f"step_{steps[0]:06d}.json.gz")
    own = read(run_copy.snapshots / f"step_{steps[0]:06d}.json.gz")
    assert found["dataset"] == f"{own['dataset']} (added probes)"
    assert found["columns"].keys() == own["columns"].keys()
    assert found["probes"]["examples"][0]["example_id"] == "added_0001"
    assert found["probes"]["examples"][0]["expected_output"] == first_expected(run_copy) or (
        own["task"] == "language_model"
    )
    assert found["summary"]["total_examples"] == len(path.read_text().splitlines())


def test_a_probe_of_an_unknown_answer_is_refused_with_its_row(run_copy: RunPaths) -> None:
    path = run_copy.root / "probes.jsonl"
    text = "word " * 5_000 if "causal" in run_copy.spec.read_text() else "hello"
    path.write_text("\n" + json.dumps({"input": text, "expected_output": "no such thing"}) + "\n")
    (error,) = [word["error"] for word in ask(run_copy, "--probes", str(path), code=2) if "error" in word]
    assert "row 1" in error["message"]
    path.write_text('{"input": "a", "expected_output": "b"}\n{"input": "a"')
    assert ask(run_copy, "--probes", str(path), code=2) == []


@OF_ONE_RECIPE
def test_what_is_damaged_or_gone_is_told_and_the_others_are_asked(run_copy: RunPaths) -> None:
    shutil.rmtree(run_copy.snapshots)
    damaged = manifests(run_copy)[0]
    (run_copy.checkpoints / damaged.file).write_bytes(b"nonsense")
    report = ask(run_copy)[-1]["report"]
    assert report["gone"] == [damaged.step]
    assert len(report["asked"]) == len(manifests(run_copy)) - 1


@OF_ONE_RECIPE
def test_a_killed_job_leaves_nothing_half_done(run_copy: RunPaths) -> None:
    shutil.rmtree(run_copy.snapshots)
    command = [sys.executable, "-m", "trainer", "snapshot", str(run_copy.root), "--json"]
    job = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
    assert job.stdout is not None
    for line in job.stdout:
        if b'"snapshot"' in line:
            break
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    job.stdout.close()
    folder = run_copy.root / "backfill" / "own" / "snapshots"
    done = {path.name for path in folder.glob("step_*")}
    assert done
    for name in done:
        assert read(folder / name)["summary"]["total_examples"] > 0
    report = ask(run_copy)[-1]["report"]
    assert len(report["asked"]) + len(report["known"]) == len(manifests(run_copy))
    assert report["known"]
    assert not list(folder.glob(".*"))
