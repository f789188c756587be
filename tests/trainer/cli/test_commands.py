"""The command line as people type it: real processes, clear refusals, one JSON object at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.supervisor.supervised import (
    ROOT,
    finish,
    new_run,
    start,
    steps_reported,
    trainer_pid,
    wait_until,
)
from trainer.protocol.run_folder import RunPaths, RunSpec

pytestmark = pytest.mark.process


def trainer(*arguments: str, instance: Path) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"SIGNALBOX_INSTANCE": str(instance)}
    command = [sys.executable, "-m", "trainer", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=110)


def pairs(tmp_path: Path) -> Path:
    """A tiny dataset anybody could have written."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"query": f"word{n} thing{n % 7}", "document": f"about word{n} and more", "group": str(n % 20)}
        for n in range(200)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


QUICK = ["--set", "max_steps=6", "--set", "batch_size=16", "--set", "dim=16", "--set", "num_buckets=1024"]


def test_a_headless_run_trains_and_its_last_line_is_its_result(tmp_path: Path) -> None:
    dataset = str(pairs(tmp_path))
    own = [
        "--env",
        "HF_TOKEN=hf_secret",
        "--env",
        "FAISS_NUM_THREADS=1",
        "--on-stall",
        "stop",
        "--stall-after",
        "90",
    ]
    done = trainer("run", "two_tower", "--dataset", dataset, *QUICK, *own, "--json", instance=tmp_path / "i")
    assert done.returncode == 0, done.stderr
    assert "warning: --env FAISS_NUM_THREADS" in done.stderr
    assert "hf_secret" not in done.stderr + done.stdout
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["state"], result["exit_code"], result["steps"]) == ("finished", 0, 6)
    assert result["metrics"]["last"]["train/loss"] > 0
    assert result["findings"] == []
    assert [line for line in done.stderr.splitlines() if line.startswith(("GO", "NO-GO: "))]
    assert (result["attempts"], result["rungs"]) == (1, [])
    paths = RunPaths(Path(result["run_dir"]))
    assert paths.root.parent == tmp_path / "i" / "runs"
    assert RunSpec.load(paths).policy == {"on_stall": "stop", "stall_after_s": 90.0}
    variables = {one["name"]: one for one in json.loads(paths.environment(1).read_text())["variables"]}
    assert variables["FAISS_NUM_THREADS"]["source"] == "yours"
    assert [
        path for path in paths.root.rglob("*") if path.is_file() and b"hf_secret" in path.read_bytes()
    ] == [paths.spec]
    again = trainer("run", "two_tower", "--run-dir", str(paths.root), "--dataset", dataset, instance=tmp_path)
    assert again.returncode == 2
    assert "--resume" in again.stderr


def test_a_headless_run_is_tried_again_with_a_line_for_the_person_who_watches(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / "run")
    command = ["run", "two_tower", "--dataset", str(pairs(tmp_path)), *QUICK]
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", *command, "--run-dir", str(paths.root), "--json"],
        cwd=ROOT,
        env=os.environ | {"SIGNALBOX_INSTANCE": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until((paths.attempt(1) / "process.json").exists)
        os.kill(trainer_pid(paths), signal.SIGKILL)
        out, err = process.communicate(timeout=110)
    finally:
        process.kill()
    result = json.loads(out.splitlines()[-1])
    assert (process.returncode, result["state"], result["attempts"]) == (0, "finished", 2), err
    assert [rung["rung"] for rung in result["rungs"]] == ["restart"]
    assert "attempt 2 of 3 in 1 s: the same again, because the trainer was ended by SIGKILL" in err


def test_a_run_that_has_begun_keeps_its_profile_and_says_so(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / "run")
    RunSpec("run", "a run", "two_tower", "python_docs", {}, 0.0, str(tmp_path)).save(paths)
    before = sorted(tmp_path.rglob("*"))
    command = ["run", "two_tower", "--run-dir", str(paths.root), "--resume", "--profile", "safe"]
    done = trainer(*command, instance=tmp_path)
    assert done.returncode == 2
    assert "has begun with the profile auto" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_failed_run_shows_the_last_lines_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("this is not json\n")
    refused = trainer("run", "two_tower", "--dataset", str(bad), "--json", instance=tmp_path)
    assert (refused.returncode, (tmp_path / "runs").exists()) == (2, False)
    assert "bad.jsonl, line 1: is not JSON" in refused.stderr
    assert "--force starts it anyway" in refused.stderr
    done = trainer("run", "two_tower", "--dataset", str(bad), "--json", "--force", instance=tmp_path)
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["state"], result["exit_code"]) == (1, "failed", 1)
    assert "bad.jsonl" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["two_towr", "--dataset", "python_docs"],
            "RECIPE: no recipe 'two_towr'; there is two_tower, text_classification, causal_lm",
        ),
        (["two_tower"], "--dataset: which one? built in: python_docs"),
        (
            ["two_tower", "--dataset", "nowhere.csv"],
            "--dataset: 'nowhere.csv' is neither a file nor built in",
        ),
        (["two_tower", "--dataset", "python_docs", "--set", "dim=5"], "--set dim:"),
        (["two_tower", "--dataset", "python_docs", "--set", "magic=5"], "--set magic:"),
        (["two_tower", "--dataset", "python_docs", "--set", "dim"], "must be NAME=VALUE"),
        (["two_tower", "--dataset", "python_docs", "--preset", "x"], "--preset: two_tower has no 'x'"),
        (["two_tower", "--dataset", "python_docs", "--resume"], "--resume: name the run"),
        (["two_tower", "--run-dir", "nowhere", "--resume"], "nowhere is not a run folder"),
        (["two_tower", "--dataset", "python_docs", "--env", "LD_PRELOAD=x"], "--env LD_PRELOAD: cannot be"),
        (["two_tower", "--dataset", "python_docs", "--env", "A"], "--env: must be NAME=VALUE"),
        (["two_tower", "--dataset", "python_docs", "--env", "A=1", "--env", "A=2"], "--env A: is set twice"),
        (
            ["two_tower", "--dataset", "python_docs", "--max-attempts", "0"],
            "--max-attempts: must be 1 to 20 (a whole number of attempts), got 0",
        ),
        (
            ["two_tower", "--dataset", "python_docs", "--on-stall", "x"],
            "--on-stall: must be one of report, stop",
        ),
        (
            ["two_tower", "--dataset", "python_docs", "--on-stall", "retry", "--max-attempts", "1"],
            "--on-stall: 'retry' starts a run again that hangs, and max_attempts 1 never does",
        ),
        (
            ["two_tower", "--dataset", "python_docs", "--retry-after", "soon"],
            "--retry-after: must be 1 to 604800",
        ),
        (
            ["two_tower", "--dataset", "python_docs", "--stall-after", "0"],
            "--stall-after: must be 1 to 604800",
        ),
        (
            ["two_tower", "--dataset", "python_docs", "--profile", "safe", "--set", "device=mps"],
            "--profile: profile 'safe' trains on the CPU",
        ),
    ],
)
def test_a_wrong_command_line_names_the_field_and_starts_nothing(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = trainer("run", *arguments, instance=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_recipes_are_listed_without_loading_torch(tmp_path: Path) -> None:
    done = trainer("recipes", "--json", instance=tmp_path)
    names = [recipe["name"] for recipe in json.loads(done.stdout)["recipes"]]
    assert "two_tower" in names
    code = (
        "import sys, trainer.__main__; print(sorted({'torch', 'faiss', 'transformers'} & set(sys.modules)))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert loaded.strip() == "[]"


def test_datasets_are_listed_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    assert "python_docs" in trainer("datasets", instance=tmp_path).stdout
    refused = trainer("datasets", "--build", "nothing", instance=tmp_path)
    assert refused.returncode == 2
    assert "no dataset 'nothing'; there is python_docs" in refused.stderr


def test_stop_ends_a_run_and_says_how_it_ended(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    try:
        wait_until(lambda: steps_reported(paths) > 5)
        done = trainer("stop", str(paths.root), instance=tmp_path)
    finally:
        supervisor.send_signal(signal.SIGTERM)
        finish(supervisor, paths)
    assert (done.returncode, done.stdout[:8]) == (0, "stopped:")
    assert trainer("stop", str(paths.root), instance=tmp_path).returncode == 1


def test_commands_on_something_that_is_no_run_say_so(tmp_path: Path) -> None:
    for command in ("supervise", "drain", "stop"):
        done = trainer(command, str(tmp_path), instance=tmp_path)
        assert done.returncode == 2
        assert "is not a run folder" in done.stderr


def test_draining_a_headless_run_is_refused(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    done = trainer("drain", str(paths.root), instance=tmp_path)
    assert done.returncode == 2
    assert "belongs to no dashboard" in done.stderr


def test_a_reader_that_has_enough_is_no_error_worth_a_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "trainer", "recipes", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
