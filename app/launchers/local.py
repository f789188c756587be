"""Supervisors as processes of this machine, detached so that they outlive the web process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import psutil

from app.launchers.launcher import LaunchError
from trainer.environment.build import build
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.lock_holder import lock_holder
from trainer.protocol.process_identity import ProcessIdentity, Signalled
from trainer.protocol.run_folder import RunPaths

ROOT: Final = Path(__file__).resolve().parents[2]


class LocalLauncher:
    """Spawns ``python -m trainer supervise RUN_DIR`` in a session of its own."""

    def __init__(self, *, environ: Mapping[str, str] | None = None) -> None:
        """Args:
        environ: where inherited variables are looked up; None stands for this process's own.
        """
        self._environ = os.environ if environ is None else environ
        self._callbacks: list[Callable[[str], None]] = []
        self._running: dict[str, bool] = {}  # run id -> whether its last launched supervisor still runs

    def launch(self, paths: RunPaths) -> int:
        """Start the run's supervisor; its output goes to ``supervisor.log``."""
        process = self._spawn(paths, "supervise")
        self._running[paths.root.name] = True
        self._reap_later(process, paths.root.name, is_supervisor=True)
        return process.pid

    def drain(self, paths: RunPaths) -> int:
        """Start a process that ships the rest of an ended run's spool."""
        process = self._spawn(paths, "drain")
        self._reap_later(process, paths.root.name, is_supervisor=False)
        return process.pid

    def supervisor_pid(self, paths: RunPaths) -> int | None:
        """The pid that holds the run's lock, as the kernel knows it, unless it only ships what is left."""
        pid = lock_holder(paths.lock)
        return None if pid is None or _only_ships(paths, pid) else pid

    def lock_holder(self, paths: RunPaths) -> int | None:
        """The pid that holds the run's lock, as the kernel knows it."""
        return lock_holder(paths.lock)

    def is_running(self, paths: RunPaths) -> bool | None:
        """Whether the supervisor last launched here for this run still runs; None when none was."""
        return self._running.get(paths.root.name)

    def signal(self, paths: RunPaths, signal_number: int) -> bool:
        """Signal the supervisor if lock holder and ``supervisor.json`` agree on who it is.

        A pid may have been given to a stranger since; a pidfd taken before the
        check cannot be, so the signal goes through it where the system has one.
        """
        pid = lock_holder(paths.lock)
        if pid is None or pid <= 0:
            return False
        try:
            with Signalled(pid) as target:
                if not _is_recorded(paths, pid) or lock_holder(paths.lock) != pid:
                    return False
                target.send(signal_number)
        except (ProcessLookupError, PermissionError, psutil.Error):
            return False
        return True

    def on_exit(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(run_id)`` when a process started by this launcher has ended."""
        self._callbacks.append(callback)

    def _spawn(self, paths: RunPaths, verb: str) -> subprocess.Popen[bytes]:
        try:
            with paths.supervisor_log.open("ab") as log:
                return subprocess.Popen(
                    [sys.executable, "-P", "-m", "trainer", verb, str(paths.root)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=paths.root,
                    env=self._environment(),
                    start_new_session=True,
                )
        except OSError as exc:
            place = exc.filename or sys.executable
            raise LaunchError(f"could not start the supervisor: {place}: {exc.strerror}") from exc

    def _reap_later(self, process: subprocess.Popen[bytes], run_id: str, *, is_supervisor: bool) -> None:
        def reap() -> None:
            process.wait()
            if is_supervisor:
                self._running[run_id] = False
            for callback in self._callbacks:
                callback(run_id)

        threading.Thread(target=reap, name=f"reaper-{process.pid}", daemon=True).start()

    def _environment(self) -> dict[str, str]:
        """Only what the trainer may inherit, so that no secret of the server reaches it."""
        inherited = build(inherited=self._environ)
        passed = {one.name: one.value for one in inherited if one.source == "inherited"}
        return {**passed, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def _only_ships(paths: RunPaths, pid: int) -> bool:
    """Whether the holder of the lock does not supervise; so also while it has not yet said who it is."""
    try:
        record = read_object(paths.supervisor)
    except ProtocolError:
        return False
    is_another = pid > 0 and record.get("pid") != pid  # a holder in another pid namespace is known as 0
    return is_another or record.get("ships_only") is True


def _is_recorded(paths: RunPaths, pid: int) -> bool:
    try:
        said = ProcessIdentity.read(read_object(paths.supervisor))
    except (ProtocolError, KeyError, TypeError, ValueError):
        return False
    return said.is_same(ProcessIdentity.of(pid, create_time=psutil.Process(pid).create_time()))
