"""Once a second, beside the supervisor's loop: sample, sync, and know the latest about the trainer.

In a thread of its own, because a disk may take seconds to sync and a stop must
not wait for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from trainer.protocol.run_folder import Heartbeat, RunPaths
from trainer.supervisor.own_spool import OwnSpool, SpoolSync
from trainer.supervisor.samples import Sampler

EVERY_S: Final = 1.0


class Pulse:
    """Samples one attempt until it is stopped."""

    def __init__(
        self, paths: RunPaths, *, attempt: int, spool: OwnSpool, sampler: Sampler, step: Callable[[], int]
    ) -> None:
        """``step`` tells how far the trainer is when a sample is taken."""
        self._step = step
        self._paths = paths
        self._attempt = attempt
        self._spool = spool
        self._sync = SpoolSync(paths)
        self._sampler = sampler
        self._newest: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)

    def start(self) -> None:
        """Start sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Sample no more, and sync one last time."""
        self._ended.set()
        self._thread.join(timeout=10.0)
        self._sync.sync()

    @property
    def gpu_percent(self) -> float:
        """Use of the run's GPUs at the last sample; 0 where it has none."""
        return self._newest.get("gpu_percent", 0.0)

    @property
    def process(self) -> dict[str, float]:
        """The last sample of the run's processes; empty before the first."""
        return self._newest

    def heartbeat(self) -> Heartbeat | None:
        """The trainer's last beat in this attempt."""
        heartbeat = Heartbeat.load(self._paths.heartbeat)
        return heartbeat if heartbeat is not None and heartbeat.attempt == self._attempt else None

    def status(self) -> dict[str, Any]:
        """The latest values for the dashboard; ages are seconds on this machine's monotonic clock."""
        heartbeat, now = self.heartbeat(), time.monotonic()
        return {
            "attempt": self._attempt,
            "heartbeat": asdict(heartbeat) if heartbeat else None,
            "beat_age_s": now - heartbeat.beat_at if heartbeat else None,
            "progress_age_s": now - heartbeat.progress_at if heartbeat else None,
            "process": self._newest,
        }

    def _beat(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._newest = self._sampler.sample()
            if self._newest:
                values = {f"system/{name}": value for name, value in self._newest.items()}
                self._spool.metrics(attempt=self._attempt, step=self._step(), values=values)
            self._sync.sync()
