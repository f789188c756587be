"""What a run has reported, read from its spool: the truth to compare the API with."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.e2e.dashboard import Dashboard
from tests.waiting import wait_for
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, segments


def spooled_events(paths: RunPaths, stream: Stream) -> list[dict[str, Any]]:
    """All whole lines of one stream, oldest first."""
    lines = [
        line
        for segment in segments(paths.spool(stream))
        for line in segment.read_bytes().split(b"\n")[:-1]  # what follows the last newline is a torn tail
    ]
    return [json.loads(line) for line in lines]


def spooled_points(paths: RunPaths) -> Counter[str]:
    """Number of points per series over both streams."""
    return Counter(
        name
        for stream in Stream
        for event in spooled_events(paths, stream)
        if event["type"] == "metrics"
        for name in event["values"]
    )


def stored_points(dashboard: Dashboard, run_id: str) -> dict[str, int]:
    """Number of points per series as the API counts them."""
    listed = dashboard.get(f"/api/runs/{run_id}/metrics")["metrics"]
    return {series["name"]: series["total_points"] for series in listed}


def assert_nothing_is_lost(dashboard: Dashboard, run_id: str) -> None:
    """Every event that an ended run has spooled is in the database, once and in order."""
    paths = dashboard.paths(run_id)
    reported = dict(spooled_points(paths))
    assert reported, "the run has reported nothing"
    wait_for(
        lambda: stored_points(dashboard, run_id) == reported,
        what=lambda: f"equality: spooled {reported}, stored {stored_points(dashboard, run_id)}",
    )
    for stream in Stream:
        numbers = [event["seq"] for event in spooled_events(paths, stream)]
        assert numbers == list(range(1, len(numbers) + 1)), f"{stream} has gaps or repeats"
    wait_for(  # the last words come behind the exit record, which ends the run before them
        lambda: _stored_events(dashboard, run_id) == _spooled_kinds(paths),
        what=lambda: f"equality: spooled {_spooled_kinds(paths)}, stored {_stored_events(dashboard, run_id)}",
    )


def _spooled_kinds(paths: RunPaths) -> Counter[str]:
    """How often which event was reported, without points and what are columns of the run's row."""
    return Counter(
        event["type"]
        for stream in Stream
        for event in spooled_events(paths, stream)
        if event["type"] not in ("metrics", "progress")
    )


def _stored_events(dashboard: Dashboard, run_id: str) -> Counter[str]:
    listed = dashboard.get(f"/api/runs/{run_id}/events?limit=1000")["events"]
    return Counter(event["type"] for event in listed)
