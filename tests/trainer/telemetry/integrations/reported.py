"""A user's script under a real supervisor, and what it said of itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

from tests.trainer.supervisor.supervised import ROOT, STARTED, events
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec


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


def told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    """Its events of one kind."""
    return [event for event in events(paths, Stream.TRAINER) if event["type"] == kind]


def steps_of(paths: RunPaths, name: str) -> list[int]:
    """The steps at which it measured ``name``."""
    return [event["step"] for event in told(paths, "metrics") if name in event["values"]]
