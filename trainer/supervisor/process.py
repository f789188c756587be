"""One trainer process: how it is born, how it is asked to end, what its end was.

The trainer gets a session of its own, no standard input, and a file for its
output: a pipe nobody drains would block it for good.

If the supervisor itself is killed, the kernel sends the trainer SIGTERM
(``PR_SET_PDEATHSIG``, Linux).  A trainer that nobody watches would go on
unseen, unmeasured and unstoppable; SIGTERM lets it save a checkpoint and
leave, so the next attempt continues where it stood.  The signal comes when the
*thread* that started the trainer ends, so trainers are started by the main
thread only.  Where there is no such signal, the next supervisor finds the
trainer by its record and its environment (see ``recovery``).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from trainer.protocol.files import write_atomic
from trainer.protocol.process_identity import ProcessIdentity
from trainer.supervisor.cgroup import Cgroup
from trainer.supervisor.process_state import catches

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_OPEN_FILES = 4096


@dataclass(frozen=True)
class ExitStatus:
    """How a process ended: with a code, or by a signal; exactly one of the two is set."""

    code: int | None
    signal: int | None
    rusage: dict[str, float] = field(default_factory=dict)


def save_record(path: Path, trainer: Trainer, *, cgroup: Cgroup | None) -> None:
    """Write down who the trainer is, synced: the record must outlive a crash of the supervisor.

    Raises:
        OSError: it cannot be written.
    """
    group = str(cgroup.path) if cgroup is not None else ""
    write_atomic(path, json.dumps({**asdict(trainer.identity), "cgroup": group}).encode())


class Trainer:
    """A started trainer; its end is collected by :meth:`poll` and never lost."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._status: ExitStatus | None = None
        self.pid = process.pid
        self.identity = ProcessIdentity.of(process.pid, create_time=psutil.Process(process.pid).create_time())

    def poll(self) -> ExitStatus | None:
        """The exit status once there is one; None while the trainer lives."""
        if self._status is None:
            pid, raw, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._status = _status(raw, usage)
                self._process.returncode = os.waitstatus_to_exitcode(raw)
        return self._status

    def ask_to_stop(self) -> None:
        """SIGTERM, and SIGCONT so that a suspended trainer can obey it."""
        for number in (signal.SIGTERM, signal.SIGCONT):
            self._send(number)

    def ask_for_stacks(self) -> bool:
        """SIGUSR1 to a trainer that has a handler for it, which would else die of it; whether it was sent."""
        if self.poll() is not None or not catches(self.pid, signal.SIGUSR1):
            return False
        self._send(signal.SIGUSR1)
        return True

    def kill(self) -> None:
        """SIGKILL to the trainer alone; its tree is another matter."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # unreaped, the pid cannot belong to anybody else
        if self.poll() is None:
            os.kill(self.pid, number)


def spawn(
    argv: list[str], *, environ: dict[str, str], output: Path, cwd: Path, cgroup: Cgroup | None = None
) -> Trainer:
    """Start ``argv`` in a session of its own, born into ``cgroup``; the caller must be the main thread.

    Raises:
        OSError: the program cannot be started.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("start trainers from the main thread: the parent-death signal is bound to it")
    output.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(output.open("ab"))
        door = _open_door(cgroup)
        if door is not None:
            opened.callback(os.close, door)
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environ,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_before_exec(door),
        )
    return Trainer(process)


def open_file_limits() -> tuple[int, int]:
    """Soft and hard limit of open files of this process and of what it starts; -1 for none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft, -1 if hard == resource.RLIM_INFINITY else hard


def raise_open_files(limit: int) -> None:
    """Let this process, and what it starts from now on, open ``limit`` files.

    Raises:
        OSError: the system does not allow that many.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except ValueError as exc:
        raise OSError(f"{limit} open files are more than the system allows: {exc}") from exc


def prepare_supervisor() -> None:
    """Become the parent of every orphan below, raise the open-file limit, leave no core dumps."""
    libc = _libc()
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _open_door(cgroup: Cgroup | None) -> int | None:
    if cgroup is None:
        return None
    try:
        return cgroup.descriptor()
    except OSError:  # removed from outside: the other nets have to do
        return None


def _before_exec(door: int | None) -> Callable[[], None] | None:
    libc = _libc()
    if libc is None:
        return None
    prctl, parent = libc.prctl, os.getpid()  # looked up before the fork: nothing is imported behind it

    def in_child() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the supervisor's handler would swallow it until exec
        if door is not None:
            with contextlib.suppress(OSError):
                os.write(door, b"0")
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # the supervisor died between fork and prctl
            os.kill(os.getpid(), signal.SIGTERM)

    return in_child


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _status(raw: int, usage: resource.struct_rusage) -> ExitStatus:
    code = os.waitstatus_to_exitcode(raw)
    rss_unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, everybody else KiB
    figures = {
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "max_rss_bytes": float(usage.ru_maxrss * rss_unit),
        "major_faults": float(usage.ru_majflt),
        "voluntary_switches": float(usage.ru_nvcsw),
        "involuntary_switches": float(usage.ru_nivcsw),
    }
    return ExitStatus(None if code < 0 else code, -code if code < 0 else None, figures)
