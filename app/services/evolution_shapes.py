"""Shapes of evolution answers: what is said of a snapshot and of a dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

from app.domain.numbers import finite, number, whole
from app.store.models import Snapshot
from app.store.snapshots import Moment
from trainer.protocol.events import snapshot_name

PROBE: Final = ("example_id", "index", "input", "expected_output", "group")
_BESIDE: Final = (
    "model_output", "loss", "exact_match", "similarity", "rank", "margin", "score", "top",
    "probabilities",
)  # fmt: skip
_LISTS: Final = ("top", "probabilities")
_MOST_LISTED: Final = 3
Taken = TypeVar("Taken", Snapshot, Moment)


def asked_alike(taken: Sequence[Taken]) -> list[Taken]:
    """Those of some snapshots by step that asked what their newest asked: only they can be compared."""
    return [one for one in taken if one.probe_set == taken[-1].probe_set]


def merit(one: Snapshot) -> tuple[float, float, int]:
    """Larger is better: accuracy, then small loss, then early."""
    accuracy, loss = number(one.summary.get("accuracy")), number(one.summary.get("avg_loss"))
    return (-math.inf if accuracy is None else accuracy, -math.inf if loss is None else -loss, -one.step)


def beside(answer: dict[str, Any]) -> dict[str, Any]:
    """What is compared of two answers to one probe; of what was found only the first few."""
    found: dict[str, Any] = {name: answer[name] for name in _BESIDE if name in answer}
    for name in _LISTS:
        if name in found:
            found[name] = found[name][:_MOST_LISTED]
    return found


def facts(one: Snapshot | Moment) -> dict[str, Any]:
    """When a snapshot was taken, of which model, at what cost in seconds."""
    return {
        "timestamp": _timestamp(one.t),
        "model_version": one.model_version,
        "epoch": finite(one.epoch),
        "cost_s": finite(one.cost_s),
    }


@lru_cache(maxsize=4_096)
def _timestamp(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).isoformat()


def summary(one: Snapshot) -> dict[str, Any]:
    """The summary with the five keys old clients read always there."""
    stored = {name: number(value) for name, value in one.summary.items()}
    total = whole(stored.get("total_examples"), low=1) or one.num_examples
    correct = whole(stored.get("correct"), low=0) or 0
    return {
        **stored,
        "avg_loss": stored.get("avg_loss"),
        "accuracy": stored.get("accuracy", correct / total),
        "total_examples": total,
        "correct": correct,
        "incorrect": total - correct,
    }


def entry_json(one: Snapshot) -> dict[str, Any]:
    """A snapshot without its examples."""
    return {
        "step": one.step,
        **facts(one),
        "summary": summary(one),
        "filename": snapshot_name(one.step),
        "run": one.run_id,
        "attempt": one.attempt,
        "task": one.task,
        "probe_set": one.probe_set,
    }


def dataset_json(dataset: str, run_ids: list[str], taken: list[Snapshot]) -> dict[str, Any]:
    """A dataset with the snapshots of its newest run; first and best are of those that can be compared."""
    alike = asked_alike(taken)
    return {
        "name": dataset,
        "snapshot_count": len(taken),
        "first_step": taken[0].step,
        "last_step": taken[-1].step,
        "path": f"runs/{run_ids[0]}/snapshots",
        "task": taken[-1].task,
        "run": run_ids[0],
        "runs": run_ids,
        "updated_at": taken[-1].t,
        "first_summary": summary(alike[0]),
        "summary": summary(taken[-1]),
        "best_step": max(alike, key=merit).step,
    }
