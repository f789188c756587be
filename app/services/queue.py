"""Which queued run starts next, and starting it.

The queue is the database: runs in state ``queued``, highest priority first,
then the longest waiting.  Claiming one is a conditional UPDATE inside the same
transaction that counts the active runs, so nothing is ever launched twice.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass
from typing import Final, Protocol

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.run_states import ACTIVE, RunState
from app.errors import InvalidTransition, NotFound, Unavailable
from app.launchers.launcher import Launcher, LaunchError
from app.services.access import issue_run_token
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import write_atomic
from trainer.protocol.launch_probes import take_probes_along
from trainer.protocol.run_folder import RunPaths, RunSpec

LOOK_EVERY_S: Final = 0.5
LOCK_WAIT_S: Final = 5.0
log: Final = logging.getLogger(__name__)


class RunFeed(Protocol):
    """What is told when a run has changed; called after the commit."""

    def run_changed(self, run_id: str) -> None:
        """Tell the watchers of this run and of the table."""


@dataclass(frozen=True)
class _Claim:
    """A run that is ours to launch, and the secret its supervisor shows at the uplink."""

    spec: RunSpec
    token: str


class RunQueue:
    """A thread that launches queued runs while fewer than ``max_runs`` are active."""

    def __init__(self, store: Store, *, settings: Settings, launcher: Launcher, live: RunFeed) -> None:
        self._store = store
        self._settings = settings
        self._launcher = launcher
        self._live = live
        self._launching: set[str] = set()  # claimed, and not yet handed to the launcher
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; once."""
        self._thread = threading.Thread(target=self._loop, name="run-queue", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop launching; what runs goes on running."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Look now: a run was queued, or one has ended."""
        self._wake.set()

    def is_launching(self, run_id: str) -> bool:
        """Whether a supervisor is just about to be started for this run."""
        return run_id in self._launching

    def launch_next(self) -> bool:
        """Launch the next run if there is one and room for it; whether there was.

        Raises:
            Unavailable: the database cannot be written now.
        """
        with self._store.read() as session:
            if not self._has_work(session):  # the usual case, and no reason to disturb the writer
                return False
        claim = self._store.write(self._claim)
        if claim is None:
            return False
        run_id = claim.spec.run_id
        self._live.run_changed(run_id)
        try:
            pid = self._launch(claim)
            log.info("run %s: supervisor %d started", run_id, pid)
        except (LaunchError, OSError, ProtocolError) as exc:
            log.warning("run %s could not be launched: %s", run_id, exc)
            self._fail(run_id, f"The run could not be launched: {exc}")
        finally:
            self._launching.discard(run_id)
        return True

    def _loop(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                while not self._closing.is_set() and self.launch_next():
                    pass
            except Unavailable as exc:
                log.warning("the queue waits: %s", exc)
            except Exception:  # one bad row must not end all launching
                log.exception("the queue met an unexpected error")
            self._wake.wait(LOOK_EVERY_S)

    def _has_work(self, session: Session) -> bool:
        waiting = run_rows.next_queued(session)
        return waiting is not None and run_rows.count_active(session) < self._settings.max_runs

    def _claim(self, session: Session) -> _Claim | None:
        waiting = run_rows.next_queued(session)
        if waiting is None or run_rows.count_active(session) >= self._settings.max_runs:
            return None
        queued = frozenset({RunState.QUEUED})
        # numbered here already, so that what an earlier attempt still has to say cannot end this one
        run = run_rows.transition(
            session, waiting.id, new=RunState.STARTING, old=queued, attempt=self._next_attempt(waiting.id)
        )
        self._launching.add(run.id)  # on the writer's thread: nobody sees the new state without it
        return _Claim(self._spec(run), issue_run_token(session, run.id))

    def _next_attempt(self, run_id: str) -> int:
        """The number the supervisor will give its attempt: one more than the folder has."""
        attempts = (self._settings.runs_dir / run_id / "attempts").glob("[0-9][0-9][0-9]")
        return max((int(folder.name) for folder in attempts), default=0) + 1

    def _spec(self, run: Run) -> RunSpec:
        return RunSpec(
            run_id=run.id,
            name=run.name,
            recipe=run.recipe,
            dataset=run.dataset,
            params=run.params,
            created_at=run.created_at,
            datasets_dir=str(self._settings.datasets_dir),
            profile=run.profile,
            num_concurrent=self._settings.max_runs,
            stop_grace_s=self._settings.stop_grace_s,
            policy=run.policy,
            environment=run.environment,
            columns=run.columns,
            script=str(self._settings.scripts_dir / run.script) if run.script else "",
        )

    def _launch(self, claim: _Claim) -> int:
        paths = RunPaths(self._settings.runs_dir / claim.spec.run_id)
        paths.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        deadline = time.monotonic() + LOCK_WAIT_S
        while (holder := self._launcher.lock_holder(paths)) is not None:  # shipping an earlier attempt's rest
            if time.monotonic() > deadline:
                raise LaunchError(f"process {holder} still holds this run's folder")
            time.sleep(0.05)
        paths.supervisor.unlink(missing_ok=True)  # of the last launch: adoption asks whether this one came up
        take_probes_along(claim.spec, paths)
        claim.spec.save(paths)
        write_atomic(paths.token, claim.token.encode(), mode=0o600)
        write_uplink(paths, self._settings.base_url)
        return self._launcher.launch(paths)

    def _fail(self, run_id: str, reason: str) -> None:
        def work(session: Session) -> None:
            run_rows.transition(session, run_id, new=RunState.FAILED, old=ACTIVE, reason=reason)

        try:
            self._store.write(work)
        except (InvalidTransition, NotFound):
            return  # somebody ended it meanwhile, or deleted it
        self._live.run_changed(run_id)


def write_uplink(paths: RunPaths, url: str) -> None:
    """Tell the run's supervisor where the dashboard is; a no-op when it knows already."""
    content = json.dumps({"url": url}).encode()
    try:
        if paths.uplink.read_bytes() == content:
            return
    except OSError:
        pass
    write_atomic(paths.uplink, content)
