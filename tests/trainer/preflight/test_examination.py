"""The checks in their process: one that dies or hangs is a finding, and the others are still made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.trainer.preflight.questions import one, pairs, question, verdicts
from trainer.environment.doctor.check import Verdict
from trainer.preflight.asking import ask_light_checks
from trainer.preflight.examination import examine
from trainer.preflight.measuring import measure
from trainer.preflight.question import Question
from trainer.preflight.smoke import smoke_run

pytestmark = pytest.mark.process


def broken(folder: Path, dataset: str) -> Question:
    """A run of a recipe whose own suspicions come to grief."""
    asked = question(folder, dataset)
    return replace(asked, declaration="tests.children.probes.broken_preflight:BROKEN")


def test_a_check_that_crashes_is_a_finding_and_those_behind_it_are_made(tmp_path: Path) -> None:
    answers = ask_light_checks(broken(tmp_path, "x"))
    crashed = one(answers.checks, "crashes")
    assert crashed.verdict is Verdict.PROBLEM
    assert "SIGSEGV" in crashed.found
    assert any("in _crash" in line for line in crashed.details["lines"])
    assert one(answers.checks, "fine").verdict is Verdict.OK
    assert one(answers.checks, "dataset").found == "read"
    assert answers.outlook is not None


def test_a_check_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    answers = ask_light_checks(broken(tmp_path, "hangs"), limit_s=3.0)
    assert "hung" in one(answers.checks, "hangs").found
    assert one(answers.checks, "fine").verdict is Verdict.OK


def test_a_dataset_that_kills_its_reader_is_red(tmp_path: Path) -> None:
    answers = ask_light_checks(broken(tmp_path, "kills"))
    assert verdicts(answers.checks) == {"dataset": Verdict.PROBLEM}
    assert answers.outlook is None


def test_the_command_judges_and_its_exit_code_is_its_verdict(tmp_path: Path) -> None:
    path = pairs(tmp_path / "p.jsonl")

    def preflight(*words: str) -> tuple[int, dict[str, dict[str, str]]]:
        command = [sys.executable, "-m", "trainer", "preflight", "two_tower", "--json", *words]
        environ = os.environ | {"SIGNALBOX_INSTANCE": str(tmp_path / "i")}
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, {check["id"]: check for check in json.loads(done.stdout)["checks"]}

    code, checks = preflight("--dataset", str(path), "--set", "batch_size=16", "--set", "device=cpu")
    assert (code, checks["steps"]["verdict"], checks["device"]["found"]) == (0, "ok", "Cpu.")
    code, checks = preflight("--dataset", str(path))
    assert (code, checks["steps"]["verdict"]) == (1, "problem")
    code, checks = preflight("--dataset", str(path), "--set", "dim=-5")
    assert (code, checks["parameters"]["verdict"]) == (1, "problem")
    assert "dim: " in checks["parameters"]["found"]
    code, checks = preflight("--dataset", str(tmp_path / "gone.jsonl"))
    assert (code, checks["dataset"]["verdict"]) == (1, "problem")
    assert not (tmp_path / "i").exists(), "looking leaves nothing behind"


def test_a_smoke_run_measures_and_leaves_nothing_behind(tmp_path: Path) -> None:
    asked = question(tmp_path, pairs(tmp_path / "p.jsonl"), mined_negatives=1)
    before = examine(asked)
    assert before.outlook is not None
    after = measure(asked, before, environment={})
    smoke = one(after.checks, "smoke")
    assert smoke.verdict is Verdict.OK, smoke
    assert smoke.details["steps"] == 6
    assert after.outlook is not None
    assert after.outlook.pace is not None
    assert after.outlook.pace.step_s > 0
    assert 100 * 2**20 < after.outlook.memory_bytes < 2 * before.outlook.memory_bytes
    assert after.outlook.checkpoint_bytes == pytest.approx(before.outlook.checkpoint_bytes, rel=0.5)
    assert "as the smoke run measured" in one(after.checks, "duration").found
    assert "takes about" not in one(after.checks, "memory").found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["datasets", "p.jsonl"]


def test_a_smoke_run_that_dies_is_diagnosed(tmp_path: Path) -> None:
    path = pairs(tmp_path / "p.jsonl")
    asked = question(tmp_path, path)
    known = examine(asked).outlook
    assert known is not None
    path.write_text("this is not json\n")
    run = smoke_run(asked, known)
    assert run.check.verdict is Verdict.PROBLEM
    assert run.check.details["findings"][0] == "dataset_refused"
    assert run.check.remedy
    assert any("line 1: is not JSON" in line for line in run.check.details["lines"])


def test_a_smoke_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    asked = question(tmp_path, pairs(tmp_path / "p.jsonl"))
    known = examine(asked).outlook
    assert known is not None
    run = smoke_run(asked, known, limit_s=0.2)
    assert run.check.verdict is Verdict.WARNING
    assert "ended after 0.2 s with 0 steps done" in run.check.found
    assert list(tmp_path.glob("smoke-*")) == []


def test_nothing_is_trained_where_something_is_red_already(tmp_path: Path) -> None:
    asked = question(tmp_path, pairs(tmp_path / "p.jsonl"), batch_size=500)
    assert one(measure(asked, examine(asked), environment={}).checks, "smoke").verdict is Verdict.NOTE
