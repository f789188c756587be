"""The life of a supervisor: take the lock, clear up, run attempts until one is the last, ship the rest.

The dashboard may come and go meanwhile; nothing here waits for it before the
run has ended, and then only for a bounded time.  What a death leads to is
decided in :mod:`trainer.supervisor.ladder`.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from trainer.environment.command import command
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import Command
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.protocol.rungs import Rung
from trainer.recipes.search_process import isolated
from trainer.supervisor.attempt import Attempt, MakeCommand
from trainer.supervisor.attempt_end import AttemptEnd, examine, unstarted, withheld
from trainer.supervisor.hang_finding import HangFacts
from trainer.supervisor.inquest import Inquest
from trainer.supervisor.ladder import (
    FIRST_WAIT_S,
    GiveUp,
    Ground,
    PastAttempt,
    Retry,
    asks_recipe,
    decide,
    max_attempts,
)
from trainer.supervisor.last_words import LastWords
from trainer.supervisor.launch import announce, first_plan, prepare, put_last_end_away, remedies_of, tidy
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.process import ExitStatus, open_file_limits, prepare_supervisor
from trainer.supervisor.recovery import clear_leftovers, last_attempt
from trainer.supervisor.run_lock import RunLock
from trainer.supervisor.script_launch import launch_of
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.tally import Tally
from trainer.supervisor.teller import Note, Teller
from trainer.supervisor.uplink import Uplink
from trainer.supervisor.waker import Waker

if TYPE_CHECKING:
    from trainer.recipes.declaration import Remedy

log = logging.getLogger(__name__)
DRAIN_S: Final = 600.0
LOOK_EVERY_S: Final = 0.25  # a death, a signal and an order wake the loop at once
LOOK_SOON_S: Final = 0.05  # while a stop is under way or a stack dump is awaited
_LOCK_WAIT_S: Final = 5.0  # somebody may still be shipping the last words of an earlier attempt
Remedies = Callable[[str], "Mapping[Rung, Remedy]"]


def supervise(
    paths: RunPaths,
    *,
    make_command: MakeCommand = command,
    remedies: Remedies = remedies_of,
    first_wait_s: float = FIRST_WAIT_S,
    drain_s: float = DRAIN_S,
    watch: Callable[[Tally], None] | None = None,
    note: Note | None = None,
) -> ExitRecord:
    """Run the next attempts of the run in ``paths`` and stay until all is told; main thread only.

    Args:
        paths: the run folder; with ``token`` and ``uplink.json`` in it a dashboard is kept informed.
        make_command: gives the argument vector of a trainer.
        remedies: what a recipe, by its name, can change so that a run may be tried again.
        first_wait_s: pause before the first retry; every further one without progress doubles it.
        drain_s: how long to wait for the dashboard after the end.
        watch: called several times a second with how far the trainer is.
        note: called with a line for a person at every retry.
    Raises:
        ProtocolError: the run folder holds no readable ``spec.json``.
        RunLocked: another supervisor has this run.
        SurvivorsLeft: an earlier attempt cannot be killed.
    """
    spec = RunSpec.load(paths)
    prepare_supervisor()
    given = _Given(make_command, remedies, first_wait_s, watch or (lambda tally: None), note)
    with RunLock(paths, wait_s=_LOCK_WAIT_S if last_attempt(paths) else 0.0):
        return _Supervision(paths, spec, given).run(drain_s)


@dataclass(frozen=True)
class _Given:
    """What a supervisor gets from whoever starts it; see :func:`supervise`."""

    make_command: MakeCommand
    remedies: Remedies
    first_wait_s: float
    watch: Callable[[Tally], None]
    note: Note | None


class _Supervision:
    """What the steps of one supervisor's life share."""

    def __init__(self, paths: RunPaths, spec: RunSpec, given: _Given) -> None:
        self._paths = paths
        self._spec = spec
        self._given = given
        self._stop = StopLadder(grace_s=spec.stop_grace_s)
        self._waker = Waker()
        self._attempt: Attempt | None = None  # the one whose trainer lives
        self._number = last_attempt(paths) + 1
        self._history: list[PastAttempt] = []
        self._began_at = time.time()
        self._ended = False
        self._abandoned = False

    def run(self, drain_s: float) -> ExitRecord:
        """Everything from here to the end of the supervisor."""
        with self._waker:
            return self._run(drain_s)

    def _run(self, drain_s: float) -> ExitRecord:
        self._listen_to_signals()
        clear_leftovers(self._paths, grace_s=self._spec.stop_grace_s)
        put_last_end_away(self._paths, attempt=self._number)
        self._spool = OwnSpool(self._paths)
        self._teller = Teller(self._paths, self._spool, note=self._given.note)
        self._last_words = LastWords(self._paths, self._spool, abandoned=lambda: self._abandoned)
        plan = first_plan(self._paths, attempt=self._number)
        self._paths.attempt(self._number).mkdir(parents=True, exist_ok=True)
        self._teller.starting(plan)
        uplink = self._link()
        try:
            record = self._run_attempts(plan)
            self._spool.close()
            if uplink is not None and not uplink.drain(drain_s, abandoned=lambda: self._abandoned):
                log.warning("not everything reached the dashboard; 'drain' ships the rest")
            return record
        finally:
            if uplink is not None:
                uplink.close()

    def _run_attempts(self, plan: AttemptPlan) -> ExitRecord:
        """One attempt after the other, until the ladder gives up or has no need to be climbed."""
        while True:
            end = self._run_attempt(plan)
            self._ended = end.verdict.state != "failed" or end.is_wish
            self._teller.attempt_ended(end, end.record(self._spec))
            answer = self._ask_ladder(end)
            if isinstance(answer, GiveUp):
                return self._end(end, answer)
            announce(self._paths, answer.plan)
            self._teller.retrying(end, answer.words)
            if not self._wait(answer.wait_s):
                return self._stopped_between(end, answer)
            plan = answer.plan
            self._number = plan.attempt
            self._paths.attempt(plan.attempt).mkdir(parents=True, exist_ok=True)
            self._teller.starting(plan)

    def _run_attempt(self, plan: AttemptPlan) -> AttemptEnd:
        """One launch, from its plan to its findings."""
        started_at = time.time()
        if self._stop.requested:
            return withheld(plan, started_at=started_at)
        inquest = Inquest(self._paths, attempt=plan.attempt)
        try:
            prepare(self._paths, plan)
            launch = launch_of(self._paths, self._spec, plan, make_command=self._given.make_command)
            attempt = Attempt(self._paths, self._spec, plan=plan, spool=self._spool, launch=launch)
        except OSError as exc:
            return unstarted(plan, exc, started_at=started_at, is_wish=self._stop.wished)
        self._attempt = attempt
        watching = _Watching(attempt, self._spec, stop=self._stop, teller=self._teller)
        while (status := watching.look()) is None:
            self._given.watch(attempt.tally)
            self._waker.sleep(watching.pause_s)
        self._attempt = None
        end = examine(
            attempt,
            plan,
            status,
            stop=self._stop,
            inquest=inquest,
            ended_for=watching.ended_for,
            started_at=started_at,
        )
        self._stop.end_attempt()
        return end

    def _ask_ladder(self, end: AttemptEnd) -> Retry | GiveUp:
        past = end.past(self._paths)
        self._history.append(past)
        ground = Ground(
            params=isolated(self._spec.params, profile=self._spec.profile),
            remedies=self._given.remedies(self._spec.recipe) if asks_recipe(past) else {},
            max_attempts=max_attempts(self._spec.policy),
            retries_stalls=self._spec.policy.get("on_stall") == "retry",
            platform=sys.platform,
            open_files=open_file_limits(),
        )
        return decide(self._history, ground, first_wait_s=self._given.first_wait_s)

    def _wait(self, seconds: float) -> bool:
        """Wait out the pause before a retry; False as soon as somebody asks for the end."""
        deadline = time.monotonic() + seconds
        while not self._stop.requested and (left_s := deadline - time.monotonic()) > 0:
            self._waker.sleep(left_s)
        return not self._stop.requested

    def _stopped_between(self, end: AttemptEnd, answer: Retry) -> ExitRecord:
        reason = (
            f"stopped as asked, before attempt {answer.plan.attempt} began; attempt {end.plan.attempt} had"
            f" failed: {end.verdict.reason}"
        )
        record = replace(end.record(self._spec), state="stopped", reason=reason, stop_requested=True)
        return self._tell_end(replace(record, ended_at=time.time()))

    def _end(self, end: AttemptEnd, answer: GiveUp) -> ExitRecord:
        record = end.record(self._spec)
        if answer.is_exhausted:
            record = replace(record, reason=f"{record.reason}; given up: {answer.reason}")
        elif record.state == "failed":
            log.info("not tried again: %s", answer.reason)
        return self._tell_end(record)

    def _tell_end(self, record: ExitRecord) -> ExitRecord:
        """Write and tell the end of the run."""
        self._ended = True
        whole = replace(record, started_at=self._began_at, num_launches=len(self._history))
        self._teller.run_ended(whole, self._last_words)
        tidy(self._paths, whole)
        return whole

    def _link(self) -> Uplink | None:
        """Start informing the dashboard, if the run belongs to one."""
        if not (self._paths.token.exists() and self._paths.uplink.exists()):
            return None
        uplink = Uplink(
            self._paths,
            run=self._spec.run_id,
            attempt=lambda: self._number,
            on_command=self._obey,
            status=self._status,
            last_words=lambda: self._last_words.unwritten,
        )
        uplink.start()
        return uplink

    def _status(self) -> dict[str, Any]:
        """The latest values, for the dashboard; nothing is known while no trainer lives."""
        attempt = self._attempt
        if attempt is not None:
            return attempt.status()
        return {"heartbeat": None, "beat_age_s": None, "progress_age_s": None, "process": {}}

    def _obey(self, order: Command) -> None:
        """Called from any thread: stopping is the supervisor's task, everything else the trainer's."""
        if order in (Command.STOP, Command.KILL):
            self._stop.request(kill=order is Command.KILL)
            self._waker.wake()
            return
        opposite = {Command.PAUSE: Command.RESUME, Command.RESUME: Command.PAUSE}.get(order)
        if opposite is not None:
            (self._paths.control / opposite.value).unlink(missing_ok=True)
        self._paths.control.mkdir(exist_ok=True)
        (self._paths.control / order.value).touch()

    def _listen_to_signals(self) -> None:
        """TERM and INT stop, a second INT or QUIT kills; after the run's end they end the shipping."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._ended:
            self._abandoned = True
            return
        again = number == signal.SIGINT and self._stop.requested
        self._stop.request(kill=again or number == signal.SIGQUIT)


class _Watching:
    """One attempt while its trainer lives: its states are told, its hangs looked for.

    ``ended_for`` is the stall for which the run's policy has ended it.
    """

    def __init__(self, attempt: Attempt, spec: RunSpec, *, stop: StopLadder, teller: Teller) -> None:
        self.ended_for: HangFacts | None = None
        self._attempt = attempt
        self._spec = spec
        self._stop = stop
        self._teller = teller
        self._told_running = False
        self._told_stopping = False

    def look(self) -> ExitStatus | None:
        """Look once and do what is due; the exit status once the trainer has ended."""
        status = self._attempt.look(self._stop)
        self._tell_running()
        if status is None:
            self._look_for_hangs()
            self._tell_stopping()
        return status

    @property
    def pause_s(self) -> float:
        """How long the loop may sleep before the next look."""
        is_pressing = self._stop.requested or self._attempt.hangs.is_awaiting_stacks
        return LOOK_SOON_S if is_pressing else LOOK_EVERY_S

    def _tell_running(self) -> None:
        """Once, when the trainer has said its first word, unless it is to stop already."""
        if self._attempt.has_begun and not self._told_running and not self._stop.requested:
            self._told_running = True
            self._tell("running", self._attempt.begun_words)

    def _look_for_hangs(self) -> None:
        """Tell when the trainer stalls or advances again; a trainer that is to stop has its grace instead."""
        if self._stop.requested:
            return
        hangs = self._attempt.hangs
        if self._attempt.look_for_hangs():
            stalled = hangs.stall is not None
            self._told_running = self._told_running or not stalled
            self._tell(*("stalled", hangs.reason) if stalled else ("running", "it advances again"))
        if hangs.wants_stop or hangs.wants_retry:
            self.ended_for = hangs.facts
            self._stop.request(is_wish=False)

    def _tell_stopping(self) -> None:
        """Once; an attempt that its policy ends to try again stays stalled until then."""
        is_to_retry = self.ended_for is not None and self._spec.policy.get("on_stall") == "retry"
        if not self._stop.requested or self._told_stopping or (is_to_retry and not self._stop.wished):
            return
        self._told_stopping = True
        grace_s = 0.0 if self._stop.kill_requested else self._spec.stop_grace_s
        self._tell("stopping", f"asked to stop, killed after {grace_s:g} s")

    def _tell(self, state: str, reason: str) -> None:
        self._teller.state(state, reason, attempt=self._attempt.number)
