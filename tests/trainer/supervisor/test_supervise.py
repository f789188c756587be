"""Real supervisors over real trainers that misbehave: the state is right, and nothing stays behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil
import pytest

from tests.trainer.supervisor.supervised import (
    events,
    finish,
    living,
    new_run,
    start,
    states,
    steps_reported,
    supervise,
    trainer_pid,
    wait_until,
)
from trainer.protocol.events import Stream

pytestmark = pytest.mark.process


def test_a_run_that_ends_well_is_finished_and_every_step_of_its_life_is_told(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    record = supervise(paths, "finishes")
    assert (record.state, record.exit_code, record.exit_signal, record.step) == ("finished", 0, None, 200)
    assert record.metrics["last"] == {"train/loss": 0.005}
    assert record.rusage["max_rss_bytes"] > 1e6
    assert states(paths) == ["starting", "running", "finished"]
    told = [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "attempt"]
    assert [event["what"] for event in told] == ["started", "ended"]
    assert told[0]["environment"]
    assert told[0]["from_step"] == 0
    assert b"hello from the trainer" in paths.output(1).read_bytes()


def test_the_trainer_gets_only_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_KEY", "hidden")
    paths = new_run(tmp_path)
    supervise(paths, "says_what_it_inherited")
    facts = json.loads((paths.root / "facts.json").read_text())
    shown = {v["name"]: v["value"] for v in json.loads(paths.environment(1).read_text())["variables"]}
    assert facts["environ"].items() <= (shown | {"LC_CTYPE": facts["environ"].get("LC_CTYPE")}).items()
    assert "AWS_SECRET_KEY" not in facts["environ"]
    assert facts["leads_session"]
    assert facts["stdin"] == "/dev/null"
    assert facts["cwd"] == str(paths.root)


@pytest.mark.parametrize(
    ("habit", "code", "number", "words"),
    [
        ("exits_zero_midway", 0, None, "never said that it had finished"),
        ("finishes_without_a_step", 0, None, "not one step"),
        ("breaks_after_finishing", 3, None, "exit code 3"),
        ("raises", 1, None, "exit code 1"),
        ("segfaults", None, signal.SIGSEGV, "SIGSEGV"),
        ("kills_itself", None, signal.SIGKILL, "SIGKILL"),
        ("nothing", 1, None, "exit code 1"),
    ],
)
def test_a_bad_end_is_failed_with_its_exit_status_and_never_finished(
    tmp_path: Path, habit: str, code: int | None, number: int | None, words: str
) -> None:
    paths = new_run(tmp_path, policy={"max_attempts": 1})
    record = supervise(paths, habit)
    assert (record.state, record.exit_code, record.exit_signal) == ("failed", code, number)
    assert words in record.reason
    assert states(paths)[-1] == "failed"


def test_a_native_crash_leaves_its_traceback_in_the_output(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy={"max_attempts": 1})
    supervise(paths, "segfaults")
    assert b"Fatal Python error: Segmentation fault" in paths.output(1).read_bytes()
    assert b"in segfaults" in paths.output(1).read_bytes()


def test_stop_lets_the_trainer_save_and_leave(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: "running" in states(paths))
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.exit_code, record.stop_requested) == ("stopped", 0, True)
    assert record.step == steps_reported(paths)
    assert states(paths) == ["starting", "running", "stopping", "stopped"]


def test_stopping_twice_is_stopping_once(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: steps_reported(paths) > 5)
    supervisor.send_signal(signal.SIGTERM)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.exit_code) == ("stopped", 0)
    assert states(paths).count("stopping") == 1


def test_a_stop_while_the_trainer_is_still_starting_is_stopped_too(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until((paths.attempt(1) / "process.json").exists)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert record.state == "stopped"
    assert record.stop_requested


def test_a_deaf_trainer_is_killed_when_its_grace_has_passed(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5)
    supervisor = start(paths, "ignores_sigterm")
    wait_until(lambda: steps_reported(paths) == 3)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.exit_signal) == ("stopped", signal.SIGKILL)
    assert "killed" in record.reason


def test_a_kill_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=300.0)
    supervisor = start(paths, "ignores_sigterm")
    wait_until(lambda: steps_reported(paths) == 3)
    supervisor.send_signal(signal.SIGQUIT)
    record = finish(supervisor, paths)
    assert (record.state, record.exit_signal) == ("stopped", signal.SIGKILL)


def test_a_second_ctrl_c_kills(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=300.0)
    supervisor = start(paths, "ignores_sigterm")
    wait_until(lambda: steps_reported(paths) == 3)
    supervisor.send_signal(signal.SIGINT)
    wait_until(lambda: "stopping" in states(paths))
    supervisor.send_signal(signal.SIGINT)
    assert finish(supervisor, paths).exit_signal == signal.SIGKILL


def test_a_suspended_trainer_is_continued_so_that_it_can_stop(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "suspends_itself")
    wait_until(lambda: steps_reported(paths) == 3)
    wait_until(lambda: psutil.Process(trainer_pid(paths)).status() == psutil.STATUS_STOPPED)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.exit_code) == ("stopped", 0)


@pytest.mark.parametrize("habit", ["leaves_children", "keeps_children"])
def test_no_process_outlives_its_run_whatever_session_it_fled_to(tmp_path: Path, habit: str) -> None:
    paths = new_run(tmp_path, grace_s=0.3)
    supervisor = start(paths, habit)
    wait_until((paths.root / "pids.json").exists)
    wait_until(lambda: steps_reported(paths) == 3)
    pids = json.loads((paths.root / "pids.json").read_text())
    if habit == "keeps_children":
        supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert record.state == ("finished" if habit == "leaves_children" else "stopped")
    assert living(pids) == []


def test_a_second_supervisor_leaves_with_a_clear_line(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    first = start(paths, "trains_until_stopped")
    wait_until(lambda: steps_reported(paths) > 1)
    second = start(paths, "trains_until_stopped")
    assert second.wait(30) == 3
    assert f"supervised already by process {first.pid}" in paths.supervisor_log.read_text()
    first.send_signal(signal.SIGTERM)
    assert finish(first, paths).state == "stopped"


def test_the_trainer_of_a_killed_supervisor_saves_and_leaves(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: steps_reported(paths) > 5)
    pid = trainer_pid(paths)
    supervisor.kill()
    supervisor.wait()
    wait_until(lambda: not living([pid]))
    assert events(paths, Stream.TRAINER)[-1]["type"] == "finished"


def test_after_a_killed_supervisor_the_next_one_clears_up_and_begins_a_new_attempt(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5)
    supervisor = start(paths, "keeps_children")
    wait_until(lambda: steps_reported(paths) == 3)
    pids = json.loads((paths.root / "pids.json").read_text())
    supervisor.kill()
    supervisor.wait()
    assert trainer_pid(paths) in living(pids)  # deaf: it lives on
    record = supervise(paths, "finishes")
    assert (record.state, record.attempt) == ("finished", 2)
    assert trainer_pid(paths) not in living(pids)
    numbers = [event["seq"] for event in events(paths, Stream.SUPERVISOR)]
    assert numbers == list(range(1, len(numbers) + 1))
    for pid in living(pids):  # one cleaned its environment and had no supervisor left to inherit it
        psutil.Process(pid).kill()


def test_a_resumed_run_puts_its_old_end_away_and_counts_on(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    assert supervise(paths, "raises").state == "failed"
    record = supervise(paths, "finishes")
    assert (record.state, record.attempt) == ("finished", 2)
    assert json.loads((paths.attempt(1) / "exit.json").read_text())["state"] == "failed"
    numbers = [event["seq"] for event in events(paths, Stream.TRAINER)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_flood_of_output_is_bounded_and_its_last_line_survives(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    assert supervise(paths, "spews").state == "finished"
    shown = (paths.attempt(1) / "console.log").read_bytes()
    assert paths.output(1).stat().st_size > 105_000_000
    assert len(shown) < 5_000_000
    assert max(len(line) for line in shown.split(b"\n")) < 17_000
    assert b"bytes not shown" in shown
    assert shown.endswith(b"the last line matters\n")


def test_rubbish_in_the_spool_does_not_hide_what_follows(tmp_path: Path) -> None:
    record = supervise(new_run(tmp_path), "writes_rubbish")
    assert (record.state, record.step) == ("finished", 6)


def test_the_process_is_sampled_every_second(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    supervisor = start(paths, "trains_until_stopped")
    wait_until(lambda: any(event["type"] == "metrics" for event in events(paths, Stream.SUPERVISOR)))
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)
    sample = next(event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "metrics")
    assert sample["values"]["system/rss_bytes"] > 1e6
    assert sample["values"]["system/num_threads"] >= 1
    assert sample["values"]["system/cpu_percent"] >= 0
    assert sample["step"] > 0
