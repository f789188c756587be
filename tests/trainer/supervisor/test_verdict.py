"""Every way to end has one state, and the exit code has the last word."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from trainer.supervisor.process import ExitStatus
from trainer.supervisor.verdict import judge

COMPLETED = {"reason": "completed"}
STOPPED = {"reason": "stopped"}


@pytest.mark.parametrize(
    ("code", "number", "finished", "step", "asked", "state"),
    [
        (0, None, COMPLETED, 10, False, "finished"),
        (0, None, {"reason": "early_stop"}, 10, False, "finished"),
        (0, None, COMPLETED, 10, True, "finished"),
        (0, None, COMPLETED, 0, False, "failed"),
        (0, None, None, 10, False, "failed"),
        (0, None, None, 10, True, "stopped"),
        (0, None, STOPPED, 10, True, "stopped"),
        (0, None, STOPPED, 10, False, "stopped"),
        (0, None, STOPPED, 0, True, "stopped"),
        (1, None, COMPLETED, 10, False, "failed"),
        (1, None, STOPPED, 10, True, "failed"),
        (None, signal.SIGSEGV, None, 10, True, "failed"),
        (None, signal.SIGKILL, None, 10, False, "failed"),
        (None, signal.SIGKILL, COMPLETED, 10, False, "failed"),
        (None, signal.SIGTERM, None, 0, True, "stopped"),
        (None, signal.SIGTERM, None, 10, False, "stopped"),
    ],
)
def test_the_state_follows_from_status_words_and_wishes(
    code: int | None, number: int | None, finished: dict[str, Any] | None, step: int, asked: bool, state: str
) -> None:
    verdict = judge(ExitStatus(code, number), finished=finished, step=step, stop_requested=asked)
    assert verdict.state == state
    assert verdict.reason


def test_our_own_kill_after_the_grace_is_a_stop_and_says_so() -> None:
    status = ExitStatus(None, signal.SIGKILL)
    verdict = judge(status, finished=None, step=5, stop_requested=True, killed_after_s=30.0)
    assert verdict.state == "stopped"
    assert "killed 30 s after the stop" in verdict.reason


def test_a_kill_by_somebody_else_during_the_grace_is_a_failure() -> None:
    verdict = judge(ExitStatus(None, signal.SIGKILL), finished=None, step=5, stop_requested=True)
    assert verdict.state == "failed"
    assert "by somebody" in verdict.reason


def test_the_reason_of_a_kill_does_not_guess_what_the_finding_has_to_prove() -> None:
    verdict = judge(ExitStatus(None, signal.SIGKILL), finished=None, step=5, stop_requested=False)
    assert verdict.reason == "the trainer was ended by SIGKILL, by the kernel for memory or by somebody"
