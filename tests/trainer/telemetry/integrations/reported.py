"""A user's script under a real supervisor, and what it said of itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

from tests.trainer.supervisor.supervised import ROOT, STARTED, events, finish
from tests.waiting import wait_for
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec


def start(paths: RunPaths, script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Supervise a script of ``tests/children``, which gets the run's folder as its first argument."""
    replace(RunSpec.load(paths), recipe="script", stop_grace_s=60.0).save(paths)
    file = ROOT / "tests" / "children" / script
    command = [
        sys.executable, "-m", "tests.children.supervisor_of_script", str(paths.root), str(file),
        str(paths.root), *arguments,
    ]  # fmt: skip
    supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT)
    STARTED.append(supervisor)
    return supervisor


def stopped_after_two_evaluations(paths: RunPaths, script: str, *arguments: str) -> tuple[ExitRecord, str]:
    """Start a script and stop it when it has evaluated twice; how it ended, and its output."""
    supervisor = start(paths, script, *arguments)
    wait_for(
        lambda: len(steps_of(paths, "eval/loss")) >= 2 or supervisor.poll() is not None,
        what=lambda: f"second evaluation; {paths.output(1).read_text()[-2000:]}",
        timeout_s=200,
    )
    os.kill(supervisor.pid, signal.SIGTERM)
    return finish(supervisor, paths, timeout_s=60), paths.output(1).read_text()


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    """Its events of one kind."""
    return [event for event in events(paths, Stream.TRAINER) if event["type"] == kind]


def steps_of(paths: RunPaths, name: str) -> list[int]:
    """The steps at which it measured ``name``."""
    return [event["step"] for event in told(paths, "metrics") if name in event["values"]]
