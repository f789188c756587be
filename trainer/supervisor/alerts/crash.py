"""The trainer's end is a crash: the last alert of an attempt."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level
from trainer.supervisor.verdict import Verdict

CATEGORY: Final = "crash"  # stays open until the run is started again, or somebody dismisses it


def crash_alarm(verdict: Verdict, *, step: int) -> Alarm | None:
    """The alarm of an attempt that ended as ``verdict``; None when that was no crash."""
    if verdict.state != "failed":
        return None
    reason = verdict.reason[:1].upper() + verdict.reason[1:]
    text = (
        f"{reason} (step {step}). The run's page tells why, as far as the log shows it; Start goes on from"
        " the last good checkpoint."
    )
    return Alarm(Level.ERROR, "The run has crashed", text, step)
