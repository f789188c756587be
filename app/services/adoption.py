"""What really happened to the runs: supervisors found again, ends read, the lost declared lost.

Evidence, strongest first: ``exit.json`` says how a run ended; the kernel says
who holds the run's lock, and the holder whether it supervises or only ships;
a free lock without an exit record, seen twice, means that nobody can know.
Heartbeats play no part.  Whatever an ended run still has in its spool is shipped
by a process started for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.run_states import ACTIVE, ENDED, RunState
from app.errors import Conflict, NotFound, Unavailable
from app.launchers.launcher import Launcher, LaunchError
from app.services.queue import RunFeed, write_uplink
from app.services.unshipped import has_unshipped
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import ExitRecord, RunPaths

LOOK_EVERY_S: Final = 2.0
DRAIN_TRIES: Final = 5
DRAIN_PAUSE_S: Final = 5.0  # times the number of tries so far
LOG_TAIL_BYTES: Final = 4096
SHOWN_CHARACTERS: Final = 300
NUM_REVISITED: Final = 200  # ended runs whose spool is looked at after a start
_WATCHED: Final = ACTIVE | {RunState.LOST}
log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long a bad sign must last before it counts.

    Attributes:
        lost_after_s: between the two looks that find a lock free without an exit record.
        start_grace_s: what a new supervisor may take until it holds its lock.
    """

    lost_after_s: float = 4.0
    start_grace_s: float = 30.0


@dataclass(frozen=True)
class _Subject:
    """The facts of one run that its verdict depends on."""

    run_id: str
    state: RunState
    queued_at: float
    attempt: int
    stop_requested: bool


@dataclass
class _Drain:
    """Shipping the rest of one ended run: how often it was tried, when it may be tried again."""

    clears_up: bool = False  # its supervisor vanished and may have left processes: go there in any case
    tries: int = 0
    not_before: float = 0.0  # monotonic


class Adoption:
    """A thread that compares the database with the run folders."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        launcher: Launcher,
        live: RunFeed,
        redeliver_stop: Callable[[str], bool],
        wake_queue: Callable[[], None],
        patience: Patience | None = None,
    ) -> None:
        """Wire the thread; nothing runs before :meth:`start`.

        Args:
            store: where runs are kept.
            settings: where run folders lie, and the address supervisors must know.
            launcher: asks who holds a lock, starts the shipping of leftovers.
            live: told after every committed change.
            redeliver_stop: says again to a stopping run that it shall stop.
            wake_queue: called when a run has ended.
            patience: how long bad signs must last.
        """
        self._store = store
        self._settings = settings
        self._launcher = launcher
        self._live = live
        self._redeliver_stop = redeliver_stop
        self._wake_queue = wake_queue
        self._patience = patience or Patience()
        self._first_looks: dict[str, float] = {}  # run id -> monotonic time of the first free lock
        self._stop_heard: set[str] = set()
        self._drains: dict[str, _Drain] = {}
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look once at all runs, then start the thread."""
        self._launcher.on_exit(lambda run_id: self._wake.set())
        self._thread = threading.Thread(target=self._loop, name="adoption", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking; runs and supervisors go on."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> None:
        """One look at every active or lost run.

        Raises:
            Unavailable: the database cannot be read or written now.
        """
        with self._store.read() as session:
            rows = run_rows.active_runs(session)
            lost, _ = run_rows.list_runs(session, states=[RunState.LOST], limit=NUM_REVISITED, offset=0)
            subjects = [_subject(run) for run in [*rows, *lost]]
        self._forget_others({subject.run_id for subject in subjects})
        for subject in subjects:
            try:
                self._judge(subject)
            except (Conflict, NotFound):
                log.debug("run %s changed while it was looked at", subject.run_id)
            except OSError as exc:
                log.warning("run %s: its folder cannot be read: %s", subject.run_id, exc)
        self._ship_leftovers()

    def revisit_ended(self) -> None:
        """Queue the shipping of whatever recently ended runs still have in their spools."""
        ended = [RunState.FINISHED, RunState.STOPPED, RunState.FAILED]
        with self._store.read() as session:
            rows, _ = run_rows.list_runs(session, states=ended, limit=NUM_REVISITED, offset=0)
            for run in rows:
                if has_unshipped(session, run.id, self._paths(run.id)):
                    self._drains.setdefault(run.id, _Drain())

    def _loop(self) -> None:
        is_first = True
        while not self._closing.is_set():
            self._wake.clear()
            try:
                if is_first:
                    self.revisit_ended()
                    is_first = False
                self.look()
            except Unavailable as exc:
                log.warning("adoption waits: %s", exc)
            except Exception:  # one odd folder must not end all looking
                log.exception("adoption met an unexpected error")
            self._wake.wait(LOOK_EVERY_S)

    def _judge(self, subject: _Subject) -> None:
        paths = self._paths(subject.run_id)
        record = _end_of(paths, subject)
        holder = self._launcher.supervisor_pid(paths)
        if record is not None:  # the supervisor may still be there, shipping the rest
            self._settle(subject, record)
        elif holder is not None:
            self._first_looks.pop(subject.run_id, None)
            self._adopt(subject, paths)
        else:
            self._suspect(subject, paths)

    def _adopt(self, subject: _Subject, paths: RunPaths) -> None:
        """The supervisor lives: tell it where we are, and what it may not have heard."""
        write_uplink(paths, self._settings.base_url)
        if subject.state is RunState.LOST:
            self._move(subject, RunState.RUNNING, reason=None)
            log.info("run %s was believed lost and is back", subject.run_id)
        # a run that its own policy ends is stopping, too, but nobody has asked for it
        is_asked = subject.state is RunState.STOPPING and subject.stop_requested
        if is_asked and subject.run_id not in self._stop_heard and self._redeliver_stop(subject.run_id):
            self._stop_heard.add(subject.run_id)

    def _settle(self, subject: _Subject, record: ExitRecord) -> None:
        """The run has ended: the exit record is the truth."""
        self._move(
            subject,
            RunState(record.state),
            reason=record.reason,
            exit_code=record.exit_code,
            exit_signal=record.exit_signal,
            stop_requested=record.stop_requested,
            ended_at=record.ended_at,
            step=record.step,
            attempt=max(subject.attempt, record.attempt),
        )
        log.info("run %s ended as %s: %s", subject.run_id, record.state, record.reason)
        self._drains.setdefault(subject.run_id, _Drain())

    def _suspect(self, subject: _Subject, paths: RunPaths) -> None:
        """Nobody holds the lock and no record tells the end."""
        is_running = self._launcher.is_running(paths)
        if subject.state is RunState.LOST or is_running:
            return
        now = time.monotonic()
        first = self._first_looks.setdefault(subject.run_id, now)
        may_still_start = is_running is None and not paths.supervisor.exists()
        patience = self._patience
        if now - first < (patience.start_grace_s if may_still_start else patience.lost_after_s):
            return
        del self._first_looks[subject.run_id]
        if paths.attempt(subject.attempt).exists():
            new = RunState.LOST
            reason = "Its supervisor vanished without a record: killed, or the machine went down."
            self._drains.setdefault(subject.run_id, _Drain(clears_up=True))
        else:
            new = RunState.STOPPED if subject.state is RunState.STOPPING else RunState.FAILED
            reason = f"Its supervisor ended before it started the trainer. {_last_words(paths)}"
        self._move(subject, new, reason=reason)
        log.warning("run %s: %s", subject.run_id, reason)

    def _move(self, subject: _Subject, new: RunState, **values: Any) -> None:
        def work(session: Session) -> None:
            run_rows.transition(session, subject.run_id, new=new, old=frozenset({subject.state}), **values)

        self._store.write(work)
        self._live.run_changed(subject.run_id)
        self._wake_queue()

    def _ship_leftovers(self) -> None:
        now = time.monotonic()
        for run_id, drain in list(self._drains.items()):
            paths = self._paths(run_id)
            if now < drain.not_before or self._launcher.lock_holder(paths) is not None:
                continue
            with self._store.read() as session:
                run = session.get(Run, run_id)
                has_ended = (
                    run is not None and RunState(run.state) in ENDED
                )  # else its next supervisor ships it
                is_first_of_lost = drain.clears_up and drain.tries == 0
                left = has_ended and (is_first_of_lost or has_unshipped(session, run_id, paths))
            if not left or drain.tries >= DRAIN_TRIES:
                if left:
                    log.warning("run %s: a part of its spool could not be shipped", run_id)
                del self._drains[run_id]
                continue
            drain.tries += 1
            drain.not_before = now + DRAIN_PAUSE_S * drain.tries
            try:
                write_uplink(paths, self._settings.base_url)
                self._launcher.drain(paths)
            except (LaunchError, OSError) as exc:
                log.warning("run %s: its spool cannot be shipped: %s", run_id, exc)

    def _forget_others(self, run_ids: set[str]) -> None:
        for run_id in self._first_looks.keys() - run_ids:
            del self._first_looks[run_id]
        self._stop_heard &= run_ids

    def _paths(self, run_id: str) -> RunPaths:
        return RunPaths(self._settings.runs_dir / run_id)


def _subject(run: Run) -> _Subject:
    return _Subject(run.id, RunState(run.state), run.queued_at, run.attempt, run.stop_requested)


def _end_of(paths: RunPaths, subject: _Subject) -> ExitRecord | None:
    """The exit record of the present launch; one that cannot be read counts as a failure."""
    try:
        record = ExitRecord.load(paths)
        if record is not None:
            RunState(record.state)
    except (ProtocolError, ValueError) as exc:
        now = time.time()
        return ExitRecord(
            subject.run_id, subject.attempt, "failed", f"The exit record cannot be read: {exc}",
            None, None, False, 0, now, now,
        )  # fmt: skip
    if record is not None and record.ended_at < subject.queued_at:
        return None  # of an earlier launch
    return record


def _last_words(paths: RunPaths) -> str:
    """What the supervisor's log ends with, and where it lies."""
    try:
        lines = paths.supervisor_log.read_bytes()[-LOG_TAIL_BYTES:].decode("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    said = [line.strip() for line in lines if line.strip()]
    shown = said[-1][-SHOWN_CHARACTERS:] if said else "nothing"
    return f"Its log, {paths.supervisor_log}, ends with: {shown}"
