"""Run folders and real supervisors for the tests of this folder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tests.children.dashboard import TOKEN
from trainer.protocol.events import Stream
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec, segments

ROOT = Path(__file__).resolve().parents[3]
STARTED: list[subprocess.Popen[bytes]] = []


def new_run(
    folder: Path, *, grace_s: float = 5.0, url: str | None = None, policy: dict[str, Any] | None = None
) -> RunPaths:
    """A run folder with its spec, and with token and address when it belongs to a dashboard."""
    paths = RunPaths(folder / "run-1")
    spec = RunSpec("run-1", "a run", "two_tower", "none", {}, 0.0, str(folder), stop_grace_s=grace_s)
    replace(spec, policy=policy or {}).save(paths)
    if url is not None:
        write_atomic(paths.token, TOKEN.encode(), mode=0o600)
        write_atomic(paths.uplink, json.dumps({"url": url}).encode())
    return paths


def start(paths: RunPaths, habit: str, *, drain_s: float = 0.0) -> subprocess.Popen[bytes]:
    """A supervisor in a process of its own."""
    command = [sys.executable, "-m", "tests.children.supervisor_of", habit, str(paths.root), str(drain_s)]
    with paths.supervisor_log.open("ab") as log:
        supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
    STARTED.append(supervisor)
    return supervisor


def end_all() -> None:
    """What a failed test leaves running must not disturb the next one."""
    while STARTED:
        supervisor = STARTED.pop()
        if supervisor.poll() is None:
            supervisor.send_signal(signal.SIGQUIT)
            try:
                supervisor.wait(10)
            except subprocess.TimeoutExpired:
                supervisor.kill()
        supervisor.wait()


def finish(supervisor: subprocess.Popen[bytes], paths: RunPaths, *, timeout_s: float = 60.0) -> ExitRecord:
    """Wait for the supervisor and read how the run ended."""
    try:
        supervisor.wait(timeout_s)
    finally:
        if supervisor.poll() is None:
            supervisor.kill()
            supervisor.wait()
    record = ExitRecord.load(paths)
    assert record is not None, paths.supervisor_log.read_text()
    return record


def supervise(paths: RunPaths, habit: str, *, drain_s: float = 0.0) -> ExitRecord:
    """One whole attempt."""
    return finish(start(paths, habit, drain_s=drain_s), paths)


def wait_until(condition: Callable[[], Any], *, timeout_s: float = 30.0) -> None:
    """Return as soon as ``condition`` holds; fail when it never does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.01)


def events(paths: RunPaths, stream: Stream) -> list[dict[str, Any]]:
    """All whole lines of one stream."""
    lines = b"".join(path.read_bytes() for path in segments(paths.spool(stream))).split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def states(paths: RunPaths) -> list[str]:
    """The states the supervisor told, in order."""
    return [event["state"] for event in events(paths, Stream.SUPERVISOR) if event["type"] == "state"]


def steps_reported(paths: RunPaths) -> int:
    """How many metric lines the trainer has written."""
    return sum(event["type"] == "metrics" for event in events(paths, Stream.TRAINER))


def living(pids: list[int]) -> list[int]:
    """Those of ``pids`` that still run; zombies do not."""
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def trainer_pid(paths: RunPaths, attempt: int = 1) -> int:
    """Pid of the attempt's trainer, as recorded."""
    return int(json.loads((paths.attempt(attempt) / "process.json").read_text())["pid"])
