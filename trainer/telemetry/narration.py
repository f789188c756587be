"""What a trainer's own log says: one plain line for each event a person would want to read there."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.events import EventType

log: Final = logging.getLogger("trainer")
_MIB: Final = 2**20


def narrate(event_type: EventType, body: Mapping[str, Any]) -> None:
    """Log ``body`` in words; events that come often say nothing. Never raises."""
    try:
        line = line_of(event_type, body)
    except (TypeError, ValueError, KeyError, AttributeError):
        line = (
            f"{event_type.value}: {dict(body)}"  # odd values are the reporter's to clean, not ours to refuse
        )
    if line is not None:
        log.log(_level(body), line)


def line_of(event_type: EventType, body: Mapping[str, Any]) -> str | None:
    """The line for one event, or None where the log would only grow by it."""
    match event_type:
        case EventType.DATASET:
            counted = (f"{name.replace('_', ' ')} {count:,}" for name, count in body["counts"].items())
            return f"dataset {body['name']}: {', '.join(counted)}"
        case EventType.DEVICE:
            return f"training on {body['name']}"
        case EventType.SNAPSHOT:
            return f"step {body['step']}: snapshot, took {body['cost_s']:.2f} s"
        case EventType.SNAPSHOT_SKIPPED:
            return f"step {body['step']}: snapshot left out: {body['reason']}"
        case EventType.CHECKPOINT:
            best = ", the best so far" if body["best"] else ""
            return f"step {body['step']}: checkpoint {body['file']} ({body['bytes'] / _MIB:.1f} MiB{best})"
        case EventType.ALERT:
            return f"{body['level']}: {body['title']}: {body['text']}"
        case EventType.FINISHED:
            return f"step {body['step']}: {body['reason'].replace('_', ' ')}"
        case _:
            return None


def _level(body: Mapping[str, Any]) -> int:
    return {"warning": logging.WARNING, "error": logging.ERROR}.get(str(body.get("level")), logging.INFO)
