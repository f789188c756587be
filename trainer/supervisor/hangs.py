"""What it means that nothing is heard of a trainer: one pure function from evidence to a verdict.

Ages are seconds on the monotonic clock.  A heartbeat is a thread that beats:
it goes on beating beside a stuck training loop, and it stops when the
interpreter lock is never released.  So a hang is told by missing progress, and
its kind by what the processes do meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trainer.protocol.events import Phase

_IDLE_PERCENT: Final = 2.0  # of one core; the heartbeat alone costs about 0.1
_BUSY_PERCENT: Final = 30.0  # a spinning loop gets no more on a machine that is busy with other things
_BUSY_SHARE: Final = 0.8  # not 1: of a full machine, the wait a thread is in is told only afterwards
_GPU_BUSY_PERCENT: Final = 5.0


class Hang(StrEnum):
    """The ways not to advance."""

    SLOW = "slow"
    BUSY_STUCK = "busy-stuck"
    DEADLOCKED = "deadlocked"
    STOPPED = "stopped"
    BLOCKED_ON_IO = "blocked-on-io"
    SILENT_PHASE = "silent-phase"


class Wait(StrEnum):
    """What the trainer's main thread waits for inside the kernel."""

    LOCK = "a lock"
    PIPE = "a pipe"
    SOCKET = "a socket"
    FILE = "the disk"
    ANSWER = "a pipe, a socket or another process"
    CHILD = "a process it has started"
    TIME = "a timer"


_IO: Final = frozenset({Wait.PIPE, Wait.SOCKET, Wait.FILE, Wait.ANSWER})


@dataclass(frozen=True)
class Evidence:
    """What is known of a trainer at one moment.

    ``beat_age_s`` and ``progress_age_s`` count from the start of the attempt
    until the trainer has said something.  ``cpu_percent`` is that of the whole
    tree since progress stopped, 100 per busy core; None while it was not
    observed for long enough.  ``running_share`` is the share of looks (0..1)
    at which one of its threads was on a processor or waiting for one.
    ``is_disk_full`` says that the trainer could not report if it wanted to.
    ``who`` names the ranks that are suspended, where several processes train.
    """

    phase: str
    beat_age_s: float
    progress_age_s: float
    cpu_percent: float | None
    running_share: float = 0.0
    gpu_percent: float = 0.0
    is_suspended: bool = False
    waits_for: Wait | None = None
    is_disk_full: bool = False
    who: str = ""


def verdict(seen: Evidence, *, limit_s: float, suspended_limit_s: float) -> Hang | None:
    """Return how the trainer hangs, or None while it may be taken for healthy.

    Args:
        seen: the evidence.
        limit_s: how long the present phase may go without progress.
        suspended_limit_s: how long a process that somebody has suspended is let be.
    """
    if seen.phase == Phase.PAUSED or (seen.is_disk_full and not seen.is_suspended):
        return None
    if seen.is_suspended:
        return Hang.STOPPED if seen.beat_age_s >= suspended_limit_s else None
    if seen.progress_age_s < limit_s or seen.cpu_percent is None:
        return None
    is_busy = seen.cpu_percent >= _BUSY_PERCENT or seen.running_share >= _BUSY_SHARE
    is_idle = seen.cpu_percent < _IDLE_PERCENT and seen.gpu_percent < _GPU_BUSY_PERCENT
    if is_idle and not is_busy:
        return Hang.BLOCKED_ON_IO if seen.waits_for in _IO else Hang.DEADLOCKED
    if seen.phase != Phase.TRAINING:
        return Hang.SILENT_PHASE
    return Hang.BUSY_STUCK if is_busy else Hang.SLOW


def in_words(hang: Hang, seen: Evidence) -> str:
    """The verdict in a sentence for people, without a full stop."""
    silent = f"no progress for {seen.progress_age_s:.0f} s in phase {seen.phase}"
    cpu = f"{seen.cpu_percent or 0.0:.0f} % of a core"
    waiting = f" for {seen.waits_for}" if seen.waits_for else ""
    who = f"{seen.who} is " if seen.who else ""
    if hang is Hang.STOPPED:
        return (
            f"{who}suspended from outside for {seen.beat_age_s:.0f} s (SIGSTOP or a debugger);"
            " kill -CONT lets it go on, and Stop works"
        )
    if hang is Hang.DEADLOCKED:
        return f"{silent}, and nothing computes: it waits{waiting or ' for something that never comes'}"
    if hang is Hang.BLOCKED_ON_IO:
        return f"{silent}: it waits{waiting}, and nothing comes"
    if hang is Hang.BUSY_STUCK:
        beats = "" if seen.beat_age_s < 5 else ", and other threads of it get no turn"
        return f"{silent}, although it computes ({cpu}){beats}: probably an endless loop"
    if hang is Hang.SILENT_PHASE:
        return f"{silent}, which is longer than this phase should be silent; it still computes ({cpu})"
    gpu = f", GPU {seen.gpu_percent:.0f} %" if seen.gpu_percent >= _GPU_BUSY_PERCENT else ""
    return f"{silent}, far longer than its steps took before; it still does a little ({cpu}{gpu})"
