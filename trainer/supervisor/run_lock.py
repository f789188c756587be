"""One supervisor per run folder, proved by a lock that dies with its holder."""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict
from types import TracebackType
from typing import Self

import psutil

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.process_identity import ProcessIdentity
from trainer.protocol.run_folder import RunPaths


class RunLocked(Exception):
    """Another process supervises this run; the message says which."""


class RunLock:
    """Holds ``supervisor.lock`` while it lives, and says in ``supervisor.json`` who does.

    A POSIX record lock is not inherited by forks, so a trainer that outlives
    its supervisor does not keep the run locked.  Nothing else in this process
    may open the lock file: closing any descriptor of it would drop the lock.
    """

    def __init__(self, paths: RunPaths, *, wait_s: float = 0.0, ships_only: bool = False) -> None:
        """Args:
        paths: the run folder.
        wait_s: how long to wait for another holder to let go.
        ships_only: whether the holder only ships what is left, and supervises nothing.
        """
        self._paths = paths
        self._ships_only = ships_only
        self._wait_s = wait_s
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            RunLocked: somebody else holds it, and still did after ``wait_s``.
        """
        self._descriptor = os.open(self._paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self._wait_s
        while not self._try_lock():
            if time.monotonic() >= deadline:
                os.close(self._descriptor)
                raise RunLocked(f"{self._paths.root} is supervised already{_holder(self._paths)}")
            time.sleep(0.05)
        identity = ProcessIdentity.of(os.getpid(), create_time=psutil.Process().create_time())
        said = {**asdict(identity), "started_at": time.time(), "ships_only": self._ships_only}
        write_atomic(self._paths.supervisor, json.dumps(said).encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _try_lock(self) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True


def living_supervisor(paths: RunPaths) -> psutil.Process | None:
    """The process that said it supervises this run, if it is still that very process."""
    try:
        said = ProcessIdentity.read(read_object(paths.supervisor))
        process = psutil.Process(said.pid)
        same = said.is_same(ProcessIdentity.of(said.pid, create_time=process.create_time()))
    except (ProtocolError, KeyError, ValueError, TypeError, psutil.Error):
        return None
    return process if same else None


def _holder(paths: RunPaths) -> str:
    process = living_supervisor(paths)
    return f" by process {process.pid}" if process is not None else ""
