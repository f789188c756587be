"""Leftover processes are found, and exactly those can be ended; nobody else's are touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.trainer.supervisor.supervised import living, new_run, start, steps_reported, trainer_pid
from tests.waiting import wait_for
from trainer.environment.doctor.leftover_processes import MARK, end, find
from trainer.environment.doctor.leftovers import judge, look
from trainer.environment.doctor.surroundings import Surroundings
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def abandoned(tmp_path: Path) -> Iterator[RunPaths]:
    """A run whose supervisor was killed while its trainer, which ignores SIGTERM, goes on."""
    paths = new_run(tmp_path / "runs")
    supervisor = start(paths, "ignores_sigterm")
    wait_for(lambda: steps_reported(paths) > 0, what="first step")
    pid = trainer_pid(paths)
    assert find(paths.root.parent) == [], "it is supervised"
    supervisor.kill()
    supervisor.wait()
    yield paths
    if living([pid]):
        os.kill(pid, signal.SIGKILL)


def sleeper(run_dir: Path) -> subprocess.Popen[bytes]:
    """Something a person started from a shell into which the mark was copied."""
    environ = os.environ | {MARK: str(run_dir)}
    return subprocess.Popen([sys.executable, "-c", SLEEP], env=environ, stdin=subprocess.DEVNULL)


def test_a_trainer_without_its_supervisor_is_found_and_ended_and_a_stranger_is_not(
    abandoned: RunPaths,
) -> None:
    runs_dir, pid = abandoned.root.parent, trainer_pid(abandoned)
    stranger = sleeper(abandoned.root)
    try:
        (leftover,) = find(runs_dir)
        assert (leftover.pid, leftover.run_id, leftover.role) == (pid, "run-1", "trainer")
        (check,) = look(Surroundings(runs_dir.parent))
        assert (check.verdict, check.details["processes"][0]["pid"]) == ("warning", pid)
        assert str(pid) in check.remedy

        unwanted = [
            (pid, leftover.create_time - 5.0),
            (stranger.pid, psutil.Process(stranger.pid).create_time()),
        ]
        outcomes = end(unwanted, runs_dir=runs_dir, grace_s=0.1)
        assert ["left alone" in one.outcome for one in outcomes] == [True, True]
        assert living([pid, stranger.pid]) == [pid, stranger.pid]

        (ended,) = end([(pid, leftover.create_time)] * 2, runs_dir=runs_dir, grace_s=0.1)
        assert (ended.pid, ended.outcome) == (pid, "killed: it did not end within 0.1 s")
        assert living([pid, stranger.pid]) == [stranger.pid]
        assert find(runs_dir) == []
    finally:
        stranger.kill()
        stranger.wait()


def test_runs_of_another_instance_are_none_of_ours(abandoned: RunPaths, tmp_path: Path) -> None:
    assert find(tmp_path / "elsewhere" / "runs") == []


def test_nothing_left_over_is_fine(tmp_path: Path) -> None:
    assert judge(find(tmp_path)).verdict == "ok"
