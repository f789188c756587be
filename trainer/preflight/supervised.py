"""Starts a real supervisor of a run in a throw-away folder, and ends it in time.

The supervisor dies with this process: the kernel tells it, and it ends its trainer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from trainer.preflight.scratch import end_all
from trainer.protocol.errors import ProtocolError
from trainer.protocol.launch_probes import take_probes_along
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.supervisor.process import Trainer, spawn

POLL_S: Final = 0.004
KILL_GRACE_S: Final = 8.0
ROOT: Final = Path(__file__).resolve().parents[2]


class Supervised:
    """One run under one supervisor; the caller must be the main thread."""

    def __init__(self, spec: RunSpec | None, folder: Path) -> None:
        """Write the spec of a new run, and start the supervisor of its next attempt.

        Args:
            spec: of a new run; None goes on with the one in ``folder``.
            folder: of the run, absolute.

        Raises:
            OSError: the folder cannot be written, or no process be started.
            ProtocolError: the file of probes that it names cannot be used.
        """
        self.paths = RunPaths(folder)
        self.began = time.monotonic()
        if spec is not None:
            folder.mkdir(parents=True, exist_ok=True)
            take_probes_along(spec, self.paths)
            spec.save(self.paths)
        command = [sys.executable, "-u", "-P", "-m", "trainer", "supervise", str(folder), "--drain", "0"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "SIGNALBOX_RUN_DIR": str(folder)}
        self._process: Trainer = spawn(command, environ=environ, output=self.paths.supervisor_log, cwd=folder)

    def wait(self, *, limit_s: float, until: Callable[[], bool] | None = None) -> bool:
        """Whether the supervisor has ended, or ``until`` has come true, before ``limit_s`` have passed."""
        deadline = time.monotonic() + limit_s
        while self._process.poll() is None:
            if until is not None and until():
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return until is None or until()

    @property
    def has_ended(self) -> bool:
        """Whether the supervisor is gone."""
        return self._process.poll() is not None

    def record(self) -> ExitRecord | None:
        """How the run ended; None when its supervisor did not come to say it."""
        try:
            return ExitRecord.load(self.paths)
        except ProtocolError:
            return None

    def _asked_to_end(self) -> bool:
        """Ask for a stop without grace, again and again: one that has just begun may not listen yet."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGQUIT)
        return False

    def end(self) -> None:
        """End the run and everything of it: asked first, killed after a grace; harmless when it has ended."""
        if self._process.poll() is None and not self.wait(limit_s=KILL_GRACE_S, until=self._asked_to_end):
            self._process.kill()
            self.wait(limit_s=KILL_GRACE_S)
        end_all(self.paths.root)
