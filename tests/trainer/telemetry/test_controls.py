"""What people ask of a trainer: files in its control folder, and SIGTERM."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls, StopRequested


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[RunPaths]:
    before = signal.getsignal(signal.SIGTERM)
    yield RunPaths(tmp_path)
    signal.signal(signal.SIGTERM, before)


def test_nothing_is_asked_at_first(paths: RunPaths) -> None:
    controls = Controls(paths)
    assert controls.poll() == set()
    assert not controls.should_stop
    controls.stop_if_asked()


def test_a_command_is_taken_once_and_its_file_removed(paths: RunPaths) -> None:
    controls = Controls(paths)
    (paths.control / "checkpoint").touch()
    (paths.control / "pause").touch()
    assert controls.poll() == {Command.CHECKPOINT, Command.PAUSE}
    assert controls.poll() == set()
    assert list(paths.control.iterdir()) == []


def test_a_wish_to_stop_stays(paths: RunPaths) -> None:
    controls = Controls(paths)
    (paths.control / "stop").touch()
    assert controls.should_stop
    assert controls.poll() == {Command.STOP}
    assert controls.poll() == {Command.STOP}
    with pytest.raises(StopRequested):
        controls.stop_if_asked()


def test_a_termination_signal_asks_to_stop(paths: RunPaths) -> None:
    controls = Controls(paths)
    os.kill(os.getpid(), signal.SIGTERM)
    assert controls.should_stop
    assert controls.poll() == {Command.STOP}


def test_files_that_are_no_command_are_left_alone(paths: RunPaths) -> None:
    controls = Controls(paths)
    (paths.control / ".stop.tmp").touch()
    (paths.control / "dance").touch()
    assert controls.poll() == set()
    assert len(list(paths.control.iterdir())) == 2


def test_a_control_folder_that_vanishes_asks_for_nothing(paths: RunPaths) -> None:
    controls = Controls(paths)
    paths.control.rmdir()
    assert controls.poll() == set()
