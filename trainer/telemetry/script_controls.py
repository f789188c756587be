"""What people ask of a live script: stop, checkpoint, snapshot."""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType
from typing import Any

from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls


class ScriptControls:
    """The script's ear; it listens from the first question on, and leaves SIGTERM as it is until then."""

    def __init__(self, paths: RunPaths) -> None:
        self._paths = paths
        self._controls: Controls | None = None
        self._pending: set[Command] = set()
        self._lock = threading.Lock()

    def should_stop(self) -> bool:
        """Whether somebody has asked the run to stop."""
        return self._listening().should_stop

    def take(self, command: Command) -> bool:
        """Whether ``command`` was asked for since the last call."""
        controls = self._listening()
        with self._lock:
            self._pending |= controls.poll()
            was_asked = command in self._pending
            self._pending.discard(command)
        return was_asked

    def _listening(self) -> Controls:
        if self._controls is None:
            with self._lock:
                if self._controls is None:
                    self._controls = _listen(self._paths)
        return self._controls


def _listen(paths: RunPaths) -> Controls:
    """Take SIGTERM as a wish; what the script had for it before is still called."""
    before: Any = signal.getsignal(signal.SIGTERM)
    controls = Controls(paths)
    ours: Any = signal.getsignal(signal.SIGTERM)
    if callable(before) and ours is not before:

        def both(number: int, frame: FrameType | None) -> None:
            ours(number, frame)
            before(number, frame)

        with contextlib.suppress(ValueError):  # not the main thread: nothing was changed
            signal.signal(signal.SIGTERM, both)
    return controls
