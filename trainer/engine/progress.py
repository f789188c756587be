"""What the loop knows about its own way: position, clock, throughput, the best so far."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from trainer.engine.task import LoopConfig, Task

THROUGHPUT_EVERY_S: Final = 1.0


def total_steps_of(task: Task, config: LoopConfig, *, num_ranks: int) -> int:
    """Optimizer steps of the whole training; each rank brings ``accumulate`` micro-batches to one."""
    if config.max_steps:
        return config.max_steps
    per_step = num_ranks * max(1, config.accumulate)
    return sum(-(-task.num_micro_batches(epoch) // per_step) for epoch in range(config.num_epochs))


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
    """Examples and tokens per second of training, about once a second; other phases do not count."""

    def __init__(self) -> None:
        self._num_examples = self._num_tokens = 0
        self._since = time.perf_counter()

    def add(self, num_examples: int, num_tokens: int = 0) -> dict[str, float]:
        """Count an update; returns rates by name when a second has passed since the last ones."""
        self._num_examples += num_examples
        self._num_tokens += num_tokens
        seconds = time.perf_counter() - self._since
        if seconds < THROUGHPUT_EVERY_S:
            return {}
        rates = {"examples_per_s": self._num_examples / seconds}
        if self._num_tokens:
            rates["tokens_per_s"] = self._num_tokens / seconds
        self.restart()
        return rates

    def restart(self) -> None:
        """Begin a new second, e.g. after a phase that was not training."""
        self._num_examples = self._num_tokens = 0
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
