"""Where a dropped file stands.

Only the standard library may be imported here.  From ``queued`` on a file
stands where its run does, so the state is read off the run and cannot
contradict it: only a finished run makes a file ``done``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from app.domain.run_states import ACTIVE, RunState


class InboxState(StrEnum):
    """Where a dropped file stands."""

    WAITING = "waiting"
    CHECKING = "checking"
    QUEUED = "queued"
    TRAINING = "training"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DUPLICATE = "duplicate"


WITH_RUN: Final = frozenset(
    {InboxState.QUEUED, InboxState.TRAINING, InboxState.DONE, InboxState.FAILED, InboxState.CANCELLED}
)
TAKEN: Final = frozenset({InboxState.CHECKING, InboxState.QUEUED, InboxState.TRAINING})
"""The inbox is at work on it, or its run is: it can be neither retried nor forgotten."""
KNOWN: Final = TAKEN | {InboxState.DONE}
"""Content that needs no second training."""


def state_with_run(run: RunState) -> InboxState:
    """Where a file stands whose run is in the given state."""
    if run is RunState.QUEUED:
        return InboxState.QUEUED
    if run in ACTIVE:
        return InboxState.TRAINING
    ends = {RunState.FINISHED: InboxState.DONE, RunState.STOPPED: InboxState.CANCELLED}
    return ends.get(run, InboxState.FAILED)
