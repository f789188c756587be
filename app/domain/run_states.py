"""The states of a run and the moves between them.

Only the standard library may be imported here.  "Disconnected" is a property
of a link, never a state.  ``stopped`` is a user's wish, ``failed`` has a
reason, ``lost`` means nobody can know.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    RETRYING = "retrying"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"


_ENDS: Final = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.LOST})

TRANSITIONS: Final[dict[RunState, frozenset[RunState]]] = {
    RunState.QUEUED: frozenset({RunState.STARTING, RunState.STOPPED, RunState.FAILED}),
    RunState.STARTING: _ENDS | {RunState.RUNNING, RunState.STALLED, RunState.STOPPING, RunState.RETRYING},
    RunState.RUNNING: _ENDS | {RunState.STALLED, RunState.STOPPING, RunState.RETRYING},
    RunState.STALLED: _ENDS | {RunState.RUNNING, RunState.STOPPING, RunState.RETRYING},
    RunState.STOPPING: _ENDS,
    RunState.RETRYING: _ENDS | {RunState.STARTING, RunState.RUNNING, RunState.STOPPING},
    RunState.FINISHED: frozenset(),
    RunState.STOPPED: frozenset({RunState.QUEUED}),  # resume: a further attempt of the same run
    RunState.FAILED: frozenset({RunState.QUEUED}),
    # "lost" is a guess; a supervisor that comes back, or its exit record, corrects it
    RunState.LOST: frozenset(
        {RunState.QUEUED, RunState.RUNNING, RunState.FINISHED, RunState.STOPPED, RunState.FAILED}
    ),
}

ENDED: Final = _ENDS
ACTIVE: Final = frozenset(RunState) - _ENDS - {RunState.QUEUED}  # a supervisor is, or should be, alive
RESUMABLE: Final = frozenset(s for s, targets in TRANSITIONS.items() if RunState.QUEUED in targets)


def sources_of(new: RunState) -> frozenset[RunState]:
    """The states from which ``new`` may be reached."""
    return frozenset(old for old, targets in TRANSITIONS.items() if new in targets)
