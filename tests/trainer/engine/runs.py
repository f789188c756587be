"""Reads what a run has left in its folder, and starts real trainers on one."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.children import tiny_task
from tests.trainer.warm import Launched, launch
from trainer.engine.process import train_run
from trainer.protocol.events import Stream, decode_number, snapshot_name
from trainer.protocol.run_folder import RunPaths, segments

ROOT = Path(__file__).resolve().parents[3]


def events(paths: RunPaths, event_type: str | None = None) -> list[dict[str, Any]]:
    """The whole lines of the spool, in order."""
    content = b"".join(segment.read_bytes() for segment in segments(paths.spool(Stream.TRAINER)))
    found = [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    return [event for event in found if event_type in (None, event["type"])]


def series(paths: RunPaths, name: str, *, attempt: int | None = None) -> dict[int, float]:
    """The newest value of a metric at each step."""
    return {
        event["step"]: decode_number(event["values"][name])
        for event in events(paths, "metrics")
        if name in event["values"] and attempt in (None, event["attempt"])
    }


def snapshot(paths: RunPaths, step: int) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        gzip.decompress((paths.snapshots / snapshot_name(step)).read_bytes())
    )
    return content


def train_here(root: Path, *, attempt: int = 1, **params: Any) -> RunPaths:
    """Train the tiny task in this process to its end."""
    paths = tiny_task.create_run(root, **params)
    train_run(paths, attempt=attempt, entry=tiny_task.entry)
    return paths


def start(paths: RunPaths, *, attempt: int = 1) -> Launched:
    """Start a real trainer process; the first attempt is a warm one."""
    log = paths.root.parent / f"{paths.root.name}-{attempt}.log"
    module = tiny_task.__name__
    return launch(log, module, str(paths.root), str(attempt), is_warm=attempt == 1)


def wait_until(
    condition: Callable[[], bool], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """Wait for a condition with a limit.

    Raises:
        AssertionError: it did not come true in time.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout_s} s")
        time.sleep(0.002)
