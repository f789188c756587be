"""What the kernel says of a trainer: suspended or not, what it waits for, how much it computes."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from trainer.supervisor.hangs import Wait

_SUSPENDED: Final = frozenset({psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP})
# beginnings and parts of names of kernel functions (wchan), over the kernels from 4.x on
_WAITS: Final = (
    ("futex", Wait.LOCK),
    ("pipe", Wait.PIPE),
    ("fifo_open", Wait.PIPE),
    ("wait_for_partner", Wait.PIPE),
    ("unix_stream", Wait.SOCKET),
    ("sk_wait", Wait.SOCKET),
    ("skb_wait", Wait.SOCKET),
    ("inet_csk", Wait.SOCKET),
    ("tcp_", Wait.SOCKET),
    ("poll_schedule", Wait.ANSWER),
    ("do_sys_poll", Wait.ANSWER),
    ("do_select", Wait.ANSWER),
    ("ep_poll", Wait.ANSWER),
    ("do_epoll_wait", Wait.ANSWER),
    ("n_tty_read", Wait.ANSWER),
    ("io_schedule", Wait.FILE),
    ("folio_wait", Wait.FILE),
    ("wait_on_page", Wait.FILE),
    ("request_wait_answer", Wait.FILE),  # FUSE
    ("rpc_wait", Wait.FILE),  # NFS
    ("nfs", Wait.FILE),
    ("jbd2", Wait.FILE),
    ("locks_lock", Wait.FILE),
    ("do_wait", Wait.CHILD),
    ("nanosleep", Wait.TIME),
)


@dataclass(frozen=True)
class ThreadTimes:
    """What a thread has had of the processors in its life: seconds on one, seconds of waiting for one."""

    computed_s: float
    waited_s: float


@dataclass(frozen=True)
class ProcessState:
    """One close look at a trainer and all below it.

    ``is_running``: one of its threads is on a processor or waits for its turn on one, which a
    spinning loop always does, however little of a crowded machine it gets.  ``cpu_s`` is summed
    over the tree.  ``threads`` are those of the trainer itself, by thread id; empty where the system
    does not tell.
    """

    is_running: bool
    waits_for: Wait | None
    cpu_s: float
    threads: Mapping[int, ThreadTimes] = field(default_factory=dict)


def is_suspended(pid: int) -> bool | None:
    """Whether process ``pid`` is suspended, by a signal or a debugger; None when it has ended.  Cheap."""
    try:
        status = psutil.Process(pid).status()
    except psutil.Error:
        return None
    return None if status == psutil.STATUS_ZOMBIE else status in _SUSPENDED


def look(pid: int) -> ProcessState | None:
    """The state of process ``pid``; None when it has ended.  Costs a walk over all processes."""
    try:
        root = psutil.Process(pid)
        status = str(root.status())
        family = [root, *root.children(recursive=True)]
    except psutil.Error:
        return None
    if status == psutil.STATUS_ZOMBIE:
        return None
    cpu_s = 0.0
    for process in family:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            cpu_s += times.user + times.system
    return ProcessState(
        is_running=status == psutil.STATUS_RUNNING or _has_running_thread(pid),
        waits_for=Wait.FILE if status == psutil.STATUS_DISK_SLEEP else wait_of(_wchan(pid)),
        cpu_s=cpu_s,
        threads=_thread_times(pid),
    )


def wait_of(wchan: str) -> Wait | None:
    """What a kernel function waits for; None where its name says nothing."""
    return next((wait for part, wait in _WAITS if part in wchan), None)


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal: without one SIGUSR1 would end it.

    Only Linux can tell; elsewhere the answer is yes, and the caller needs another sign.
    """
    if sys.platform != "linux":
        return True
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.split("\nSigCgt:", 1)[1].split(None, 1)[0], 16)
        return bool(caught >> (number - 1) & 1)
    return False


def _has_running_thread(pid: int) -> bool:
    """Whether any thread can run at this moment; False where only psutil could tell."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[0] == "R":
                return True
    return False


def _thread_times(pid: int) -> dict[int, ThreadTimes]:
    found = {}
    for schedule in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            computed_ns, waited_ns = schedule.read_text().split()[:2]
            found[int(schedule.parent.name)] = ThreadTimes(int(computed_ns) / 1e9, int(waited_ns) / 1e9)
    return found


def _wchan(pid: int) -> str:
    """Where in the kernel the main thread waits; empty while it runs, and where nobody tells."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return ""
