"""A quiet script is given the benefit of every doubt, and one that waits for ever is found all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainer.supervisor.hangs import Evidence, Hang, Wait
from trainer.supervisor.script_hangs import ScriptVerdict

QUIET = Evidence(phase="training", beat_age_s=1e6, progress_age_s=0.0, cpu_percent=0.0)


def look(seen: Evidence, *, spoken: bool, limit_s: float = 10.0) -> Hang | None:
    judge = ScriptVerdict(step_may_take_s=60.0)
    judge.has_spoken = spoken
    return judge(seen, limit_s=limit_s, suspended_limit_s=5.0)


@pytest.mark.parametrize("silent_s", [700.0, 1e7])
def test_a_script_that_never_said_a_word_and_computes_is_healthy(silent_s: float) -> None:
    busy = replace(QUIET, progress_age_s=silent_s, cpu_percent=100.0, running_share=1.0)
    assert look(busy, spoken=False) is None
    assert look(replace(busy, cpu_percent=5.0, running_share=0.1), spoken=False) is None


@pytest.mark.parametrize("waits_for", [Wait.TIME, Wait.CHILD, None])
def test_one_that_sleeps_or_waits_for_its_child_is_healthy(waits_for: Wait | None) -> None:
    assert look(replace(QUIET, progress_age_s=1e7, waits_for=waits_for), spoken=False) is None


def test_one_that_waits_for_ever_is_found_after_a_long_silence() -> None:
    locked = replace(QUIET, waits_for=Wait.LOCK)
    assert look(replace(locked, progress_age_s=500.0), spoken=False) is None
    assert look(replace(locked, progress_age_s=601.0), spoken=False) is Hang.DEADLOCKED
    socket = replace(QUIET, waits_for=Wait.SOCKET, progress_age_s=601.0)
    assert look(socket, spoken=False) is Hang.BLOCKED_ON_IO


def test_one_that_has_spoken_may_evaluate_for_long_but_not_for_ever() -> None:
    busy = replace(QUIET, cpu_percent=100.0, running_share=1.0)
    assert look(replace(busy, progress_age_s=1700.0), spoken=True) is None
    assert look(replace(busy, progress_age_s=1801.0), spoken=True) is Hang.BUSY_STUCK
    assert look(replace(busy, progress_age_s=1801.0), spoken=True, limit_s=3600.0) is None


def test_a_deadlock_after_steps_is_found_as_soon_as_in_any_trainer() -> None:
    locked = replace(QUIET, waits_for=Wait.LOCK, progress_age_s=61.0)
    assert look(locked, spoken=True, limit_s=60.0) is Hang.DEADLOCKED


def test_a_suspended_script_is_told_as_such() -> None:
    suspended = replace(QUIET, is_suspended=True, beat_age_s=6.0)
    assert look(suspended, spoken=False) is Hang.STOPPED
