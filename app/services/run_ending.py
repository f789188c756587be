"""A person declares a run ended that nobody can reach any more.

Only where nobody supervises it: a living supervisor knows better, and would
go on training under a run that is said to have ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.run_states import ACTIVE, RunState
from app.errors import Conflict
from app.launchers.launcher import Launcher
from app.services.queue import RunFeed
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import ExitRecord, RunPaths

BY_HAND: Final = "marked as ended by hand"
_MARKABLE: Final = ACTIVE | {RunState.LOST}


class EndingDesk:
    """Takes a person's word for how a run ended."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        launcher: Launcher,
        live: RunFeed,
        is_launching: Callable[[str], bool],
        wake_queue: Callable[[], None],
    ) -> None:
        """Wire it.

        Args:
            store: where runs are kept.
            settings: where run folders lie.
            launcher: knows who supervises a run.
            live: told after the commit.
            is_launching: whether a supervisor is just about to be started for a run.
            wake_queue: called when room was made.
        """
        self._store = store
        self._settings = settings
        self._launcher = launcher
        self._live = live
        self._is_launching = is_launching
        self._wake_queue = wake_queue

    def mark_ended(self, run_id: str, *, state: RunState, reason: str) -> Run:
        """Move an active or lost run that nobody supervises to ``state``, stopped or failed.

        Raises:
            NotFound: there is no such run.
            Conflict: it waits, has ended, or is alive; names the process that supervises it.
        """
        paths = RunPaths(self._settings.runs_dir / run_id)

        def work(session: Session) -> Run:
            if self._is_launching(run_id):
                raise Conflict(f"Run {run_id} is just being started.", hint="Try again in a few seconds.")
            return _mark(session, run_id, new=state, reason=reason, paths=paths, launcher=self._launcher)

        run = self._store.write(work)
        self._live.run_changed(run_id)
        self._wake_queue()
        return run


def _mark(
    session: Session, run_id: str, *, new: RunState, reason: str, paths: RunPaths, launcher: Launcher
) -> Run:
    run = run_rows.get_run(session, run_id)
    state = RunState(run.state)
    if state not in _MARKABLE:
        hint = (
            "Take it out of the queue with Stop." if state is RunState.QUEUED else "Its end is known already."
        )
        raise Conflict(f"Run {run_id} is {state.value}, so there is nothing to mark.", hint=hint)
    pid = launcher.supervisor_pid(paths)
    if pid is not None:
        raise Conflict(
            f"Run {run_id} is alive: process {pid} supervises it.",
            hint="Stop it, or Kill it if stopping takes too long; both reach that process.",
        )
    if launcher.is_running(paths):
        raise Conflict(
            f"Run {run_id} is just being started.", hint="Wait a few seconds, then Stop or Kill it."
        )
    if _has_record(paths, run):
        raise Conflict(
            f"Run {run_id} has ended by itself, and its record tells how.",
            hint="It is shown within a few seconds.",
        )
    return run_rows.transition(
        session,
        run_id,
        new=new,
        old=frozenset({state}),
        reason=f"{BY_HAND}: {reason}" if reason else BY_HAND,
        stop_requested=new is RunState.STOPPED,
        ended_at=run.ended_at or time.time(),  # a lost run ended when it was lost
    )


def _has_record(paths: RunPaths, run: Run) -> bool:
    """Whether the present launch has left an exit record that can be read."""
    try:
        record = ExitRecord.load(paths)
    except ProtocolError:
        return False
    return record is not None and record.ended_at >= run.queued_at
