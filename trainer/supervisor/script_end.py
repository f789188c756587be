"""What the end of a person's script means: it knows nothing of our words, so its exit code speaks for it."""

from __future__ import annotations

import signal
from typing import Final

from trainer.diagnosis.finding import Finding
from trainer.scripts.declaration import ScriptError
from trainer.supervisor.inquest import last_loss_is_finite
from trainer.supervisor.process import ExitStatus
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.tally import Tally
from trainer.supervisor.verdict import Verdict

UNUSABLE: Final = "script_unusable"
# how shells and careful scripts tell that a signal has ended them
_STOPPED_SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
_STOPPED_CODES: Final = frozenset({128 + signal.SIGTERM, 128 + signal.SIGINT})


def judge_script(status: ExitStatus, tally: Tally, *, stop: StopLadder, verdict: Verdict) -> Verdict:
    """The end of a script, where it differs from ``verdict``, that of a trainer which has to say goodbye.

    Exit code 0 says that it has finished, whether or not it ever said a word or a step.
    A loss that is no number stays a failure.
    """
    stop_requested = stop.requested
    if status.signal is not None:
        if stop.was_deaf and stop.killed_after_s is not None and verdict.state == "stopped":
            return Verdict(
                "stopped", f"killed {stop.killed_after_s:.0f} s after the stop, because it ignores SIGTERM"
            )
        if stop_requested and status.signal in _STOPPED_SIGNALS:
            return Verdict("stopped", f"stopped as asked{_where(tally)}")
        return verdict
    if stop_requested and status.code in _STOPPED_CODES:
        return Verdict("stopped", f"stopped as asked{_where(tally)}")
    if status.code != 0:
        return Verdict(verdict.state, verdict.reason.replace("the trainer", "the script"))
    if verdict.state == "stopped" or stop_requested:
        return Verdict("stopped", f"stopped as asked{_where(tally)}")
    if tally.finished is not None and tally.step > 0:
        return verdict
    if last_loss_is_finite(tally) is False:
        return Verdict(
            "failed", f"the script ended with exit code 0{_where(tally)}, but its loss is not a number"
        )
    return Verdict("finished", f"the script ended with exit code 0{_where(tally)}")


def unusable(error: ScriptError) -> Finding:
    """Why a script was not started: what is wrong with it, as it was said when it was looked at."""
    return Finding(
        id=UNUSABLE,
        cause=f"The script cannot be used: {error.place}: {error.message}.",
        remedy=f"{error.remedy[:1].upper()}{error.remedy[1:]}. Then start the run again.",
        confidence=1.0,
        lines=(str(error),),
        source="docs/scripts.md",
    )


def _where(tally: Tally) -> str:
    return f" at step {tally.step}" if tally.step else ""
