"""The life of a supervisor: take the lock, clear up, run the trainer, judge its end, ship the rest.

The dashboard may come and go meanwhile; nothing here waits for it before the
trainer has ended, and then only for a bounded time.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from trainer.diagnosis.finding import Finding
from trainer.environment.command import command
from trainer.protocol.events import Command, EventType
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.supervisor.attempt import LOOK_EVERY_S, Attempt, MakeCommand
from trainer.supervisor.inquest import Inquest, last_loss_is_finite
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.process import ExitStatus, prepare_supervisor
from trainer.supervisor.recovery import clear_leftovers, last_attempt
from trainer.supervisor.run_lock import RunLock
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.tally import Tally
from trainer.supervisor.uplink import Uplink
from trainer.supervisor.verdict import Verdict, judge

log = logging.getLogger(__name__)
DRAIN_S: Final = 600.0
_LOCK_WAIT_S: Final = 5.0  # somebody may still be shipping the last words of an earlier attempt


def supervise(
    paths: RunPaths,
    *,
    make_command: MakeCommand = command,
    drain_s: float = DRAIN_S,
    watch: Callable[[Tally], None] | None = None,
) -> ExitRecord:
    """Run the next attempt of the run in ``paths`` and stay until all is told; main thread only.

    Args:
        paths: the run folder; with ``token`` and ``uplink.json`` in it a dashboard is kept informed.
        make_command: gives the argument vector of a trainer.
        drain_s: how long to wait for the dashboard after the end.
        watch: called about twenty times a second with how far the trainer is.
    Raises:
        ProtocolError: the run folder holds no readable ``spec.json``.
        RunLocked: another supervisor has this run.
        SurvivorsLeft: an earlier attempt cannot be killed.
    """
    spec = RunSpec.load(paths)
    prepare_supervisor()
    with RunLock(paths, wait_s=_LOCK_WAIT_S if last_attempt(paths) else 0.0):
        return _Supervision(paths, spec, make_command=make_command, watch=watch).run(drain_s)


class _Supervision:
    """What the steps of one supervisor's life share."""

    def __init__(
        self,
        paths: RunPaths,
        spec: RunSpec,
        *,
        make_command: MakeCommand,
        watch: Callable[[Tally], None] | None,
    ) -> None:
        self._paths = paths
        self._spec = spec
        self._make_command = make_command
        self._watch = watch
        self._number = last_attempt(paths) + 1
        self._stop = StopLadder(grace_s=spec.stop_grace_s)
        self._wake = threading.Event()
        self._attempt: Attempt | None = None
        self._inquest: Inquest | None = None
        self._told_running = False
        self._ended = False
        self._abandoned = False
        self._ended_for = ""  # the stall for which the policy ended the trainer

    def run(self, drain_s: float) -> ExitRecord:
        """Everything from here to the end of the supervisor."""
        self._listen_to_signals()
        clear_leftovers(self._paths, grace_s=self._spec.stop_grace_s)
        self._clear_last_end()
        self._spool = OwnSpool(self._paths)
        self._tell("starting", f"attempt {self._number}")
        uplink = self._link()
        try:
            record = self._run_attempt()
            self._spool.close()
            if uplink is not None and not uplink.drain(drain_s, abandoned=lambda: self._abandoned):
                log.warning("not everything reached the dashboard; 'drain' ships the rest")
            return record
        finally:
            if uplink is not None:
                uplink.close()

    def _run_attempt(self) -> ExitRecord:
        started_at = time.time()
        if self._stop.requested:
            return self._end(Verdict("stopped", "stopped before the trainer was started"), None, started_at)
        self._inquest = Inquest(self._paths, attempt=self._number)
        argv = self._make_command(self._paths.root, self._number)
        try:
            attempt = Attempt(self._paths, self._spec, number=self._number, spool=self._spool, argv=argv)
        except OSError as exc:
            return self._end(Verdict("failed", f"the trainer cannot be started: {exc}"), None, started_at)
        self._attempt = attempt
        status = self._watch_until_end(attempt)
        survivors = attempt.finish(status) + self._stop.survivors
        verdict = judge(
            status,
            finished=attempt.tally.finished,
            step=attempt.tally.step,
            stop_requested=self._stop.requested,
            killed_after_s=self._stop.killed_after_s,
            last_loss_is_finite=last_loss_is_finite(attempt.tally),
        )
        if self._ended_for and not self._stop.wished and verdict.state == "stopped":
            verdict = Verdict("failed", f"ended by its policy, because it was {self._ended_for}")
        if survivors:
            pids = ", ".join(map(str, sorted(set(survivors))))
            verdict = Verdict(verdict.state, f"{verdict.reason}; processes {pids} cannot be killed")
        return self._end(verdict, status, started_at)

    def _watch_until_end(self, attempt: Attempt) -> ExitStatus:
        told_stopping = False
        while (status := attempt.look(self._stop)) is None:
            self._tell_running(attempt)
            self._look_for_hangs(attempt)
            if self._stop.requested and not told_stopping:
                told_stopping = True
                grace_s = 0.0 if self._stop.kill_requested else self._spec.stop_grace_s
                self._tell("stopping", f"asked to stop, killed after {grace_s:g} s")
            if self._watch is not None:
                self._watch(attempt.tally)
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()
        self._tell_running(attempt)
        return status

    def _tell_running(self, attempt: Attempt) -> None:
        """Once, when the trainer has said its first word, unless it is to stop already."""
        if attempt.tally.begun and not self._told_running and not self._stop.requested:
            self._told_running = True
            self._tell("running", "the trainer reports")

    def _look_for_hangs(self, attempt: Attempt) -> None:
        """Tell when the trainer stalls or advances again; a trainer that is to stop has its grace instead."""
        if self._stop.requested:
            return
        if attempt.look_for_hangs():
            stalled = attempt.hangs.stall is not None
            self._told_running = self._told_running or not stalled
            self._tell(*("stalled", attempt.hangs.reason) if stalled else ("running", "it advances again"))
        if attempt.hangs.wants_stop:
            self._ended_for = attempt.hangs.reason
            self._stop.request(is_wish=False)

    def _end(self, verdict: Verdict, status: ExitStatus | None, started_at: float) -> ExitRecord:
        """Write the end where every restart finds it, then tell it."""
        self._ended = True
        tally = self._attempt.tally if self._attempt is not None else None
        findings = self._findings(verdict, status)
        record = ExitRecord(
            run_id=self._spec.run_id,
            attempt=self._number,
            state=verdict.state,
            reason=verdict.reason,
            exit_code=status.code if status is not None else None,
            exit_signal=status.signal if status is not None else None,
            stop_requested=self._stop.wished,
            step=tally.step if tally is not None else 0,
            started_at=started_at,
            ended_at=time.time(),
            rusage=status.rusage if status is not None else {},
            metrics=tally.metrics() if tally is not None else {},
            findings=[finding.to_json() for finding in findings],
        )
        try:
            record.save(self._paths)
        except OSError as exc:
            log.error("the exit record cannot be written: %s", exc)
        for finding in findings:
            self._spool.append(EventType.FINDING, attempt=self._number, step=record.step, **finding.to_json())
        self._tell(
            verdict.state,
            verdict.reason,
            exit_code=record.exit_code,
            exit_signal=record.exit_signal,
            stop_requested=record.stop_requested,
            step=record.step,
        )
        log.info("run %s: %s: %s", self._spec.run_id, verdict.state, verdict.reason)
        return record

    def _findings(self, verdict: Verdict, status: ExitStatus | None) -> list[Finding]:
        """Why it failed; the log is read and judged before anybody is told of the end."""
        if verdict.state != "failed" or self._inquest is None:
            return []
        tally = self._attempt.tally if self._attempt is not None else None
        return self._inquest.findings(status, tally, stop_requested=self._stop.requested)

    def _tell(self, state: str, reason: str, **more: Any) -> None:
        self._spool.append(EventType.STATE, attempt=self._number, state=state, reason=reason, **more)

    def _link(self) -> Uplink | None:
        """Start informing the dashboard, if the run belongs to one."""
        if not (self._paths.token.exists() and self._paths.uplink.exists()):
            return None
        uplink = Uplink(
            self._paths,
            run=self._spec.run_id,
            attempt=self._number,
            on_command=self._obey,
            status=self._status,
        )
        uplink.start()
        return uplink

    def _status(self) -> dict[str, Any]:
        """The latest values, for the dashboard; nothing is known before the trainer has been started."""
        if self._attempt is not None:
            return self._attempt.status()
        return {"heartbeat": None, "beat_age_s": None, "progress_age_s": None, "process": {}}

    def _obey(self, order: Command) -> None:
        """Called from any thread: stopping is the supervisor's task, everything else the trainer's."""
        if order in (Command.STOP, Command.KILL):
            self._stop.request(kill=order is Command.KILL)
            self._wake.set()
            return
        opposite = {Command.PAUSE: Command.RESUME, Command.RESUME: Command.PAUSE}.get(order)
        if opposite is not None:
            (self._paths.control / opposite.value).unlink(missing_ok=True)
        self._paths.control.mkdir(exist_ok=True)
        (self._paths.control / order.value).touch()

    def _clear_last_end(self) -> None:
        """An earlier attempt's end and orders must not be taken for this one's."""
        if self._paths.exit.exists():
            kept = self._paths.attempt(max(1, self._number - 1))
            kept.mkdir(parents=True, exist_ok=True)
            self._paths.exit.replace(kept / "exit.json")
        for order in Command:
            (self._paths.control / order.value).unlink(missing_ok=True)
        self._paths.attempt(self._number).mkdir(parents=True, exist_ok=True)

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
        self._wake.set()
