"""The trainer's pulse: a small file overwritten every second by a thread of its own.

The thread proves that the interpreter runs; ``progress_at`` proves that the
training advances. The supervisor reads both, so a stuck loop with a beating
heart is told apart from a dead process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from trainer.protocol.run_folder import Heartbeat
from trainer.telemetry.plain_json import dumps

BEAT_EVERY_S: Final = 1.0


class Pulse:
    """Holds what the trainer is doing and writes it to ``path`` every second.

    ``phase``, ``step`` and ``progress_at`` (monotonic seconds) are plain
    attributes set by the training thread; a beat writes whatever they are.
    """

    def __init__(self, path: Path, *, attempt: int, lost_events: Callable[[], int]) -> None:
        self.phase = "loading"
        self.step = 0
        self.progress_at = time.monotonic()
        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._attempt = attempt
        self._lost_events = lost_events
        self._failed_beats = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat_until_ended, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Write the first beat and start the thread."""
        self.beat()
        self._thread.start()

    def stop(self) -> None:
        """Write the last beat and end the thread."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=BEAT_EVERY_S)
        self.beat()

    def beat(self) -> None:
        """Overwrite the file; a full disk costs a beat, never the training."""
        heartbeat = Heartbeat(
            pid=os.getpid(),
            attempt=self._attempt,
            phase=self.phase,
            step=self.step,
            progress_at=self.progress_at,
            beat_at=time.monotonic(),
            t=time.time(),
            lost_events=self._lost_events(),
        )
        try:
            self._temporary.write_bytes(dumps(asdict(heartbeat)))
            self._temporary.replace(self._path)
        except OSError:
            self._failed_beats += 1

    def _beat_until_ended(self) -> None:
        while not self._ended.wait(BEAT_EVERY_S):
            self.beat()
