"""What people ask of a live trainer: files in the control folder, and SIGTERM for stop.

A file named after a :class:`Command` in ``control/`` is a request; taking it
removes the file. Looking costs one directory listing, so the loop may look at
every step.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Final

from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths

_COMMANDS: Final = {command.value: command for command in Command}


class StopRequested(Exception):
    """Raised out of long work when somebody has asked the run to stop."""


class Controls:
    """The trainer's ear. Built in the main thread, it also takes SIGTERM as a wish to stop."""

    def __init__(self, paths: RunPaths) -> None:
        self._folder = os.fspath(paths.control)
        self._stop_file = os.fspath(paths.control / Command.STOP.value)
        self._stop = False
        paths.control.mkdir(parents=True, exist_ok=True)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)

    @property
    def should_stop(self) -> bool:
        """Whether somebody has asked the run to stop, now or earlier."""
        return self._stop or os.path.exists(self._stop_file)  # noqa: PTH110 - asked at every step

    def poll(self) -> set[Command]:
        """Take the pending commands; STOP stays in the answer once it was asked for."""
        commands: set[Command] = set()
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - asked at every step
        except OSError:
            names = []
        for name in names:
            command = _COMMANDS.get(name)
            if command is not None and self._take(name):
                commands.add(command)
        if Command.STOP in commands:
            self._stop = True
        if self._stop:
            commands.add(Command.STOP)
        return commands

    def stop_if_asked(self) -> None:
        """Give long work a place to end.

        Raises:
            StopRequested: somebody has asked the run to stop.
        """
        if self.should_stop:
            raise StopRequested("the run was asked to stop")

    def _take(self, name: str) -> bool:
        try:
            os.unlink(os.path.join(self._folder, name))  # noqa: PTH108, PTH118 - beside listdir above
        except OSError:
            return False
        return True

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self._stop = True
