"""The reporter and the ear of ranks that neither report nor obey: rank 0 does both for all.

They are silent, not absent: such a rank still has a heartbeat of its own, and a
wish to stop that reaches it alone is passed on.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from trainer.protocol.events import Command, EventType, Phase
from trainer.protocol.rank_files import RankPaths
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls
from trainer.telemetry.pulse import Pulse
from trainer.telemetry.reporter import Reporter


class SilentReporter(Reporter):
    """Beats, and writes no event."""

    def __init__(self, rank: RankPaths, *, attempt: int) -> None:
        rank.root.mkdir(parents=True, exist_ok=True)
        self.attempt = attempt
        self._phase_said_at = self._progress_said_at = -math.inf
        self._pulse = Pulse(rank.heartbeat, attempt=attempt, lost_events=lambda: 0)
        self._pulse.start()

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Only the step counts."""
        self.advance(step)

    def phase(
        self, phase: Phase, *, step: int, detail: str | None = None, fraction: float | None = None
    ) -> None:
        """Only the heartbeat shows it."""
        self._pulse.phase = phase.value
        self.advance(step)

    def close(self) -> None:
        """Write the last heartbeat."""
        self._pulse.stop()

    def _say(self, event_type: EventType, body: Mapping[str, Any]) -> None:
        self.advance()


class PassingControls(Controls):
    """Hears wishes to stop while it loads, and passes on those that reach it alone; takes no order."""

    def __init__(self, paths: RunPaths) -> None:
        self._stop_file = os.fspath(paths.control / Command.STOP.value)
        self._stop = False
        self._make_file: Callable[[], None] = (paths.control / Command.STOP.value).touch
        paths.control.mkdir(parents=True, exist_ok=True)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)

    def poll(self) -> set[Command]:
        """None: rank 0 tells what to do."""
        return set()

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self._stop = True
        with contextlib.suppress(OSError):
            self._make_file()
