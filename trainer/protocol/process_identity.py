"""Who a process is: a pid alone may belong to a stranger tomorrow.

Linux counts a process's start in clock ticks since boot, which no change of
the wall clock moves, and names every boot.  Elsewhere the kernel keeps the wall
clock time of the start.  Only the standard library is used: the web process
and the supervisor share this.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD: Final = 19  # starttime, counted from the state that follows the program's name
_CLOCK_TOLERANCE_S: Final = 0.05


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one boot.

    ``create_time`` is in Unix seconds; ``boot_id`` is empty and ``start_ticks`` None where the system does
    not tell them.
    """

    pid: int
    create_time: float
    boot_id: str = ""
    start_ticks: int | None = None

    @classmethod
    def of(cls, pid: int, *, create_time: float) -> ProcessIdentity:
        """The process that has ``pid`` now, started at ``create_time``."""
        return cls(pid, create_time, boot_id(), start_ticks(pid))

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> ProcessIdentity:
        """What :func:`dataclasses.asdict` wrote, also with further keys or by an older version.

        Raises:
            KeyError: pid or create_time is missing.
            TypeError, ValueError: a field is of the wrong kind.
        """
        ticks = record.get("start_ticks")
        return cls(
            int(record["pid"]),
            float(record["create_time"]),
            str(record.get("boot_id") or ""),
            None if ticks is None else int(ticks),
        )

    def is_same(self, other: ProcessIdentity) -> bool:
        """Whether both are the same process; ticks and boot decide where both know them."""
        if self.pid != other.pid:
            return False
        if self.boot_id and other.boot_id and self.boot_id != other.boot_id:
            return False
        if self.start_ticks is not None and other.start_ticks is not None:
            return self.start_ticks == other.start_ticks
        return abs(self.create_time - other.create_time) <= _CLOCK_TOLERANCE_S


class Signalled:
    """A process held so that a signal cannot reach a stranger: by a pidfd where the system has them."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Take hold; check who it is after this.

        Raises:
            ProcessLookupError: there is no such process.
        """
        if hasattr(os, "pidfd_open"):
            self._descriptor = os.pidfd_open(self._pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def send(self, number: int) -> None:
        """Send the signal.

        Raises:
            ProcessLookupError: the process has ended.
            PermissionError: it belongs to somebody else.
        """
        if self._descriptor is not None:
            signal.pidfd_send_signal(self._descriptor, number)
        else:
            os.kill(self._pid, number)


def boot_id() -> str:
    """The name of the present boot; empty where the system does not tell."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None where that is not told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return int(stat.rpartition(")")[2].split()[_START_FIELD])  # the name may hold spaces and brackets
    except (OSError, ValueError, IndexError):
        return None
