"""A run as the JSON object that REST, the viewer socket and the pages share."""

from __future__ import annotations

import math
from typing import Any, Final

from app.domain.priorities import priority_word
from app.domain.run_states import ENDED, RESUMABLE, RunState
from app.store.models import Attempt, Checkpoint, Run, RunEvent
from trainer.environment.secrets import shown_all

_EVENT_FIXED: Final = frozenset({"stream", "seq", "t", "type"})


def run_to_json(run: Run) -> dict[str, Any]:
    """Everything a table, a badge or a script wants to know of a run; times in Unix seconds."""
    state = RunState(run.state)
    return {
        "id": run.id,
        "name": run.name,
        "recipe": run.recipe,
        "dataset": run.dataset,
        "columns": run.columns,
        "dataset_hash": run.dataset_hash,
        "dataset_counts": run.dataset_counts,
        "params": run.params,
        "script": run.script,
        "tags": run.tags,
        "policy": run.policy,
        "profile": run.profile,
        "environment": shown_all(run.environment),
        "rungs": run.rungs,
        "priority": run.priority,
        "priority_name": priority_word(run.priority),
        "state": run.state,
        "reason": run.reason,
        "is_ended": state in ENDED,
        "is_resumable": state in RESUMABLE,
        "stop_requested": run.stop_requested,
        "step": run.step,
        "total_steps": run.total_steps,
        "epoch": run.epoch,
        "num_epochs": run.num_epochs,
        "phase": run.phase,
        "device": run.device,
        "heartbeat_at": run.heartbeat_at,
        "progress_at": run.progress_at,
        "attempt": run.attempt,
        "exit_code": run.exit_code,
        "exit_signal": run.exit_signal,
        "queued_at": run.queued_at,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "active_alerts": run.active_alerts,
        "latest": {name: finite(value) for name, value in (run.latest or {}).items()},
    }


def attempt_to_json(attempt: Attempt) -> dict[str, Any]:
    """One launch of a run's trainer, without its environment."""
    return {
        "attempt": attempt.number,
        "from_step": attempt.from_step,
        "reached_step": attempt.reached_step,
        "pid": attempt.pid,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "exit_code": attempt.exit_code,
        "exit_signal": attempt.exit_signal,
        "ended_reason": attempt.ended_reason,
        "plan": attempt.plan,
        "command": attempt.command,
    }


def checkpoint_to_json(checkpoint: Checkpoint) -> dict[str, Any]:
    """One checkpoint as the trainer announced it."""
    return {
        "attempt": checkpoint.attempt,
        "step": checkpoint.step,
        "file": checkpoint.file,
        "bytes": checkpoint.num_bytes,
        "sha256": checkpoint.sha256,
        "metrics": {name: finite(value) for name, value in checkpoint.metrics.items()},
        "best": checkpoint.best,
        "reason": checkpoint.reason,
        "created_at": checkpoint.created_at,
    }


def event_to_json(event: RunEvent) -> dict[str, Any]:
    """A sparse event as it came, with the stream that numbered it."""
    body = {name: value for name, value in event.body.items() if name not in _EVENT_FIXED}
    return {"stream": event.stream, "seq": event.seq, "t": event.t, "type": event.type, **body}


def finite(value: object) -> float | None:
    """A number as it is; NaN, infinities and their words become None, which JSON calls null."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value
