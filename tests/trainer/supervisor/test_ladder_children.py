"""Real supervisors over trainers that a remedy cures, or that nothing does."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.supervisor.supervised import (
    ROOT,
    STARTED,
    events,
    finish,
    living,
    new_run,
    states,
    steps_reported,
    trainer_pid,
    wait_until,
)
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.supervisor.launch import first_plan

pytestmark = pytest.mark.process
HARD_LIMIT = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
CAN_OPEN_MORE = HARD_LIMIT == resource.RLIM_INFINITY or HARD_LIMIT > 4096


def run_of(folder: Path, *, params: dict[str, Any] | None = None, **policy: Any) -> RunPaths:
    paths = new_run(folder, grace_s=0.5, policy=policy)
    replace(RunSpec.load(paths), params=params or {}).save(paths)
    return paths


def begin(paths: RunPaths, habit: str, *, wait_s: float = 0.05) -> subprocess.Popen[bytes]:
    module = "tests.children.supervisor_with_remedies"
    command = [sys.executable, "-m", module, habit, str(paths.root), str(wait_s)]
    with paths.supervisor_log.open("ab") as log:
        supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
    STARTED.append(supervisor)
    return supervisor


def supervise(paths: RunPaths, habit: str, *, wait_s: float = 0.05) -> ExitRecord:
    return finish(begin(paths, habit, wait_s=wait_s), paths)


def rungs_of(paths: RunPaths, attempt: int) -> list[str]:
    plan = AttemptPlan.load(paths, attempt)
    assert plan is not None
    return [taken.rung for taken in plan.rungs]


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == kind]


def ended(paths: RunPaths, attempt: int) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(paths.attempt_exit(attempt).read_text())
    return content


def test_a_broken_heap_is_cured_by_one_thread_in_the_same_supervisor_and_all_of_it_is_told(
    tmp_path: Path,
) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "needs_one_thread")
    assert (record.state, record.attempt, record.num_launches, record.step) == ("finished", 2, 2, 20)
    assert states(paths) == ["starting", "running", "retrying", "starting", "running", "finished"]
    retrying = next(event for event in told(paths, "state") if event["state"] == "retrying")
    assert retrying["reason"].startswith(
        "attempt 2 of 3 in 0.05 s: one OpenMP thread that sleeps while it waits, because code outside Python"
    )
    started = [event for event in told(paths, "attempt") if event["what"] == "started"]
    assert [len(event["plan"]["rungs"]) for event in started] == [0, 1]
    assert started[1]["plan"]["because"] == {
        "id": "heap_corruption",
        "cause": told(paths, "finding")[0]["cause"],
        "step": 5,
        "attempt": 1,
    }
    shown = {one["name"]: one for one in json.loads(paths.environment(2).read_text())["variables"]}
    assert (shown["OMP_NUM_THREADS"]["value"], shown["OMP_NUM_THREADS"]["source"]) == ("1", "rung")
    assert ended(paths, 1)["state"] == "failed"
    assert ended(paths, 1)["findings"][0]["id"] == "heap_corruption"
    assert ended(paths, 2)["state"] == "finished"
    assert record.findings == []


def test_a_kill_without_evidence_is_tried_again_from_the_last_checkpoint(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "is_killed_once")
    assert (record.state, record.step, record.num_launches) == ("finished", 20, 2)
    started = [event for event in told(paths, "attempt") if event["what"] == "started"]
    assert [event["from_step"] for event in started] == [0, 5]
    assert rungs_of(paths, 2) == ["restart"]
    assert living([trainer_pid(paths, 1), trainer_pid(paths, 2)]) == []


def test_three_launches_without_progress_end_it(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "is_killed_later_and_later")
    assert (record.state, record.exit_signal, record.num_launches) == ("failed", signal.SIGKILL, 3)
    assert "given up: 3 launches without progress" in record.reason
    assert states(paths).count("retrying") == 2
    assert [ended(paths, number)["state"] for number in (1, 2, 3)] == ["failed"] * 3


def test_the_same_death_at_the_same_step_is_not_waited_for_a_third_time(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "always_segfaults")
    assert (record.state, record.num_launches) == ("failed", 2)
    assert "died the same way" in record.reason
    assert record.findings


def test_progress_gives_a_run_new_launches(tmp_path: Path) -> None:
    paths = run_of(tmp_path, max_attempts=2)
    record = supervise(paths, "is_killed_but_gets_on")
    assert (record.state, record.num_launches) == ("finished", 5)


def test_memory_is_found_by_halving_the_batch_and_the_badge_says_what_it_costs(tmp_path: Path) -> None:
    paths = run_of(tmp_path, params={"batch_size": 8})
    record = supervise(paths, "needs_half_the_batch")
    assert record.state == "finished"
    plan = AttemptPlan.load(paths, 2)
    assert plan is not None
    assert plan.params == {"batch_size": 4}
    assert plan.rungs[0].changes == {"batch_size": [8, 4]}
    assert plan.rungs[0].changes_numbers
    assert RunSpec.load(paths).params == {"batch_size": 8}


def test_a_stall_in_mining_is_ended_and_mined_elsewhere(tmp_path: Path) -> None:
    paths = run_of(tmp_path, stall_after_s=0.2, on_stall="retry", retry_after_s=0.1)
    record = supervise(paths, "needs_mining_elsewhere")
    assert (record.state, record.num_launches) == ("finished", 2)
    assert rungs_of(paths, 2) == ["mining_process"]
    assert "stopping" not in states(paths)
    assert states(paths)[2:4] == ["stalled", "stalled"]
    finding = ended(paths, 1)["findings"][0]
    assert finding["id"] == "hang_mining"
    assert any("needs_mining_elsewhere" in line for line in finding["lines"])
    assert "no progress" in finding["cause"]


def test_the_checkpoint_before_the_last_one_is_taken_when_the_last_cannot_be_read(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "cannot_read_its_newest_checkpoint")
    assert (record.state, record.num_launches) == ("finished", 3)
    assert rungs_of(paths, 3) == ["previous_checkpoint"]
    started = [event for event in told(paths, "attempt") if event["what"] == "started"]
    assert [event["from_step"] for event in started] == [0, 10, 5]
    assert list(paths.checkpoints.glob("*.skipped")) == []  # it ended well: nobody needs them any more


@pytest.mark.skipif(not CAN_OPEN_MORE, reason="this machine allows no more than 4096 open files")
def test_the_limit_of_open_files_is_raised_for_the_trainer(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "needs_more_files")
    assert record.state == "finished", record.reason
    assert rungs_of(paths, 2) == ["open_files"]


def test_a_full_disk_is_never_tried_again(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    record = supervise(paths, "fills_the_disk")
    assert (record.state, record.num_launches) == ("failed", 1)
    assert record.findings[0]["id"] == "disk_full"


def test_one_attempt_is_one_attempt(tmp_path: Path) -> None:
    paths = run_of(tmp_path, max_attempts=1)
    record = supervise(paths, "is_killed_once")
    assert (record.state, record.num_launches) == ("failed", 1)
    assert "given up" not in record.reason


def test_a_stop_that_breaks_is_diagnosed_and_not_tried_again(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    supervisor = begin(paths, "breaks_when_asked_to_stop")
    wait_until(lambda: steps_reported(paths) == 5)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.stop_requested, record.num_launches) == ("failed", True, 1)
    assert record.findings[0]["id"] == "disk_full"


def test_a_stop_between_two_attempts_is_obeyed_at_once(tmp_path: Path) -> None:
    paths = run_of(tmp_path)
    supervisor = begin(paths, "always_segfaults", wait_s=60.0)
    wait_until(lambda: "retrying" in states(paths))
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths, timeout_s=10)
    assert (record.state, record.stop_requested, record.exit_signal) == ("stopped", True, signal.SIGSEGV)
    assert "before attempt 2 began" in record.reason
    assert states(paths)[-2:] == ["retrying", "stopped"]
    assert not paths.attempt(2).exists()
    assert not paths.next_plan.exists()


def test_a_supervisor_killed_in_the_pause_leaves_the_remedy_to_the_next_one(tmp_path: Path) -> None:
    paths = run_of(tmp_path, params={"batch_size": 8})
    supervisor = begin(paths, "needs_half_the_batch", wait_s=60.0)
    wait_until(lambda: "retrying" in states(paths))
    supervisor.kill()
    supervisor.wait()
    assert ExitRecord.load(paths) is None
    record = supervise(paths, "needs_half_the_batch")
    assert (record.state, record.attempt, record.num_launches) == ("finished", 2, 1)
    plan = AttemptPlan.load(paths, 2)
    assert plan is not None
    assert plan.because is not None
    assert (plan.params, plan.because["id"]) == ({"batch_size": 4}, "cpu_alloc")
    assert "attempt 2: half the batch" in [event["reason"] for event in told(paths, "state")]
    assert not paths.next_plan.exists()


def test_a_plan_for_the_next_attempt_that_is_none_or_of_another_is_not_taken_up(tmp_path: Path) -> None:
    paths = run_of(tmp_path, params={"batch_size": 4})
    for content in ("{", json.dumps(AttemptPlan(7, params={"batch_size": 1}).to_json())):
        paths.next_plan.write_text(content)
        assert first_plan(paths, attempt=1) == AttemptPlan(1)


def test_a_resumed_run_keeps_the_remedies_of_its_newest_attempt_and_says_so(tmp_path: Path) -> None:
    paths = run_of(tmp_path, params={"batch_size": 16}, max_attempts=2)
    assert supervise(paths, "needs_half_the_batch").state == "failed"  # 8 are still too many
    record = supervise(paths, "needs_half_the_batch")
    assert (record.state, record.attempt, record.num_launches) == ("finished", 4, 2)
    third = next(event for event in told(paths, "state") if "attempt 3" in event["reason"])
    assert third["reason"] == "attempt 3, with what an earlier attempt was given: half the batch"
    plan = AttemptPlan.load(paths, 4)
    assert plan is not None
    assert [(taken.attempt, taken.changes["batch_size"]) for taken in plan.rungs] == [
        (2, [16, 8]),
        (4, [8, 4]),
    ]
