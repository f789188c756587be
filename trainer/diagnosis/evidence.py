"""Everything known about one end of one trainer, wherever it was learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Popen's negative codes, the shell's 128 + n, and Windows' NTSTATUS mean the same deaths.
_NTSTATUS: Final = {
    0xC0000005: 11,
    0xC00000FD: 11,
    0xC000001D: 4,
    0xC0000374: 6,
    0xC000013A: 2,
    0xC0000409: 6,
}
_BUS_ON_DARWIN: Final = 10
_BUS: Final = 7
_SIGNALS: Final = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    _BUS: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
}


@dataclass(frozen=True)
class Evidence:
    """What is known; None stands for what nobody could tell.

    ``signal`` has Linux numbers whatever the platform.  ``num_oom_kills`` counts what the kernel killed for
    memory in this attempt (``memory.events``, ``memory.oom_control``, ``vmstat``); ``oom_kills_are_own``
    is False where only the whole machine was counted, which proves nothing unless the trainer itself held
    much of ``memory_limit_bytes``.
    """

    log: str = ""
    exit_code: int | None = None
    signal: int | None = None
    stop_requested: bool = False
    stacks: str = ""  # faulthandler and hang dumps that are not in the log
    phase: str | None = None
    step: int | None = None
    steps_done: int | None = None
    said_finished: bool | None = None  # whether the trainer's own last word was that it had finished
    last_loss_is_finite: bool | None = None
    last_rss_bytes: int | None = None
    num_oom_kills: int | None = None
    oom_kills_are_own: bool = True
    memory_limit_bytes: int | None = None
    disk_free_bytes: int | None = None
    shm_free_bytes: int | None = None  # of /dev/shm, after the end
    shm_total_bytes: int | None = None
    platform: str = "linux"  # linux, darwin or windows

    @property
    def ended_well(self) -> bool:
        """The exit status claims success, and the trainer does not contradict it."""
        return self.exit_code == 0 and self.signal is None and self.said_finished is not False

    @property
    def ended_badly(self) -> bool:
        """The exit status says that something went wrong; False also where there is none."""
        return self.signal is not None or self.exit_code not in (None, 0)

    @property
    def left_silently(self) -> bool:
        """Exit code 0 of a trainer that should have said that it had finished, and had not."""
        return self.exit_code == 0 and self.signal is None and self.said_finished is False


def exit_of(status: int | None, *, platform: str = "linux") -> tuple[int | None, int | None]:
    """Split one number into exit code and signal, of which one is None.

    Args:
        status: a code, a negative or 128-based signal, or a Windows NTSTATUS, signed or not.
        platform: where it comes from: signal numbers differ.
    """
    if status is None:
        return None, None
    if platform == "windows":
        known = _NTSTATUS.get(status & 0xFFFFFFFF)
        if known is not None:
            return None, known
        if status > 0:
            return status, None
    number = -status if status < 0 else status - 128 if 128 < status <= 128 + 64 else None
    if number is None:
        return status, None
    if platform == "darwin" and number == _BUS_ON_DARWIN:
        number = _BUS
    return None, number


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11, and the bare number where there is no name."""
    return _SIGNALS.get(number, f"signal {number}")
