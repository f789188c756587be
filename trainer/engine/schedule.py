"""When snapshots are due, and whether the run can afford them; scripts that report themselves share it."""

from __future__ import annotations

from trainer.telemetry.snapshot_schedule import (
    EARLY_STEPS,
    LATE_EVERY,
    UPFRONT_CREDIT_S,
    SnapshotBudget,
    SnapshotSchedule,
    next_due_after,
)

__all__ = [
    "EARLY_STEPS",
    "LATE_EVERY",
    "UPFRONT_CREDIT_S",
    "SnapshotBudget",
    "SnapshotSchedule",
    "next_due_after",
]
