"""The end of one attempt: verdict, findings, and what the ladder and the exit record need of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer.diagnosis.finding import Finding
from trainer.diagnosis.never_started import not_started
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.rank_files import RankFall
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.scripts.declaration import ScriptError
from trainer.supervisor.attempt import Attempt
from trainer.supervisor.hang_finding import HangFacts
from trainer.supervisor.inquest import Inquest, last_loss_is_finite
from trainer.supervisor.ladder import PastAttempt
from trainer.supervisor.process import ExitStatus
from trainer.supervisor.recovery import verified_steps
from trainer.supervisor.script_end import judge_script, unusable
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.verdict import Verdict, judge

_CHECKPOINTS_LOOKED_AT: Final = 2


@dataclass(frozen=True)
class AttemptEnd:
    """How one attempt ended; ``status`` is None when the trainer was never started.

    ``hang`` tells how it hung when it ended, ``is_stall`` that its policy ended
    it for that.  ``survivors`` could not be killed.
    """

    plan: AttemptPlan
    verdict: Verdict
    started_at: float
    status: ExitStatus | None = None
    from_step: int = 0
    step: int = 0
    findings: tuple[Finding, ...] = ()
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    is_stall: bool = False
    is_wish: bool = False
    survivors: tuple[int, ...] = ()
    device: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    ended_at: float = field(default_factory=time.time)

    def past(self, paths: RunPaths) -> PastAttempt:
        """The attempt as the ladder looks at it; checkpoints are verified only where it may be climbed."""
        may_climb = self.verdict.state == "failed" and not self.is_wish
        return PastAttempt(
            plan=self.plan,
            state=self.verdict.state,
            reason=self.verdict.reason,
            from_step=self.from_step,
            step=self.step,
            checkpoints=verified_steps(paths, most=_CHECKPOINTS_LOOKED_AT) if may_climb else (),
            findings=self.findings,
            signal=self.status.signal if self.status is not None else None,
            is_stall=self.is_stall,
            is_wish=self.is_wish,
            is_gone=not self.survivors,
            device=self.device,
            environment=self.environment,
        )

    def record(self, spec: RunSpec) -> ExitRecord:
        """The attempt's exit record."""
        status = self.status
        return ExitRecord(
            run_id=spec.run_id,
            attempt=self.plan.attempt,
            state=self.verdict.state,
            reason=self.verdict.reason,
            exit_code=status.code if status is not None else None,
            exit_signal=status.signal if status is not None else None,
            stop_requested=self.is_wish,
            step=self.step,
            started_at=self.started_at,
            ended_at=self.ended_at,
            rusage=status.rusage if status is not None else {},
            metrics=self.metrics,
            findings=[finding.to_json() for finding in self.findings],
        )


def withheld(plan: AttemptPlan, *, started_at: float) -> AttemptEnd:
    """The end of an attempt whose trainer was not started, because somebody had asked for the end."""
    verdict = Verdict("stopped", "stopped before the trainer was started")
    return AttemptEnd(plan, verdict, started_at, is_wish=True)


def unstarted(plan: AttemptPlan, error: OSError, *, started_at: float, is_wish: bool) -> AttemptEnd:
    """The end of an attempt whose trainer could not be started."""
    if isinstance(error, ScriptError):
        found, what = unusable(error), "script"
    else:
        found, what = not_started(error), "trainer"
    verdict = Verdict("failed", f"the {what} cannot be started: {error}")
    return AttemptEnd(plan, verdict, started_at, findings=(found,), is_wish=is_wish)


def examine(
    attempt: Attempt,
    plan: AttemptPlan,
    status: ExitStatus,
    *,
    stop: StopLadder,
    inquest: Inquest,
    ended_for: HangFacts | None,
    started_at: float,
) -> AttemptEnd:
    """Clear away what an ended trainer left, judge its end, and tell it in the spool.

    ``ended_for`` is the stall for which the run's policy ended it.
    """
    hang = ended_for or attempt.hangs.facts
    survivors = tuple(sorted({*attempt.finish(), *stop.survivors}))
    tally = attempt.tally
    verdict = judge(
        status,
        finished=tally.finished,
        step=tally.step,
        stop_requested=stop.requested,
        killed_after_s=stop.killed_after_s,
        last_loss_is_finite=last_loss_is_finite(tally),
    )
    if attempt.script is not None:
        verdict = judge_script(status, tally, stop=stop, verdict=verdict)
    verdict = _of_ranks(verdict, inquest.fall)
    is_stall = ended_for is not None and not stop.wished and verdict.state in ("stopped", "failed")
    verdict = _in_the_end(verdict, ended_for if is_stall else None, survivors)
    attempt.tell_end(status, verdict)
    findings: list[Finding] = []
    if verdict.state == "failed":
        findings = inquest.findings(status, tally, reason=verdict.reason, hang=hang, is_stall=is_stall)
    return AttemptEnd(
        plan=plan,
        verdict=verdict,
        started_at=started_at,
        status=status,
        from_step=attempt.from_step,
        step=tally.step,
        findings=tuple(findings),
        metrics=tally.metrics(),
        is_stall=is_stall,
        is_wish=stop.wished,
        survivors=survivors,
        device=tally.device,
        environment=attempt.environment,
    )


def _of_ranks(verdict: Verdict, fall: RankFall | None) -> Verdict:
    """Of several processes the one that fell first is named; how the others ended says nothing."""
    if fall is None or verdict.state != "failed":
        return verdict
    return Verdict("failed", f"rank {fall.rank} of {fall.count} {fall.words}")


def _in_the_end(verdict: Verdict, ended_for: HangFacts | None, survivors: tuple[int, ...]) -> Verdict:
    if ended_for is not None and verdict.state == "stopped":
        verdict = Verdict("failed", f"ended by its policy, because it was {ended_for.words}")
    if survivors:
        pids = ", ".join(map(str, survivors))
        verdict = Verdict(verdict.state, f"{verdict.reason}; processes {pids} cannot be killed")
    return verdict
