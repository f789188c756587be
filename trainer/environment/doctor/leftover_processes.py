"""Finding processes of ours whose run nobody supervises, and ending exactly those.

A process is ours when its environment carries a run folder of this instance as its mark, and it is the
trainer of that run, a fork or a multiprocessing child of it, or lives in the session of a trainer on record;
or when it is a supervisor by its command line.  A shell into which somebody copied the mark is none of these.
It is left over when nobody holds the lock of that run folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.lock_holder import lock_holder
from trainer.protocol.run_folder import RunPaths

MARK: Final = "SIGNALBOX_RUN_DIR"
SAME_S: Final = 0.01  # creation times this close are one process's
STARTING_S: Final = 30.0  # a supervisor younger than this may not hold its lock yet
KILL_WAIT_S: Final = 5.0
CHILD_WORDS: Final = re.compile(r"multiprocessing[.](spawn|forkserver|resource_tracker)")


@dataclass(frozen=True)
class Leftover:
    """A process without supervision; pid and ``create_time`` (Unix seconds) together name it for good."""

    pid: int
    create_time: float
    run_id: str
    role: str
    command: str
    rss_bytes: int

    def to_json(self) -> dict[str, Any]:
        """The shape in the check's details."""
        return asdict(self)


@dataclass(frozen=True)
class Ended:
    """What became of one process that was to be ended."""

    pid: int
    create_time: float
    outcome: str

    def to_json(self) -> dict[str, Any]:
        """The shape the API answers."""
        return asdict(self)


def find(runs_dir: Path) -> list[Leftover]:
    """All leftover processes of this user whose run folder lies in ``runs_dir``, oldest first."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            leftover = _judge(process, runs_dir.resolve())
            if leftover is not None:
                found.append(leftover)
    return sorted(found, key=lambda one: one.create_time)


def end(wanted: Iterable[tuple[int, float]], *, runs_dir: Path, grace_s: float) -> list[Ended]:
    """End those of ``wanted`` (pid, creation time) that are still leftovers now; nothing else is touched.

    Args:
        wanted: which processes somebody has seen and wants gone.
        runs_dir: where the runs of this instance lie.
        grace_s: what a process may take to save a checkpoint before it is killed.
    """
    now = {one.pid: one for one in find(runs_dir)}
    outcomes: list[Ended] = []
    targets: dict[int, psutil.Process] = {}
    for pid, create_time in dict.fromkeys(wanted):
        leftover = now.get(pid)
        if leftover is None or abs(leftover.create_time - create_time) > SAME_S:
            outcomes.append(Ended(pid, create_time, "gone, or not ours any more: left alone"))
            continue
        with contextlib.suppress(psutil.Error):
            targets[pid] = psutil.Process(pid)
    for process in targets.values():
        for number in (signal.SIGTERM, signal.SIGCONT):
            _send(process, number)
    _, stubborn = psutil.wait_procs(list(targets.values()), timeout=grace_s)
    for process in stubborn:
        _send(process, signal.SIGKILL)
    _, immortal = psutil.wait_procs(stubborn, timeout=KILL_WAIT_S)
    for pid, process in targets.items():
        outcome = "ended by itself"
        if process in immortal:
            outcome = "could not be ended: it is stuck inside the kernel, or belongs to somebody else"
        elif process in stubborn:
            outcome = f"killed: it did not end within {grace_s:g} s"
        outcomes.append(Ended(pid, now[pid].create_time, outcome))
    return outcomes


def _judge(process: psutil.Process, runs_dir: Path) -> Leftover | None:
    if process.pid == os.getpid() or process.uids().real != os.getuid():
        return None
    if process.status() == psutil.STATUS_ZOMBIE:
        return None
    command = process.cmdline()
    role, run_dir = _role(process, command)
    if (
        role is None
        or run_dir.parent.resolve() != runs_dir
        or lock_holder(RunPaths(run_dir).lock) is not None
    ):
        return None
    created = process.create_time()
    if role == "supervisor" and time.time() - created < STARTING_S:
        return None
    return Leftover(
        process.pid, created, run_dir.name, role, " ".join(command)[:300], process.memory_info().rss
    )


def _role(process: psutil.Process, command: list[str]) -> tuple[str | None, Path]:
    """What the process is to us, and its run folder."""
    module, argument = _module(command)
    if module == "trainer" and argument[:1] in (["supervise"], ["drain"]) and len(argument) > 1:
        return "supervisor", Path(argument[1])
    mark = process.environ().get(MARK)
    if not mark:
        return None, Path()
    run_dir = Path(mark)
    trainers = _recorded_trainers(run_dir)
    is_recorded = abs(process.create_time() - trainers.get(process.pid, 0.0)) <= SAME_S
    if is_recorded or (module == "trainer.engine" and argument[:1] == [mark]):
        return "trainer", run_dir
    if CHILD_WORDS.search(" ".join(command)) or os.getsid(process.pid) in trainers:
        return "child of a trainer", run_dir
    return None, run_dir


def _module(command: list[str]) -> tuple[str, list[str]]:
    """``trainer.engine`` and what follows it, of ``python -u -m trainer.engine …``."""
    with contextlib.suppress(ValueError, IndexError):
        place = command.index("-m")
        return command[place + 1], command[place + 2 :]
    return "", []


def _recorded_trainers(run_dir: Path) -> dict[int, float]:
    """Pid and creation time of all trainers this run has had; each led a session of its own."""
    found = {}
    for record in run_dir.glob("attempts/*/process.json"):
        with contextlib.suppress(ProtocolError, KeyError, TypeError, ValueError):
            fields = read_object(record)
            found[int(fields["pid"])] = float(fields["create_time"])
    return found


def _send(process: psutil.Process, number: signal.Signals) -> None:
    """Signal this very process: a pidfd cannot come to mean another one, a pid can."""
    with contextlib.suppress(psutil.Error, OSError):
        if not hasattr(os, "pidfd_open"):
            process.send_signal(number)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if process.is_running():  # compares creation times
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)
