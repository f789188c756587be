"""Unmodified scripts under a real supervisor: finished, stopped, killed, failed, gone on, never started."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.trainer.scripts.written import PLAIN, write_script
from tests.trainer.supervisor.supervised import (
    ROOT,
    STARTED,
    events,
    finish,
    living,
    states,
    trainer_pid,
    wait_until,
)
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec

pytestmark = pytest.mark.process

TRAINS = """
import sys, time
steps, pause = int(sys.argv[2]), float(sys.argv[4])
for step in range(1, steps + 1):
    print(f"step {step}/{steps} | loss {1.0 / step:.4f}")
    time.sleep(pause)
"""
STEPS = PLAIN + "[parameters.steps]\ndefault = 5\n[parameters.pause]\ndefault = 0.0\n"


def new_run(folder: Path, *, toml: str = STEPS, program: str = TRAINS, **more: Any) -> RunPaths:
    """A registered script and the folder of a run of it."""
    script = write_script(folder / "scripts", toml=toml, program=textwrap.dedent(program))
    paths = RunPaths(folder / "run-1")
    params = more.pop("params", {})
    settings: dict[str, Any] = {"stop_grace_s": 5.0, "policy": {"max_attempts": 1}, **more}
    RunSpec(
        "run-1", "a run", "script", "mine", params, time.time(), str(folder), script=str(script), **settings
    ).save(paths)
    return paths


def start(paths: RunPaths) -> subprocess.Popen[bytes]:
    """The supervisor as the dashboard starts it."""
    command = [sys.executable, "-m", "trainer", "supervise", str(paths.root), "--drain", "0"]
    with paths.supervisor_log.open("ab") as log:
        supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
    STARTED.append(supervisor)
    return supervisor


def run(paths: RunPaths) -> ExitRecord:
    return finish(start(paths), paths)


def losses(paths: RunPaths) -> dict[int, float]:
    told = [event for event in events(paths, Stream.TRAINER) if event["type"] == "metrics"]
    return {event["step"]: event["values"]["train/loss"] for event in told}


def test_a_script_that_prints_its_loss_is_followed_to_its_end(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    record = run(paths)
    assert (record.state, record.exit_code, record.step) == ("finished", 0, 5)
    assert losses(paths) == {1: 1.0, 2: 0.5, 3: 0.3333, 4: 0.25, 5: 0.2}
    assert record.metrics["last"] == {"train/loss": 0.2}
    assert states(paths)[:2] == ["starting", "running"]
    begun = next(event for event in events(paths, Stream.SUPERVISOR) if event.get("what") == "started")
    entry = (tmp_path / "scripts" / "mine" / "train.py").read_bytes()
    assert begun["script"]["train.py"] == hashlib.sha256(entry).hexdigest()
    assert list(begun["script"]) == ["train.py", "script.toml"]


def test_a_script_that_never_says_a_word_has_finished_when_its_exit_code_says_so(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=PLAIN, program="")
    record = run(paths)
    assert (record.state, record.reason) == ("finished", "the script ended with exit code 0")


def test_a_loss_that_is_no_number_is_no_success(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=PLAIN, program="print('step 1 loss 2.0')\nprint('step 2 loss nan')\n")
    record = run(paths)
    assert record.state == "failed"
    assert "not a number" in record.reason


def test_a_stop_ends_a_script_without_a_handler(tmp_path: Path) -> None:
    paths = new_run(tmp_path, params={"steps": 10_000, "pause": 0.05})
    supervisor = start(paths)
    wait_until(lambda: len(losses(paths)) >= 2)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.stop_requested) == ("stopped", True)
    assert record.reason.startswith("stopped as asked at step ")


STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid)
time.sleep(600)
"""


def test_one_that_ignores_the_stop_is_killed_with_its_children(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=PLAIN, program=STUBBORN, stop_grace_s=0.3)
    supervisor = start(paths)
    wait_until(lambda: paths.output(1).exists() and b"child" in paths.output(1).read_bytes())
    child = int(paths.output(1).read_text().split()[1])
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert record.state == "stopped"
    wait_until(lambda: not living([child]))


def test_one_that_cannot_hear_the_stop_does_not_get_the_grace_of_one_that_saves(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=PLAIN, program=STUBBORN, stop_grace_s=600.0)
    supervisor = start(paths)
    wait_until(lambda: paths.output(1).exists() and b"child" in paths.output(1).read_bytes())
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert (record.state, record.reason) == (
        "stopped",
        "killed 2 s after the stop, because it ignores SIGTERM",
    )


SAVES = """
import signal, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
step = 0
while not asked:
    step += 1
    print(f"step {step} loss {1 / step:.4f}", flush=True)
    time.sleep(0.02)
time.sleep(3)
print("saved", flush=True)
"""


def test_one_with_a_handler_of_its_own_gets_the_grace(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=PLAIN, program=SAVES, stop_grace_s=60.0)
    supervisor = start(paths)
    wait_until(lambda: len(losses(paths)) >= 2)
    supervisor.send_signal(signal.SIGTERM)
    record = finish(supervisor, paths)
    assert record.state == "stopped"
    assert paths.output(1).read_text().endswith("saved\n")


def test_a_traceback_is_diagnosed(tmp_path: Path) -> None:
    program = "print('step 1 loss 2.0')\nraise RuntimeError('CUDA out of memory. Tried to allocate 2 GiB')\n"
    record = run(new_run(tmp_path, toml=PLAIN, program=program))
    assert (record.state, record.exit_code) == ("failed", 1)
    assert record.findings[0]["id"] == "cuda_oom"


RESUMES = """
import os, pathlib, sys, time
out, start = pathlib.Path(sys.argv[1]), 0
if len(sys.argv) > 2:
    start = int(pathlib.Path(sys.argv[2]).read_text())
for step in range(start + 1, 31):
    print(f"step {step} loss {1 / step:.4f}")
    if step % 5 == 0:
        (out / f"step-{step}.txt").write_text(str(step))
    if step == 12 and start == 0:
        time.sleep(600)
"""
RESUME = (
    PLAIN
    + """
arguments = ["{checkpoints}"]
[resume]
checkpoint = "{checkpoints}/step-*.txt"
arguments = ["{checkpoint}"]
"""
)


def test_after_a_kill_it_goes_on_from_its_own_checkpoint(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=RESUME, program=RESUMES, policy={})
    supervisor = start(paths)
    wait_until(lambda: 12 in losses(paths))
    os.kill(trainer_pid(paths), signal.SIGKILL)
    record = finish(supervisor, paths)
    assert (record.state, record.attempt, record.step) == ("finished", 2, 30)
    begun = [event for event in events(paths, Stream.SUPERVISOR) if event.get("what") == "started"]
    assert [event["from_step"] for event in begun] == [0, 10]
    assert begun[1]["command"][-1].endswith("checkpoints/step-10.txt")
    second = [event for event in events(paths, Stream.TRAINER) if event.get("attempt") == 2]
    assert min(event["step"] for event in second if event["type"] == "metrics") == 11


def test_a_script_that_was_opened_to_others_is_not_started_again(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    (tmp_path / "scripts" / "mine" / "train.py").chmod(0o666)
    record = run(paths)
    assert record.state == "failed"
    assert record.findings[0]["id"] == "script_unusable"
    assert "every user of this machine" in record.findings[0]["cause"]
    assert not paths.output(1).exists()


def test_a_value_that_the_declaration_no_longer_allows_is_named(tmp_path: Path) -> None:
    paths = new_run(tmp_path, toml=STEPS + "maximum = 1.0\n", params={"pause": 3.0})
    record = run(paths)
    assert "parameters.pause" in record.reason
    assert "this run has 3.0" in record.reason


LOCKED = """
import threading
print("step 1 loss 2.0")
print("step 2 loss 1.0", flush=True)
lock = threading.Lock()
lock.acquire()
def wait_for_ever():
    lock.acquire()
wait_for_ever()
"""


def test_a_deadlocked_script_is_found_and_shows_where_it_stands(tmp_path: Path) -> None:
    policy = {"on_stall": "stop", "stall_after_s": 1.0, "max_attempts": 1}
    record = run(new_run(tmp_path, toml=PLAIN, program=LOCKED, policy=policy))
    assert record.state == "failed"
    assert "deadlocked" in record.reason
    assert "wait_for_ever" in str(record.findings)


def test_a_shell_script_runs_in_the_folder_of_the_run(tmp_path: Path) -> None:
    toml = 'entry = "train.py"\ninterpreter = "sh"\nworking_directory = "run"\n'
    paths = new_run(tmp_path, toml=toml, program="echo step 3 loss 0.5 > made.txt\ncat made.txt\n")
    record = run(paths)
    assert (record.state, record.step) == ("finished", 3)
    assert (paths.root / "made.txt").exists()


def test_nothing_of_a_script_outlives_its_supervisor(tmp_path: Path) -> None:
    paths = new_run(tmp_path, params={"steps": 10_000, "pause": 0.05})
    supervisor = start(paths)
    wait_until(lambda: len(losses(paths)) >= 1)
    pid = trainer_pid(paths)
    supervisor.kill()
    supervisor.wait()
    wait_until(lambda: not psutil.pid_exists(pid) or not living([pid]))
