"""Trainers of a known pace, healthy or about to hang, under real supervisors; a tool of two benchmarks.

``python -m benchmarks.paced_trainers supervise|train KIND RUN_DIR STEP_S SECONDS SEED``.
A hang begins after a few steps; the moment is written to ``hung_at`` (monotonic seconds).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.server_process import ROOT
from trainer.protocol.events import Phase, Stream
from trainer.protocol.run_folder import RunPaths, RunSpec, segments
from trainer.supervisor.supervise import supervise
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter
from trainer.telemetry.stack_dumps import answer_with_stacks

STEPS_BEFORE_A_HANG: Final = 7


@dataclass
class Pace:
    """A trainer's reports and its rhythm: seconds per step, and when it shall end (monotonic)."""

    reporter: Reporter
    root: Path
    step_s: float
    ends_at: float
    random: random.Random
    step: int = 0

    def train(self, pause_s: float) -> None:
        """One step that took so long."""
        self.reporter.phase(Phase.TRAINING, step=self.step)
        time.sleep(pause_s)
        self.step += 1
        self.reporter.metrics(self.step, {"train/loss": 1.0 / self.step})

    def spend(self, phase: Phase, pause_s: float) -> None:
        """A phase that says nothing until it is over."""
        self.reporter.phase(phase, step=self.step)
        time.sleep(pause_s)

    def hang(self) -> None:
        """Note that from now on nothing comes."""
        (self.root / "hung_at").write_text(repr(time.monotonic()))

    def goes_on(self) -> bool:
        """Whether there is still time to train."""
        return time.monotonic() < self.ends_at


Trainer = Callable[[Pace], None]


def _warm_up(pace: Pace) -> None:
    for _ in range(STEPS_BEFORE_A_HANG):
        pace.train(pace.step_s)


def deadlocked(pace: Pace) -> None:
    """A lock taken twice."""
    _warm_up(pace)
    lock = threading.Lock()
    lock.acquire()
    pace.hang()
    lock.acquire()


def deadlocked_holding_the_interpreter(pace: Pace) -> None:
    """A native lock taken twice; not even the heart beats."""
    _warm_up(pace)
    native, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(128)
    native.pthread_mutex_lock(mutex)
    pace.hang()
    native.pthread_mutex_lock(mutex)


def busy_stuck(pace: Pace) -> None:
    """An endless loop."""
    _warm_up(pace)
    pace.hang()
    while True:
        pass


def stopped(pace: Pace) -> None:
    """SIGSTOP."""
    _warm_up(pace)
    pace.hang()
    os.kill(os.getpid(), signal.SIGSTOP)


def blocked_on_io(pace: Pace) -> None:
    """A pipe nobody reads."""
    _warm_up(pace)
    _, pipe = os.pipe()
    pace.hang()
    while True:
        os.write(pipe, bytes(65536))


def silent_phase(pace: Pace) -> None:
    """The fourth evaluation never ends; it computes."""
    for _ in range(3):
        pace.train(pace.step_s)
        pace.spend(Phase.EVALUATING, max(1.0, pace.step_s))
    _warm_up(pace)
    pace.reporter.phase(Phase.EVALUATING, step=pace.step)
    pace.hang()
    while True:
        pass


def slow(pace: Pace) -> None:
    """It computes a little and waits a lot."""
    _warm_up(pace)
    pace.hang()
    while True:
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
        time.sleep(0.2)


def jitters(pace: Pace) -> None:
    """Steps of very different lengths, as texts of very different lengths make them."""
    while pace.goes_on():
        pace.train(min(8.0, pace.step_s * pace.random.lognormvariate(0.0, 0.9)))


def crawls(pace: Pace) -> None:
    """Long steps, some twice as long."""
    while pace.goes_on():
        pace.train(5.0 * pace.step_s * pace.random.choice((0.8, 1.0, 1.2, 2.0)))


def evaluates_long(pace: Pace) -> None:
    """Quick steps between silent evaluations, and a checkpoint that takes its time."""
    while pace.goes_on():
        for _ in range(10):
            pace.train(0.1 * pace.step_s)
        pace.spend(Phase.EVALUATING, pace.random.uniform(2.0, 7.0))
        pace.spend(Phase.SAVING, pace.random.uniform(0.5, 4.0))


def pauses(pace: Pace) -> None:
    """Quick steps, and now and then seconds of nothing: a garbage collection, a cold disk, a full cache."""
    while pace.goes_on():
        is_pause = pace.random.random() < 0.03
        pace.train(pace.random.uniform(3.0, 8.5) if is_pause else 0.2 * pace.step_s)


def computes(pace: Pace) -> None:
    """Steps that need a processor: on a crowded machine they take as long as they take."""
    while pace.goes_on():
        until = time.process_time() + 0.3 * pace.step_s
        while time.process_time() < until:
            pass
        pace.train(0.0)


HANGS: dict[str, Trainer] = {
    trainer.__name__: trainer
    for trainer in (
        deadlocked,
        deadlocked_holding_the_interpreter,
        busy_stuck,
        stopped,
        blocked_on_io,
        silent_phase,
        slow,
    )
}
HEALTHY: dict[str, Trainer] = {
    trainer.__name__: trainer for trainer in (jitters, crawls, evaluates_long, pauses, computes)
}


def start(
    folder: Path, kind: str, *, step_s: float, seconds: float = 0.0, seed: int = 0
) -> tuple[RunPaths, subprocess.Popen[bytes]]:
    """A supervisor over a trainer of this kind, with default limits and no second attempt."""
    folder.mkdir(parents=True)
    paths = RunPaths(folder)
    policy = {"max_attempts": 1}
    RunSpec(
        folder.name, kind, "paced", "none", {}, time.time(), str(folder), stop_grace_s=1.0, policy=policy
    ).save(paths)
    with paths.supervisor_log.open("ab") as log:
        supervisor = subprocess.Popen(
            _command("supervise", kind, folder, step_s, seconds, seed),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    return paths, supervisor


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    """The supervisor's events of one type."""
    parts = segments(paths.spool(Stream.SUPERVISOR))
    lines = [line for part in parts for line in part.read_bytes().split(b"\n")[:-1]]
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def _command(role: str, kind: str, folder: Path, step_s: float, seconds: float, seed: int) -> list[str]:
    module = [sys.executable, "-u", "-m", "benchmarks.paced_trainers"]
    return [*module, role, kind, str(folder), str(step_s), str(seconds), str(seed)]


def _train(kind: str, paths: RunPaths, step_s: float, seconds: float, seed: int) -> None:
    answer_with_stacks(paths, attempt=1)
    reporter = Reporter(paths, attempt=1)
    Controls(paths)
    pace = Pace(reporter, paths.root, step_s, time.monotonic() + seconds, random.Random(seed))
    with contextlib.closing(reporter):
        (HANGS | HEALTHY)[kind](pace)
        reporter.finished(pace.step, reason="completed", metrics={"last": {}, "best": {}})


def run() -> None:
    """Be the supervisor or the trainer."""
    role, kind, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    step_s, seconds, seed = float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
    if role == "train":
        _train(kind, RunPaths(folder), step_s, seconds, seed)
        return
    supervise(
        RunPaths(folder),
        make_command=lambda root, attempt: _command("train", kind, folder, step_s, seconds, seed),
    )


if __name__ == "__main__":
    run()
