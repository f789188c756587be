"""What a launcher must be able to do.  A new kind of launcher is one more file beside ``local.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from trainer.protocol.run_folder import RunPaths


class LaunchError(Exception):
    """The supervisor could not be started; the message says why, for a person."""


class Launcher(Protocol):
    """Starts supervisors and, where the link is down, reaches them another way."""

    def launch(self, paths: RunPaths) -> int:
        """Start the supervisor of the run in ``paths`` and return its pid.

        Raises:
            LaunchError: it could not be started.
        """

    def drain(self, paths: RunPaths) -> int:
        """Start a process that ships what an ended run still has in its spool; return its pid.

        Raises:
            LaunchError: it could not be started.
        """

    def supervisor_pid(self, paths: RunPaths) -> int | None:
        """The pid of the living supervisor of this run, or None when nobody supervises it."""

    def lock_holder(self, paths: RunPaths) -> int | None:
        """The pid that holds the run's lock: its supervisor, or a process that ships what is left of it."""

    def is_running(self, paths: RunPaths) -> bool | None:
        """Whether the process last launched here for this run still runs; None when none was."""

    def signal(self, paths: RunPaths, signal_number: int) -> bool:
        """Signal the run's supervisor if it is certain who that is; whether it was signalled."""

    def on_exit(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(run_id)`` from a thread whenever a process started here has ended."""
