"""Every probe runs in a process of its own, and what happens to that process is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.architecture.sources import ROOT
from tests.waiting import wait_for
from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.environment.doctor.registry import PROBES, Probe
from trainer.environment.doctor.runner import Examination
from trainer.environment.doctor.surroundings import Surroundings

pytestmark = pytest.mark.process


def broken_probe(misery: str, tmp_path: Path, *, limit_s: float = 20.0) -> Check:
    """What is reported of a probe that comes to grief in the way called ``misery``."""
    examination = Examination(Surroundings(tmp_path))
    probe = Probe(f"tests.children.probes.{misery}", "A probe", limit_s=limit_s)
    (check,) = examination.look(probe)
    assert (check.id, check.title, check.verdict) == (misery, "A probe", Verdict.PROBLEM)
    return check


def test_a_probe_that_crashes_is_a_finding_with_its_stack(tmp_path: Path) -> None:
    check = broken_probe("crashes", tmp_path)
    assert "SIGSEGV" in check.found
    assert any("in look" in line for line in check.details["lines"])


def test_a_probe_that_hangs_is_a_finding_with_its_stack_and_leaves_nothing_running(tmp_path: Path) -> None:
    check = broken_probe("hangs", tmp_path, limit_s=3.0)
    assert "hung" in check.found
    assert any("in look" in line for line in check.details["lines"])
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    wait_for(lambda: not any(is_alive(pid) for pid in pids), what="end of the probe and its fork")


def test_a_probe_that_raises_is_a_finding_with_its_message_whatever_it_printed(tmp_path: Path) -> None:
    check = broken_probe("raises", tmp_path)
    assert "No module named 'no_such_package'" in check.found
    assert "printed by a library" in check.details["lines"]


def test_a_probe_that_ends_without_an_answer_is_a_finding(tmp_path: Path) -> None:
    assert "without an answer" in broken_probe("says_nothing", tmp_path).found


def test_light_probes_answer_and_the_worst_verdict_rules(tmp_path: Path) -> None:
    probes = [probe for probe in PROBES if probe.name in ("sqlite", "disk", "clock", "leftovers")]
    report = Examination(Surroundings(tmp_path), probes=probes).report()
    assert [check["id"] for check in report["checks"]] == [probe.name for probe in probes]
    assert report["verdict"] == worst(Verdict(check["verdict"]) for check in report["checks"])


def test_the_whole_doctor_answers_in_time_and_its_exit_code_is_its_verdict(tmp_path: Path) -> None:
    environ = os.environ | {"SIGNALBOX_INSTANCE": str(tmp_path)}
    command = [sys.executable, "-m", "trainer", "doctor", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=100)
    report = json.loads(done.stdout)
    assert done.returncode == (1 if report["verdict"] == "problem" else 0), done.stderr
    assert {probe.name for probe in PROBES} <= {check["id"] for check in report["checks"]}
    checks = {check["id"]: check for check in report["checks"]}
    assert checks["gradients_cpu"]["verdict"] == "ok"
    assert checks["openmp"]["details"]["runtimes"]
    assert report["took_s"] < 60  # 30 s are promised on a machine with nothing else to do


def test_probes_see_the_hardened_environment_and_no_secret(tmp_path: Path) -> None:
    outer = {"PATH": os.environ["PATH"], "AWS_SECRET_KEY": "hidden"}
    variables = Examination(Surroundings(tmp_path), environ=outer).environment(PROBES[0])
    assert "AWS_SECRET_KEY" not in variables
    assert variables["OMP_NUM_THREADS"] == variables["MKL_NUM_THREADS"]


def is_alive(pid: int) -> bool:
    """Whether a process does more than wait to be collected."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
