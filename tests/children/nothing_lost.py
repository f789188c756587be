"""What must hold of every run that has ended, however it ended."""

from __future__ import annotations

import json
from pathlib import Path

import psutil

from tests.children.dashboard import batches_of, output_of
from tests.trainer.supervisor.supervised import events, living, trainer_pid
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.console import console_path
from trainer.supervisor.tree import marked


def assert_nothing_is_lost(paths: RunPaths, accepted: Path) -> None:
    """All that was reported lies in the spool without a gap, and the dashboard has acknowledged all of it.

    Args:
        paths: of the run.
        accepted: the folder of ``tests.children.dashboard``.
    """
    for stream in Stream:
        numbers = [event["seq"] for event in events(paths, stream)]
        assert numbers == list(range(1, len(numbers) + 1)), f"{stream} has gaps or repeats"
        batches = batches_of(accepted, stream)
        assert (batches[-1].last if batches else 0) == len(numbers), f"{stream} was not shipped to its end"
    reported = sum(event["type"] == "metrics" for event in events(paths, Stream.TRAINER))
    blocks = [block for batch in batches_of(accepted, Stream.TRAINER) for block in batch.blocks]
    assert sum(len(block.steps) for block in blocks) == reported
    assert output_of(accepted, 1) == console_path(paths, 1).read_bytes()


def assert_nothing_is_left(paths: RunPaths) -> None:
    """No process of the run lives, in whatever session; ``pids.json`` holds those that are known."""
    assert marked(str(paths.root)) == []
    pids = paths.root / "pids.json"
    known = json.loads(pids.read_text()) if pids.exists() else []
    if (paths.attempt(1) / "process.json").exists():
        known.append(trainer_pid(paths))
    assert living(known) == [], [psutil.Process(pid).cmdline() for pid in living(known)]
