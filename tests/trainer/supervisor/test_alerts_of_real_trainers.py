"""Alerts of real supervisors over real trainers: a crash is told, a sound end and a wish are not."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.supervisor.supervised import (
    events,
    finish,
    new_run,
    start,
    steps_reported,
    supervise,
    wait_until,
)
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process


def alerts(paths: RunPaths) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "alert"]


def test_a_run_that_ends_well_has_no_alert(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervise(paths, "finishes")
    assert alerts(paths) == []


def test_a_crash_is_told_before_the_run_is_said_to_have_failed(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"max_attempts": 1})
    supervise(paths, "segfaults")
    [alert] = alerts(paths)
    assert (alert["category"], alert["what"], alert["level"]) == ("crash", "raised", "error")
    assert "SIGSEGV" in alert["text"]
    told = events(paths, Stream.SUPERVISOR)
    failed = next(event for event in told if event["type"] == "state" and event["state"] == "failed")
    assert alert["seq"] < failed["seq"]


def test_a_stop_that_somebody_wished_is_no_crash(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: steps_reported(paths) > 5)
    supervisor.send_signal(signal.SIGTERM)
    assert finish(supervisor, paths).state == "stopped"
    assert alerts(paths) == []


def test_a_stall_is_an_alert_that_is_over_when_the_run_goes_on(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"stall_after_s": 1})
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: steps_reported(paths) > 5)
    trainer = next(event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "attempt")["pid"]
    os.kill(trainer, signal.SIGSTOP)
    wait_until(lambda: len(alerts(paths)) == 1)
    os.kill(trainer, signal.SIGCONT)
    wait_until(lambda: len(alerts(paths)) == 2)
    assert [(alert["category"], alert["what"]) for alert in alerts(paths)] == [
        ("stall", "raised"),
        ("stall", "resolved"),
    ]
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)
