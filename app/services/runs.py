"""Everything a person may do to a run: create, stop, resume, clone, rename, delete …

Every change of state goes through ``store.runs.transition``; orders to a live
run go over its supervisor's link, and where that is down by a signal or an
order file to the supervisor on this machine.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.run_states import ACTIVE, ENDED, RESUMABLE, RunState
from app.errors import Conflict, Unavailable
from app.launchers.launcher import Launcher
from app.services.new_runs import insert_once
from app.services.queue import RunFeed
from app.services.run_plan import RunPlan, plan_run, preview_of
from app.services.run_policy import check_policy
from app.services.run_reader import RunReader
from app.services.scripts import check_ear
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.events import Command, Phase
from trainer.protocol.run_folder import RunPaths

KILL_SIGNAL: Final = signal.SIGQUIT
KILLING: Final = "to be killed at once"  # while its processes end; the pages know these words
WIND_UP_S: Final = 4.0  # what a supervisor whose run has ended gets to leave
_STOPPABLE: Final = ACTIVE - {RunState.STOPPING}


class DeletionFeed(RunFeed, Protocol):
    """A feed that can also say that a run is gone."""

    def deleted(self, run_id: str) -> None:
        """Tell the watchers that this run no longer exists."""


class Runs(RunReader):
    """The use cases of runs: everything that can be read of them, and everything that changes them."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        live: DeletionFeed,
        launcher: Launcher,
        send_command: Callable[[str, Command], bool],
        wake_queue: Callable[[], None],
    ) -> None:
        """Wire the use cases.

        Args:
            store: where runs are kept.
            settings: folders, limits and grace times.
            live: told after every committed change.
            launcher: reaches supervisors whose link is down.
            send_command: sends an order over a run's link; False when there is no link.
            wake_queue: called when a run was queued or room was made.
        """
        super().__init__(store)
        self._settings = settings
        self._live = live
        self._launcher = launcher
        self._send = send_command
        self._wake_queue = wake_queue

    def paths(self, run_id: str) -> RunPaths:
        """The folder of a run; ``run_id`` must come from the database."""
        return RunPaths(self._settings.runs_dir / run_id)

    def create(
        self,
        recipe: str,
        dataset: str,
        params: Mapping[str, Any],
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        policy: Mapping[str, Any] | None = None,
        profile: str | None = None,
        environment: Mapping[str, object] | None = None,
        columns: Mapping[str, str] | None = None,
        script: str = "",
        priority: int = 0,
        idempotency_key: str | None = None,
        before_queueing: Callable[[RunPlan], None] | None = None,
    ) -> tuple[Run, bool]:
        """Queue a new run, unless ``before_queueing`` raises; with a key used before, return its run.

        Returns:
            The run, and whether this call created it.
        Raises:
            InvalidRequest: ``field`` names what is wrong: recipe, script, dataset, profile, ``params.NAME``,
                ``columns.ROLE``, ``environment.NAME`` or ``policy.NAME``.
            Conflict: the key belongs to a run with other settings.
            Unavailable: over a thousand runs are waiting.
        """
        plan = self._plan(
            *(recipe, dataset, params),
            profile=profile,
            environment=environment,
            columns=columns,
            script=script,
        )
        wanted_policy = check_policy(policy or {})
        self._ask_about(plan, before_queueing, idempotency_key)  # may take seconds: not inside the writer

        def work(session: Session) -> tuple[Run, bool]:
            values = {"tags": list(tags), "policy": wanted_policy, "priority": priority}
            return insert_once(session, plan, name=name, idempotency_key=idempotency_key, **values)

        run, created = self._store.write(work)
        if created:
            self._announce(run.id)
        return run, created

    def preview(
        self,
        recipe: str,
        dataset: str,
        params: Mapping[str, Any],
        *,
        profile: str | None = None,
        environment: Mapping[str, object] | None = None,
        columns: Mapping[str, str] | None = None,
        script: str = "",
    ) -> dict[str, Any]:
        """The command, the environment and the complete parameters such a run would get, and warnings.

        Raises:
            InvalidRequest: ``field`` names what is wrong.
        """
        plan = self._plan(
            *(recipe, dataset, params),
            profile=profile,
            environment=environment,
            columns=columns,
            script=script,
        )
        return preview_of(plan, settings=self._settings)

    def stop(self, run_id: str) -> Run:
        """Ask the run to end after a last checkpoint; harmless when it is ending or has ended."""
        return self._end(run_id, Command.STOP, "stopped before it started")

    def kill(self, run_id: str) -> Run:
        """End the run's processes at once, without a checkpoint."""
        return self._end(run_id, Command.KILL, "killed before it started")

    def command(self, run_id: str, command: Command) -> Run:
        """Give a live run an order: checkpoint, snapshot, pause or resume.

        Raises:
            Conflict: the run is not live.
            Unavailable: it cannot be reached at the moment.
        """
        run = self.get(run_id)
        if RunState(run.state) not in _STOPPABLE:
            raise Conflict(
                f"Run {run_id} is {run.state}; only a live run can be told to {command.value}.",
                hint="Resume it first." if RunState(run.state) in RESUMABLE else None,
            )
        if RunState(run.state) is RunState.RETRYING:
            raise Conflict(
                f"Run {run_id} is between two attempts; there is no trainer that could {command.value}.",
                hint="Wait until the next attempt runs, or stop the run.",
            )
        check_ear(run, command)
        if not self._deliver(run_id, command):
            raise Unavailable(
                f"Run {run_id} cannot be reached at the moment.",
                hint="Its supervisor is starting or reconnecting; try again in a few seconds.",
            )
        return run

    def resume(self, run_id: str) -> Run:
        """Go on: a paused run goes on at once, an ended one is queued for a further attempt.

        Raises:
            Conflict: the run has finished, is not paused, or its supervisor is still alive.
            Unavailable: it is paused and cannot be reached at the moment.
        """
        run = self.get(run_id)
        state = RunState(run.state)
        if state is RunState.QUEUED:
            return run
        if state in _STOPPABLE and run.phase == Phase.PAUSED:
            return self.command(run_id, Command.RESUME)
        if state not in RESUMABLE:
            raise Conflict(
                f"Run {run_id} is {run.state} and cannot be resumed.",
                hint="Clone it to train again with the same parameters." if state in ENDED else None,
            )
        self._await_wound_up(run_id)
        resumed = self._store.write(lambda session: _requeue(session, run_id))
        self._announce(run_id)
        return resumed

    def retry(self, run_id: str) -> Run:
        """Queue a failed, stopped or lost run for a further attempt from its last good checkpoint."""
        return self.resume(run_id)

    def clone(self, run_id: str, *, idempotency_key: str | None = None) -> tuple[Run, bool]:
        """Queue a new run with the same settings; with a key that was used before, return the run it made.

        Raises:
            InvalidRequest: the recipe or the dataset no longer exists as it was.
            Conflict: the key belongs to a run with other settings.
        """
        old = self.get(run_id)
        return self.create(
            old.recipe,
            old.dataset,
            old.params,
            tags=old.tags,
            policy=old.policy,
            profile=old.profile,
            environment=old.environment,
            columns=old.columns,
            script=old.script,
            priority=old.priority,
            idempotency_key=idempotency_key,
        )

    def update(
        self,
        run_id: str,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        priority: int | None = None,
    ) -> Run:
        """Change what may change of a run: its name, its tags, its priority in the queue."""
        given = {"name": name, "tags": None if tags is None else list(tags), "priority": priority}
        changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}

        def work(session: Session) -> Run:
            run = run_rows.get_run(session, run_id)
            if changes.get("priority", run.priority) != run.priority:
                changes["queue_rank"] = 0  # a place among runs of another priority means nothing here
            run_rows.touch(session, run_id, **changes)
            session.refresh(run)
            return run

        run = self._store.write(work)
        self._announce(run_id)
        return run

    def delete(self, run_id: str, *, purge: bool = False) -> None:
        """Remove an ended run; its folder moves to ``instance/trash``, or goes for good with ``purge``.

        Raises:
            Conflict: the run is queued, active, or still supervised.
        """
        run = self.get(run_id)
        if RunState(run.state) not in ENDED:
            raise Conflict(f"Run {run_id} is {run.state}.", hint="Stop it first, then delete it.")
        self._await_wound_up(run_id)

        def work(session: Session) -> None:
            if RunState(run_rows.get_run(session, run_id).state) not in ENDED:
                raise Conflict(f"Run {run_id} was started again.", hint="Stop it first, then delete it.")
            run_rows.delete(session, run_id)

        self._store.write(work)
        self._discard(run_id, purge=purge)
        self._live.deleted(run_id)

    def _plan(self, recipe: str, dataset: str, params: Mapping[str, Any], **how: Any) -> RunPlan:
        return plan_run(recipe, dataset, params, settings=self._settings, **how)

    def _end(self, run_id: str, command: Command, unstarted_reason: str) -> Run:
        def work(session: Session) -> Run:
            run = run_rows.get_run(session, run_id)
            state = RunState(run.state)
            if state is RunState.QUEUED:
                return run_rows.transition(
                    session, run_id, new=RunState.STOPPED, stop_requested=True, reason=unstarted_reason
                )
            if state in _STOPPABLE:
                return run_rows.transition(session, run_id, new=RunState.STOPPING, stop_requested=True)
            if state is RunState.STOPPING and command is Command.KILL:
                run_rows.touch(session, run_id, reason=KILLING)
            return run

        run = self._store.write(work)
        self._live.run_changed(run_id)
        if RunState(run.state) is RunState.STOPPING:
            self._deliver(run_id, command)  # if nobody hears it now, adoption says it again
        else:
            self._wake_queue()
        return run

    def redeliver_stop(self, run_id: str) -> bool:
        """Say again to a stopping run that it shall stop; whether somebody heard it."""
        return self._deliver(run_id, Command.STOP)

    def _deliver(self, run_id: str, command: Command) -> bool:
        if self._send(run_id, command):
            return True
        paths = self.paths(run_id)
        if command is Command.STOP:
            return self._launcher.signal(paths, signal.SIGTERM)
        if command is Command.KILL:
            return self._launcher.signal(paths, KILL_SIGNAL)
        if self._launcher.supervisor_pid(paths) is None:
            return False
        paths.control.mkdir(exist_ok=True)
        (paths.control / command.value).touch()
        return True

    def _await_wound_up(self, run_id: str) -> None:
        """Let whoever still ships what the ended run has left go: the next supervisor would ship it as well.

        Without an exit record the holder of the lock may be a supervisor believed lost, so it is not hurried.
        """
        paths = self.paths(run_id)
        deadline = time.monotonic() + WIND_UP_S
        while (pid := self._launcher.lock_holder(paths)) is not None:
            if time.monotonic() > deadline:
                raise Conflict(
                    f"Run {run_id} is still being wound up by process {pid}.",
                    hint="Try again in a few seconds.",
                )
            if paths.exit.exists():
                self._launcher.signal(paths, signal.SIGTERM)
            time.sleep(0.05)

    def _discard(self, run_id: str, *, purge: bool) -> None:
        folder = self.paths(run_id).root
        if not folder.is_dir():
            return
        if purge:
            shutil.rmtree(folder)
            return
        trash = self._settings.instance / "trash"
        trash.mkdir(mode=0o700, exist_ok=True)
        folder.rename(trash / f"{run_id}-{int(time.time())}")

    def _ask_about(self, plan: RunPlan, ask: Callable[[RunPlan], None] | None, key: str | None) -> None:
        """Let ``ask`` refuse a new run; one that a repeated request has made already is not asked about."""
        if ask is None:
            return
        if key is not None:
            with self._store.read() as session:
                if run_rows.find_by_idempotency_key(session, key) is not None:
                    return
        ask(plan)

    def _announce(self, run_id: str) -> None:
        self._live.run_changed(run_id)
        self._wake_queue()


def _requeue(session: Session, run_id: str) -> Run:
    """Queue an ended run; one that another click has queued meanwhile is what was wanted."""
    run = run_rows.get_run(session, run_id)
    if RunState(run.state) is RunState.QUEUED:
        return run
    return run_rows.transition(session, run_id, new=RunState.QUEUED, old=RESUMABLE)
