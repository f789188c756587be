"""What an end means: exit status, last words and wishes become a state and a reason in words.

The exit code has the last word: ``finished`` needs a code 0 *and* a trainer
that said it had finished *and* at least one step *and* a loss that is a number.  ``stopped`` is a wish that
was fulfilled; a trainer that broke while stopping has failed.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainer.supervisor.process import ExitStatus

_WISHES = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class Verdict:
    """``state`` is finished, stopped or failed."""

    state: str
    reason: str


def judge(
    status: ExitStatus,
    *,
    finished: Mapping[str, Any] | None,
    step: int,
    stop_requested: bool,
    killed_after_s: float | None = None,
    last_loss_is_finite: bool | None = None,
) -> Verdict:
    """Return how the run ended.

    Args:
        status: of the trainer itself, not of its children.
        finished: the trainer's ``finished`` event of this attempt, if it wrote one.
        step: optimizer updates done, over all attempts.
        stop_requested: somebody asked for a stop or a kill.
        killed_after_s: seconds of grace that passed before the supervisor killed the tree.
        last_loss_is_finite: whether the newest training loss is a number; None when none was reported.
    """
    if status.signal is not None:
        return _by_signal(status.signal, stop_requested=stop_requested, killed_after_s=killed_after_s)
    if status.code != 0:
        when = " while stopping" if stop_requested else ""
        return Verdict("failed", f"the trainer ended with exit code {status.code}{when}")
    if finished is None:
        return _without_a_word(stop_requested=stop_requested)
    if finished.get("reason") == "stopped":
        who = "stopped as asked" if stop_requested else "stopped by a signal from outside"
        return Verdict("stopped", f"{who} at step {step}")
    if step < 1:
        return Verdict("failed", "the trainer said it had finished, but not one step was done")
    if last_loss_is_finite is False:
        return Verdict(
            "failed", f"the trainer said it had finished at step {step}, but its loss is not a number"
        )
    early = " early: the metric stopped getting better" if finished.get("reason") == "early_stop" else ""
    return Verdict("finished", f"finished{early} at step {step}")


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11, and the bare number where there is no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _by_signal(number: int, *, stop_requested: bool, killed_after_s: float | None) -> Verdict:
    name = signal_name(number)
    if stop_requested and number == signal.SIGKILL and killed_after_s is not None:
        return Verdict("stopped", f"killed {killed_after_s:.0f} s after the stop, without a last checkpoint")
    if number in _WISHES:
        who = "stopped as asked" if stop_requested else f"stopped from outside by {name}"
        return Verdict("stopped", f"{who}, before it could save a checkpoint")
    # which of the two it was is the finding's to say, by its evidence
    hint = ", by the kernel for memory or by somebody" if number == signal.SIGKILL else ""
    return Verdict("failed", f"the trainer was ended by {name}{hint}")


def _without_a_word(*, stop_requested: bool) -> Verdict:
    if stop_requested:
        return Verdict("stopped", "stopped as asked, without saying how far it had come")
    return Verdict("failed", "the trainer ended with exit code 0 but never said that it had finished")
