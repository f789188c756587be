"""The trainer process: its exit code, its last words, and its stacks while it loads or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import tiny_task
from tests.trainer.engine.runs import ROOT, events, start, wait_until
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process


def launch(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-u", "-X", "faulthandler", "-P", "-m", "trainer.engine", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_an_unknown_recipe_ends_with_a_traceback_an_alert_and_exit_code_1(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run")
    process = launch(str(paths.root), "--attempt", "1")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback (most recent call last)" in output
    assert b"LookupError: recipe 'tiny' is unknown; there are" in output
    (alert,) = events(paths, "alert")
    assert (alert["level"], alert["title"]) == ("error", "LookupError")


def test_reports_and_signals_are_served_before_torch_is_loaded() -> None:
    program = "import sys, trainer.engine.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60).returncode == 0


def test_a_folder_that_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    process = launch(str(tmp_path))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"{tmp_path} is not a run folder: it has no spec.json".encode() in output


def test_stacks_can_be_asked_for_while_the_heavy_imports_run(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run")
    stacks = paths.attempt(4) / "stacks.txt"
    process = launch(str(paths.root), "--attempt", "4")
    wait_until(stacks.exists, what="the stack file")
    wait_until(lambda: _catches_sigusr1(process.pid) or process.poll() is not None, what="the handler")
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=60)
    assert process.returncode == 1  # the recipe is unknown; the signal did no harm
    assert "most recent call first" in stacks.read_text()


def _catches_sigusr1(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) & 1 << (signal.SIGUSR1 - 1))


def test_a_stop_while_loading_is_a_stop_and_no_failure(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run", num_epochs=1000, step_s=0.01)
    paths.control.mkdir()
    (paths.control / "stop").touch()
    process = start(paths)
    output = process.output()
    assert process.returncode == 0, output
    (finished,) = events(paths, "finished")
    assert finished["reason"] == "stopped"
    assert finished["step"] <= 1
    assert RunPaths(paths.root).heartbeat.exists()
