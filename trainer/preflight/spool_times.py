"""What the spool of a short run says about time: steps, phases, checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from trainer.preflight.outlook import Pace
from trainer.protocol.events import EventType, Phase, Stream
from trainer.protocol.run_folder import RunPaths, segments

LOSS = "train/loss"


def events_of(paths: RunPaths) -> list[dict[str, Any]]:
    """All whole events of the trainer so far, in order."""
    return [event for path in segments(paths.spool(Stream.TRAINER)) for event in _events(path)]


def losses(events: list[dict[str, Any]]) -> dict[int, Any]:
    """The training loss of every step as it was written; where a step was done twice, the later one."""
    return {
        int(event["step"]): event["values"][LOSS]
        for event in events
        if event["type"] == EventType.METRICS and LOSS in event["values"]
    }


def pace_of(events: list[dict[str, Any]], *, started_at: float) -> Pace | None:
    """How fast the run was; None before its second step.

    Args:
        events: of the trainer, in order.
        started_at: when its process was started, Unix seconds.
    """
    steps: list[float] = []
    last: float | None = None
    first: float | None = None
    for event in events:
        if event["type"] == EventType.PHASE:
            last = None
        elif event["type"] == EventType.METRICS and LOSS in event["values"]:
            first = event["t"] if first is None else first
            if last is not None:
                steps.append(event["t"] - last)
            last = event["t"]
    if first is None or not steps:
        return None
    asides = [Phase.EVALUATING, Phase.SNAPSHOTTING, Phase.SAVING]
    before = [event for event in events if event["t"] <= first]
    return Pace(
        load_s=max(0.0, first - started_at - sum(sum(_spans(before, phase)) for phase in asides)),
        step_s=median(steps),
        evaluate_s=_mean(_spans(events, Phase.EVALUATING)),
        save_s=_mean(_spans(events, Phase.SAVING)),
    )


def checkpoint_bytes(events: list[dict[str, Any]]) -> int:
    """Of the largest checkpoint announced; 0 when there was none."""
    saved = [int(event["bytes"]) for event in events if event["type"] == EventType.CHECKPOINT]
    return max(saved, default=0)


def _spans(events: list[dict[str, Any]], phase: Phase) -> list[float]:
    """Seconds of every time the trainer was in ``phase``."""
    spans, since = [], None
    for event in events:
        if event["type"] != EventType.PHASE:
            continue
        if since is not None and event["name"] != phase:
            spans.append(event["t"] - since)
            since = None
        elif since is None and event["name"] == phase:
            since = event["t"]
    return spans


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _events(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)
