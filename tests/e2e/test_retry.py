"""A trainer dies in mid-epoch: the same run comes back, with the curve it would have had."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.e2e.dashboard import Dashboard
from tests.e2e.spool import assert_nothing_is_lost, spooled_events
from trainer.protocol.events import Stream

STEPS = 450
PARAMS: dict[str, Any] = {"max_steps": STEPS, "checkpoint_every": 65, "eval_every": 150}


def loss_of(dashboard: Dashboard, run_id: str) -> dict[str, Any]:
    series: dict[str, Any] = dashboard.get(f"/api/runs/{run_id}/metrics/train/loss?points=1500")
    return series


def test_after_a_crash_and_a_retry_the_stored_curve_is_that_of_a_run_nobody_disturbed(
    dashboard: Dashboard,
) -> None:
    crashed = dashboard.create_run("stdlib.jsonl", name="crashes", **PARAMS)
    whole = dashboard.create_run("stdlib.jsonl", name="undisturbed", **PARAMS)
    dashboard.wait_for_step(crashed, 90)
    os.kill(dashboard.trainer_pid(crashed), signal.SIGSEGV)
    assert dashboard.wait_for_state(crashed, "retrying", timeout_s=20)["reason"].startswith("attempt 2 of 3")
    refused = dashboard.order(crashed, "pause")
    assert (refused.status, refused.body["error"]["code"]) == (409, "conflict")
    run = dashboard.wait_for_state(crashed, "finished", "failed", timeout_s=90)
    assert (run["state"], run["attempt"], run["step"]) == ("finished", 2, STEPS), dashboard.describe(crashed)
    dashboard.wait_for_state(whole, "finished", "failed", timeout_s=90)

    first, second = dashboard.get(f"/api/runs/{crashed}/attempts")["attempts"]
    assert (first["exit_signal"], first["plan"]["rungs"]) == (signal.SIGSEGV, [])
    assert "SIGSEGV" in first["ended_reason"]
    assert [rung["rung"] for rung in second["plan"]["rungs"]] == ["restart"]
    assert second["from_step"] % 65 == 0
    reported = [
        event["step"]
        for event in spooled_events(dashboard.paths(crashed), Stream.TRAINER)
        if event["type"] == "metrics" and "train/loss" in event["values"] and event["attempt"] == 1
    ]
    assert reported[-1] > second["from_step"] > 0, "the attempts overlap, so there is something to supersede"

    curve = loss_of(dashboard, crashed)
    assert curve["steps"] == list(range(1, STEPS + 1)), "no zigzag and no gap"
    assert curve["values"] == loss_of(dashboard, whole)["values"], "bit for bit"
    assert_nothing_is_lost(dashboard, crashed)


def test_a_stop_between_two_attempts_ends_the_run_as_stopped(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="stopped in between")
    dashboard.wait_for_step(run_id, 20)
    os.kill(dashboard.trainer_pid(run_id), signal.SIGKILL)
    dashboard.wait_for_state(run_id, "retrying", timeout_s=20)
    assert dashboard.order(run_id, "stop").status == 202
    run = dashboard.wait_for_state(run_id, "stopped", "failed", "finished", timeout_s=20)
    assert (run["state"], run["stop_requested"], run["is_resumable"]) == ("stopped", True, True)
    assert "before attempt 2 began" in run["reason"]


def test_a_supervisor_killed_between_two_attempts_leaves_a_lost_run_that_can_go_on(
    dashboard: Dashboard,
) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="lost in between", checkpoint_every=10)
    dashboard.wait_for_step(run_id, 25)
    os.kill(dashboard.trainer_pid(run_id), signal.SIGKILL)
    dashboard.wait_for_state(run_id, "retrying", timeout_s=20)
    os.kill(dashboard.supervisor_pid(run_id), signal.SIGKILL)
    dashboard.wait_for_state(run_id, "lost")
    assert dashboard.order(run_id, "resume").status == 202
    run = dashboard.wait_for_state(run_id, "running")
    assert run["attempt"] == 2
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")
