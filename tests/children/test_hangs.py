"""Real supervisors over trainers that really hang: the verdict is right, the place is named, Stop works."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.supervisor.supervised import (
    events,
    finish,
    living,
    new_run,
    start,
    states,
    supervise,
    trainer_pid,
    wait_until,
)
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process
LINUX_ONLY = pytest.mark.skipif(
    not Path("/proc/self/wchan").exists(), reason="only Linux tells what is waited for"
)


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == kind]


@pytest.mark.parametrize(
    ("hang", "verdict", "kind", "function"),
    [
        ("locks_twice", "deadlocked", "lock", "locks_twice"),
        ("locks_twice_holding_the_interpreter", "deadlocked", "lock", "locks_twice_holding_the_interpreter"),
        ("spins", "busy-stuck", "user code", "spins"),
        ("computes_holding_the_interpreter", "busy-stuck", "user code", "_match_forever"),
        pytest.param("fills_a_pipe", "blocked-on-io", "io", "fills_a_pipe", marks=LINUX_ONLY),
        ("evaluates_forever", "silent-phase", "user code", "evaluates_forever"),
        ("crawls", "slow", "user code", "crawls"),
        ("is_suspended", "stopped", None, None),
    ],
)
def test_a_hang_gets_its_verdict_and_its_stacks_and_can_be_stopped(
    tmp_path: Path, hang: str, verdict: str, kind: str | None, function: str | None
) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy={"stall_after_s": 1})
    supervisor = start(paths, hang)
    wait_until(lambda: told(paths, "stacks" if kind else "stall"))
    wait_until(lambda: "stalled" in states(paths))
    stall = told(paths, "stall")[0]
    assert (stall["what"], stall["verdict"], stall["step"]) == ("began", verdict, 5)
    assert stall["text"]
    if kind:
        stacks = told(paths, "stacks")[0]
        assert stacks["code"] == kind
        assert stacks["frame"].startswith(str(function))
        assert "heartbeat" in stacks["text"] or "pulse.py" in stacks["text"]
    pid = trainer_pid(paths)
    asked_at = time.monotonic()
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert record.state in ("stopped", "finished")
    assert time.monotonic() - asked_at < 10
    assert living([pid]) == []


def test_a_run_goes_from_stalled_back_to_running_when_progress_returns(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"stall_after_s": 1})
    supervisor = start(paths, "waits_and_goes_on")
    wait_until(lambda: told(paths, "stacks"))
    (paths.root / "go").touch()
    assert finish(supervisor, paths).state == "finished"
    assert "running" in states(paths)[states(paths).index("stalled") :]
    assert [event["what"] for event in told(paths, "stall")] == ["began", "ended"]


def test_a_suspended_trainer_that_is_continued_runs_on(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"stall_after_s": 1})
    supervisor = start(paths, "is_suspended")
    wait_until(lambda: "stalled" in states(paths))
    os.kill(trainer_pid(paths), signal.SIGCONT)
    assert finish(supervisor, paths).state == "finished"
    assert [event["verdict"] for event in told(paths, "stall") if event["what"] == "began"] == ["stopped"]


def test_slow_steps_and_a_long_checkpoint_are_no_stall(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"stall_after_s": 2})
    assert supervise(paths, "is_slow_but_alive").state == "finished"
    assert told(paths, "stall") == []
    assert states(paths) == ["starting", "running", "finished"]


def test_a_policy_that_stops_on_a_stall_ends_the_run_as_failed_with_the_verdict(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy={"stall_after_s": 1, "on_stall": "stop"})
    record = supervise(paths, "spins")
    assert (record.state, record.stop_requested) == ("failed", False)
    assert "busy-stuck" in record.reason
    assert "spins" in record.reason
    assert states(paths) == ["starting", "running", "stalled", "stalled", "stopping", "failed"]
