"""SIGKILL for the trainer, the supervisor and the dashboard, in mid-run."""

from __future__ import annotations

import os
import signal

import psutil

from tests.e2e.dashboard import Dashboard
from tests.e2e.spool import assert_nothing_is_lost
from tests.waiting import wait_for


def test_a_killed_trainer_is_a_failed_run_with_its_signal_and_all_its_events(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", {"max_attempts": 1}, name="trainer killed")
    dashboard.wait_for_step(run_id, 20)
    os.kill(dashboard.trainer_pid(run_id), signal.SIGKILL)
    run = dashboard.wait_for_state(run_id, "failed", "stopped", "finished", "lost")
    assert run["state"] == "failed", dashboard.describe(run_id)
    assert (run["exit_code"], run["exit_signal"]) == (None, signal.SIGKILL)
    assert run["reason"]
    assert_nothing_is_lost(dashboard, run_id)


def test_a_killed_supervisor_is_a_lost_run_that_can_be_taken_up_again(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="supervisor killed", checkpoint_every=10)
    dashboard.wait_for_step(run_id, 25)
    supervisor, trainer = dashboard.supervisor_pid(run_id), dashboard.trainer_pid(run_id)
    os.kill(supervisor, signal.SIGKILL)
    dashboard.wait_for_state(run_id, "lost")
    assert dashboard.order(run_id, "resume").status == 202
    run = dashboard.wait_for_state(run_id, "running")
    assert run["attempt"] == 2
    assert not _lives(trainer), "two trainers must never write one run"
    before = run["step"]
    dashboard.wait_for_step(run_id, before + 20)
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")
    assert_nothing_is_lost(dashboard, run_id)


def test_killing_the_dashboard_in_mid_run_loses_nothing_and_stops_nothing(own_dashboard: Dashboard) -> None:
    dashboard = own_dashboard
    run_id = dashboard.create_run("stdlib.jsonl", name="dashboard killed")
    dashboard.wait_for_step(run_id, 20)
    supervisor, trainer = dashboard.supervisor_pid(run_id), dashboard.trainer_pid(run_id)
    dashboard.kill_server()
    size = dashboard.paths(run_id).heartbeat.stat().st_mtime_ns
    wait_for(
        lambda: dashboard.paths(run_id).heartbeat.stat().st_mtime_ns > size, what="sign of life without it"
    )
    dashboard.start()
    run = dashboard.wait_for_state(run_id, "running")
    assert (dashboard.supervisor_pid(run_id), dashboard.trainer_pid(run_id)) == (supervisor, trainer)
    assert run["attempt"] == 1
    dashboard.wait_for_step(run_id, run["step"] + 20)
    dashboard.order(run_id, "stop")
    ended = dashboard.wait_for_state(run_id, "stopped")
    assert ended["exit_code"] == 0
    assert_nothing_is_lost(dashboard, run_id)


def test_a_run_that_ends_while_the_dashboard_is_away_is_right_after_its_return(
    own_dashboard: Dashboard,
) -> None:
    dashboard = own_dashboard
    run_id = dashboard.create_run("stdlib.jsonl", name="ends alone", max_steps=150)
    dashboard.wait_for_step(run_id, 10)
    dashboard.kill_server()
    wait_for(dashboard.paths(run_id).exit.exists, what="exit record")
    dashboard.start()
    run = dashboard.wait_for_state(run_id, "finished")
    assert (run["exit_code"], run["step"]) == (0, 150)
    assert_nothing_is_lost(dashboard, run_id)


def test_stopping_the_dashboard_politely_leaves_its_runs_alone(own_dashboard: Dashboard) -> None:
    dashboard = own_dashboard
    run_id = dashboard.create_run("stdlib.jsonl", name="left alone")
    dashboard.wait_for_step(run_id, 5)
    trainer = dashboard.trainer_pid(run_id)
    assert dashboard.stop_server() == 0
    assert _lives(trainer)
    dashboard.start()
    dashboard.wait_for_state(run_id, "running")
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")
    wait_for(lambda: not _lives(trainer), what="end of the trainer")


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
