"""What the supervisor says of a run's life, in its spool and in the records that survive every restart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import EventType
from trainer.protocol.run_folder import ExitRecord, RunPaths
from trainer.supervisor.attempt_end import AttemptEnd
from trainer.supervisor.last_words import LastWords
from trainer.supervisor.own_spool import OwnSpool

log = logging.getLogger(__name__)
Note = Callable[[str], None]


class Teller:
    """Says states and ends; ``note`` gets the few lines a person at a terminal wants to see."""

    def __init__(self, paths: RunPaths, spool: OwnSpool, *, note: Note | None = None) -> None:
        self._paths = paths
        self._spool = spool
        self._note = note or (lambda line: None)

    def state(self, state: str, reason: str, *, attempt: int, **more: Any) -> None:
        """Tell the state of the run as of ``attempt``."""
        self._spool.append(EventType.STATE, attempt=attempt, state=state, reason=reason, **more)

    def starting(self, plan: AttemptPlan) -> None:
        """Tell which attempt starts, and with which remedies."""
        words = f"attempt {plan.attempt}"
        if plan.newest is not None:
            words += f": {plan.newest.title}"
        elif plan.rungs:
            words += f", with what an earlier attempt was given: {', '.join(r.title for r in plan.rungs)}"
            self._note(words)
        self.state("starting", words, attempt=plan.attempt)

    def attempt_ended(self, end: AttemptEnd, record: ExitRecord) -> None:
        """Keep how an attempt ended and tell why it failed, if it did."""
        try:
            record.save_attempt(self._paths)
        except OSError as exc:
            log.error("the exit record of attempt %d cannot be written: %s", record.attempt, exc)
        for finding in end.findings:
            self._spool.append(
                EventType.FINDING, attempt=record.attempt, step=record.step, **finding.to_json()
            )

    def retrying(self, end: AttemptEnd, words: str) -> None:
        """Tell that a further attempt will be made, and with which remedy."""
        log.warning("attempt %d: %s; %s", end.plan.attempt, end.verdict.reason, words)
        self._note(f"attempt {end.plan.attempt}: {end.verdict.reason}")
        self._note(words)
        self.state("retrying", words, attempt=end.plan.attempt, step=end.step)

    def run_ended(self, record: ExitRecord, last_words: LastWords) -> None:
        """Write the end where every restart finds it, then tell it."""
        event = {
            "state": record.state,
            "reason": record.reason,
            "attempt": record.attempt,
            "exit_code": record.exit_code,
            "exit_signal": record.exit_signal,
            "stop_requested": record.stop_requested,
            "step": record.step,
        }
        last_words.write(record, event)
        log.info("run %s: %s: %s", record.run_id, record.state, record.reason)
