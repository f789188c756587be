"""Supervisors as processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.launchers.launcher import LaunchError
from app.launchers.local import LocalLauncher
from tests.waiting import wait_for
from trainer.protocol.lock_holder import lock_holder
from trainer.protocol.run_folder import RunPaths

HOLD = """
import fcntl, os, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    root = tmp_path / "run-1"
    root.mkdir()
    return RunPaths(root)


@pytest.fixture
def holder(paths: RunPaths) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the run's lock until its input ends."""
    command = [sys.executable, "-c", HOLD, str(paths.lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_free_or_missing_lock_has_no_holder(paths: RunPaths) -> None:
    assert lock_holder(paths.lock) is None
    paths.lock.touch()
    assert lock_holder(paths.lock) is None


@pytest.mark.process
def test_the_kernel_names_the_holder_and_asking_does_not_take_the_lock(
    paths: RunPaths, holder: subprocess.Popen[str]
) -> None:
    assert [lock_holder(paths.lock) for _ in range(3)] == [holder.pid] * 3
    holder.kill()
    holder.wait()
    assert lock_holder(paths.lock) is None


@pytest.mark.process
def test_a_holder_that_never_introduced_itself_is_not_signalled(
    paths: RunPaths, holder: subprocess.Popen[str]
) -> None:
    launcher = LocalLauncher()
    assert not launcher.signal(paths, signal.SIGTERM)
    paths.supervisor.write_text(f'{{"pid": {holder.pid}, "create_time": 1.0}}')
    assert not launcher.signal(paths, signal.SIGTERM)
    paths.supervisor.write_text(f'{{"pid": {os.getpid()}, "create_time": 1.0}}')
    assert not launcher.signal(paths, signal.SIGTERM)
    assert holder.poll() is None


@pytest.mark.process
def test_the_supervisor_starts_in_its_own_session_with_nothing_of_our_environment(paths: RunPaths) -> None:
    launcher = LocalLauncher(environ={"PATH": os.environ["PATH"], "SECRET": "x", "SIGNALBOX_PORT": "1"})
    passed = launcher._environment()
    assert passed.keys() == {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED"}
    ended = threading.Event()
    launcher.on_exit(lambda run_id: ended.set() if run_id == "run-1" else None)
    launcher.launch(paths)  # there is no spec in the folder, so it ends at once and says why
    assert ended.wait(60)
    assert "spec.json" in paths.supervisor_log.read_text()


@pytest.mark.process
def test_a_process_that_ended_is_reaped(paths: RunPaths) -> None:
    pid = LocalLauncher().launch(paths)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or sys.platform == "darwin", what="end without zombie")


def test_a_folder_that_is_gone_is_a_launch_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="could not start the supervisor"):
        LocalLauncher().launch(RunPaths(tmp_path / "gone"))
