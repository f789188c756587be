"""What the loop knows about its own way: position, clock, throughput, the best so far."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final

THROUGHPUT_EVERY_S: Final = 1.0


@dataclass
class Position:
    """Where the run is: updates done, the epoch, and how many of its micro-batches are consumed."""

    step: int = 0
    epoch: int = 0
    micro_batch: int = 0


class Clock:
    """Seconds the run has worked, over all its attempts and without pauses."""

    def __init__(self) -> None:
        self._carried_s = 0.0
        self._since = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds worked so far."""
        return self._carried_s + time.monotonic() - self._since

    def carry(self, elapsed_s: float) -> None:
        """Go on from ``elapsed_s``, e.g. that of an earlier attempt."""
        self._carried_s = elapsed_s
        self._since = time.monotonic()

    def remaining_s(self, *, step: int, total_steps: int) -> float:
        """Seconds the rest will probably take at the pace so far."""
        return self.elapsed_s / max(1, step) * max(0, total_steps - step)


class Throughput:
    """Examples per second of training, about once a second; other phases do not count."""

    def __init__(self) -> None:
        self._num_examples = 0
        self._since = time.perf_counter()

    def add(self, num_examples: int) -> float | None:
        """Count an update; returns a rate when a second has passed since the last one."""
        self._num_examples += num_examples
        seconds = time.perf_counter() - self._since
        if seconds < THROUGHPUT_EVERY_S:
            return None
        rate = self._num_examples / seconds
        self.restart()
        return rate

    def restart(self) -> None:
        """Begin a new second, e.g. after a phase that was not training."""
        self._num_examples = 0
        self._since = time.perf_counter()


@dataclass
class Best:
    """The best evaluation so far, and how many came since without beating it."""

    value: float | None = None
    step: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    num_since: int = 0

    def consider(self, results: dict[str, float], *, metric: str, mode: str, step: int) -> bool:
        """Take ``results`` in; returns whether they are the best so far. NaN never is."""
        value = results.get(metric, math.nan)
        beaten = self.value is None or (value > self.value if mode == "max" else value < self.value)
        if math.isnan(value) or not beaten:
            self.num_since += 1
            return False
        self.value, self.step, self.metrics, self.num_since = value, step, dict(results), 0
        return True

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return asdict(self)
