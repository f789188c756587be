"""What waits, in which order and until when, and what people may do about it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.priorities import priority_word
from app.domain.queue_forecast import Forecast, forecast
from app.domain.run_states import ACTIVE, RunState
from app.errors import Conflict, InvalidRequest
from app.services.durations import Durations, Estimate
from app.services.queue import RunFeed
from app.services.run_reader import RunReader
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run

_SHOWN: Final = (
    *("id", "name", "recipe", "dataset", "state", "reason", "priority", "phase", "tags"),
    *("step", "total_steps", "attempt", "queued_at", "started_at", "created_at"),
)


class Stopper(Protocol):
    """What can end a run in good order."""

    def stop(self, run_id: str) -> Run:
        """Ask the run to end after a last checkpoint."""


class QueueDesk:
    """The use cases of the queue page; launching itself is :class:`app.services.queue.RunQueue`."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        live: RunFeed,
        runs: Stopper,
        wake_queue: Callable[[], None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._live = live
        self._runs = runs
        self._wake_queue = wake_queue
        self._reader = RunReader(store)

    def view(self) -> dict[str, Any]:
        """Active and waiting runs with what is known of their starts and ends."""
        now = time.time()
        with self._store.read() as session:
            active = run_rows.active_runs(session)
            waiting = run_rows.queued_runs(session)
            durations = Durations(session, now=now, stop_grace_s=self._settings.stop_grace_s)
            left = [durations.left(run) for run in active]
            whole = [durations.whole(run) for run in waiting]
        told = forecast(
            now=now,
            max_runs=self._settings.max_runs,
            seconds_left=[one.seconds for one in left],
            durations_s=[one.seconds for one in whole],
        )
        return {
            "max_runs": self._settings.max_runs,
            "time": now,
            "active": [_active(run, one, now) for run, one in zip(active, left, strict=True)],
            "waiting": [
                _waiting(position, run, one, when)
                for position, (run, one, when) in enumerate(zip(waiting, whole, told, strict=True), start=1)
            ],
        }

    def arrange(self, run_ids: Sequence[str]) -> dict[str, Any]:
        """Let these runs start in this order, each within its priority; all of them, or nothing changes.

        Queued runs that are not named keep their order and follow those of their priority that are.

        Raises:
            InvalidRequest: a run is named twice.
            Conflict: some are no longer queued; names them.
        """
        repeated = [run_id for run_id, times in Counter(run_ids).items() if times > 1]
        if repeated:
            raise InvalidRequest(f"run {repeated[0]} is named twice", field="runs")

        def work(session: Session) -> list[str]:
            queued = run_rows.queued_runs(session)
            known = {run.id for run in queued}
            gone = [run_id for run_id in run_ids if run_id not in known]
            if gone:
                raise Conflict(
                    f"No longer queued: {', '.join(gone)}.",
                    hint="Load the queue and arrange what waits.",
                )
            wanted = {run_id: place for place, run_id in enumerate(run_ids)}
            return _rank(session, queued, wanted)

        for run_id in self._store.write(work):
            self._live.run_changed(run_id)
        self._wake_queue()
        return self.view()

    def skip(self, run_id: str | None) -> dict[str, Any]:
        """Stop an active run in good order, so that the next one starts; says which.

        Args:
            run_id: which to stop; None is enough where a single run is active.
        Raises:
            Conflict: nothing waits, the run is not active, or not exactly one is and none is named.
        """
        with self._store.read() as session:
            active = run_rows.active_runs(session)
            following = run_rows.next_queued(session)
        if run_id is None:
            if len(active) != 1:
                raise Conflict(
                    f"{len(active) or 'No'} runs are active.",
                    hint="Name the one to stop." if active else "Whatever waits starts by itself.",
                )
            run_id = active[0].id
        present = self._reader.get(run_id)
        if RunState(present.state) not in ACTIVE:
            raise Conflict(f"Run {run_id} is {present.state}, so there is nothing to skip.")
        if following is None:
            raise Conflict("Nothing waits in the queue.", hint="Stop the run if you want it to end.")
        stopped = self._runs.stop(run_id)
        return {"stopping": _brief(stopped), "next": _brief(following)}


def _rank(session: Session, queued: Sequence[Run], wanted: dict[str, int]) -> list[str]:
    """Write the ranks of every priority that has a wish; the ids of the runs whose rank changed.

    Ranks are negative, so that runs queued later (rank 0) come after all that were arranged.
    """
    changed = []
    touched = {run.priority for run in queued if run.id in wanted}
    for priority in touched:
        members = [run for run in queued if run.priority == priority]
        members.sort(key=lambda run: wanted.get(run.id, len(wanted)))  # stable: the others stay in order
        for rank, run in enumerate(members, start=-len(members)):
            if run.queue_rank != rank:
                changed.append(run.id)
                run_rows.touch(session, run.id, queue_rank=rank)
    return changed


def _brief(run: Run) -> dict[str, Any]:
    shown = {name: getattr(run, name) for name in _SHOWN}
    return {**shown, "priority_name": priority_word(run.priority)}


def _active(run: Run, left: Estimate, now: float) -> dict[str, Any]:
    end_at = None if left.seconds is None else now + left.seconds
    return {"run": _brief(run), "seconds_left": left.seconds, "end_at": end_at, "basis": left.basis}


def _waiting(position: int, run: Run, whole: Estimate, when: Forecast) -> dict[str, Any]:
    return {
        "position": position,
        "run": _brief(run),
        "priority": priority_word(run.priority),
        "start_at": when.start_at,
        "start_is_latest": when.is_latest,
        "end_at": when.end_at,
        "duration_s": whole.seconds,
        "basis": whole.basis,
    }
