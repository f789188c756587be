"""Real supervisors over trainers that really hang: the verdict is right, the place is named, Stop works.

One row of ``ROWS`` is one child.
"""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.children.nothing_lost import assert_nothing_is_left
from tests.trainer.supervisor.supervised import (
    events,
    finish,
    new_run,
    start,
    states,
    supervise,
    trainer_pid,
    wait_until,
)
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord, RunPaths

pytestmark = pytest.mark.process
AT_A_TIME = 4
QUICK = {"stall_after_s": 1, "max_attempts": 1}
IS_LINUX = Path("/proc/self/wchan").exists()


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == kind]


@dataclass(frozen=True)
class Row:
    """One hang: its verdict, the kind of code it stands in, and the function shown (None: no stacks)."""

    hang: str
    verdict: str
    code: str | None
    function: str | None
    is_linux_only: bool = False


ROWS = [
    Row("locks_twice", "deadlocked", "lock", "locks_twice"),
    Row("locks_twice_holding_the_interpreter", "deadlocked", "lock", "locks_twice_holding_the_interpreter"),
    Row("spins", "busy-stuck", "user code", "spins"),
    Row("computes_holding_the_interpreter", "busy-stuck", "user code", "_match_forever"),
    Row("fills_a_pipe", "blocked-on-io", "io", "fills_a_pipe", is_linux_only=True),
    Row("forks_while_a_thread_holds_a_lock", "deadlocked", "lock", "_wait_for_a_fork_that"),
    Row("forks_after_openmp", "deadlocked", "lock", "_wait_for_a_fork_that", is_linux_only=True),
    Row("waits_for_a_worker", "blocked-on-io", "DataLoader", "wait", is_linux_only=True),
    Row("evaluates_forever", "silent-phase", "user code", "evaluates_forever"),
    Row("crawls", "slow", "user code", "crawls"),
    Row("is_suspended", "stopped", None, None),
]


@dataclass(frozen=True)
class Child:
    """What one child's supervisor told of it, and its end after SIGTERM."""

    paths: RunPaths
    stall: dict[str, Any]
    stacks: dict[str, Any]
    record: ExitRecord
    stopping_took_s: float


def _watch(folder: Path, row: Row) -> Child:
    """Let it hang until all is told, then stop it."""
    paths = new_run(folder, grace_s=0.5, policy=QUICK)
    supervisor = start(paths, row.hang)
    try:
        wait_until(lambda: told(paths, "stacks" if row.code else "stall"), timeout_s=60.0)
        wait_until(lambda: "stalled" in states(paths))
        stacks = told(paths, "stacks")
        asked_at = time.monotonic()
        supervisor.send_signal(signal.SIGTERM)
        record = finish(supervisor, paths)
        return Child(
            paths, told(paths, "stall")[0], stacks[0] if stacks else {}, record, time.monotonic() - asked_at
        )
    finally:
        supervisor.kill()
        supervisor.wait()


def test_a_hang_gets_its_verdict_and_its_stacks_and_can_be_stopped(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    rows = [row for row in ROWS if IS_LINUX or not row.is_linux_only]
    with ThreadPoolExecutor(AT_A_TIME) as pool:  # they wait far more than they compute
        children = {row.hang: pool.submit(_watch, tmp_path / row.hang, row) for row in rows}
    for row in rows:
        with subtests.test(row.hang):
            _check(children[row.hang].result(), row)


def _check(child: Child, row: Row) -> None:
    assert (child.stall["what"], child.stall["verdict"]) == ("began", row.verdict), child.stall
    assert child.stall["step"] == 5
    assert child.stall["text"]
    if row.code:
        assert (child.stacks["code"], child.stacks["by"]) == (row.code, "faulthandler")
        assert child.stacks["frame"].startswith(str(row.function))
        assert "heartbeat" in child.stacks["text"] or "pulse.py" in child.stacks["text"]
    assert child.record.state in ("stopped", "finished")
    assert child.stopping_took_s < 10
    assert_nothing_is_left(child.paths)


def test_a_trainer_that_has_shown_its_pace_is_found_stuck_within_eleven_seconds(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy={"max_attempts": 1})
    supervisor = start(paths, "locks_twice")
    wait_until(lambda: told(paths, "stall"))
    stall = told(paths, "stall")[0]
    assert (stall["verdict"], stall["limit_s"]) == ("deadlocked", 10.0)
    assert stall["progress_age_s"] < 11.0
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)


def test_a_trainer_that_never_begins_is_stalled_and_not_starting_for_ever(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy={"stall_after_s": 0.2, "max_attempts": 1})
    supervisor = start(paths, "starts_and_hangs")
    wait_until(lambda: told(paths, "stacks"))
    assert told(paths, "stall")[0]["phase"] == "loading"
    supervisor.send_signal(signal.SIGTERM)
    assert finish(supervisor, paths).state == "stopped"
    assert_nothing_is_left(paths)


def test_a_run_goes_from_stalled_back_to_running_when_progress_returns(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy=QUICK)
    supervisor = start(paths, "waits_and_goes_on")
    wait_until(lambda: told(paths, "stacks"))
    (paths.root / "go").touch()
    assert finish(supervisor, paths).state == "finished"
    assert "running" in states(paths)[states(paths).index("stalled") :]
    assert [event["what"] for event in told(paths, "stall")] == ["began", "ended"]


def test_a_suspended_trainer_that_is_continued_runs_on(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy=QUICK)
    supervisor = start(paths, "is_suspended")
    wait_until(lambda: "stalled" in states(paths))
    os.kill(trainer_pid(paths), signal.SIGCONT)
    assert finish(supervisor, paths).state == "finished"
    assert [event["verdict"] for event in told(paths, "stall") if event["what"] == "began"] == ["stopped"]


def test_slow_steps_and_a_long_checkpoint_are_no_stall(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"stall_after_s": 2, "max_attempts": 1})
    assert supervise(paths, "is_slow_but_alive").state == "finished"
    assert told(paths, "stall") == []
    assert states(paths) == ["starting", "running", "finished"]


def test_a_policy_that_stops_on_a_stall_ends_the_run_as_failed_with_the_verdict(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy=QUICK | {"on_stall": "stop"})
    record = supervise(paths, "spins")
    assert (record.state, record.stop_requested) == ("failed", False)
    assert "busy-stuck" in record.reason
    assert "spins" in record.reason
    assert record.findings[0]["id"] == "hang"
    assert any("spins" in line for line in record.findings[0]["lines"])
    assert states(paths) == ["starting", "running", "stalled", "stalled", "stopping", "failed"]
