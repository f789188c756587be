"""The learning rate of every update: warm-up, then constant, linear or cosine decay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch.optim import Optimizer

from trainer.engine.task import LoopConfig


def factor(step: int, *, total_steps: int, config: LoopConfig) -> float:
    """What update number ``step`` (from 1) multiplies the base learning rate by.

    Warm-up rises linearly and reaches 1 at update ``warmup_steps``; the decay
    starts at 1 and would reach ``min_lr_fraction`` just after the last update,
    so no update is wasted on a rate of zero.
    """
    if step <= config.warmup_steps:
        return step / config.warmup_steps
    if config.schedule == "constant":
        return 1.0
    num_decaying = max(1, total_steps - config.warmup_steps)
    done = min(1.0, (step - 1 - config.warmup_steps) / num_decaying)
    shape = 1.0 - done if config.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
    return config.min_lr_fraction + (1.0 - config.min_lr_fraction) * shape


class LearningRate:
    """Sets the rate of every parameter group; a pure function of the step, so it needs no state."""

    def __init__(self, optimizers: Sequence[Optimizer], *, config: LoopConfig, total_steps: int) -> None:
        self._optimizers = list(optimizers)
        self._base_rates = [float(group["lr"]) for group in self._groups()]
        self._config = config
        self._total_steps = total_steps

    def apply(self, step: int) -> float:
        """Set the rates for update number ``step``; returns that of the first parameter group."""
        multiplier = factor(step, total_steps=self._total_steps, config=self._config)
        for group, base_rate in zip(self._groups(), self._base_rates, strict=True):
            group["lr"] = base_rate * multiplier
        return self._base_rates[0] * multiplier

    def _groups(self) -> list[dict[str, Any]]:
        # asked anew each time: loading an optimizer's state replaces its groups
        return [group for optimizer in self._optimizers for group in optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The schedule in plain types, for the record of a checkpoint."""
        return {
            "base_rates": list(self._base_rates),
            "schedule": self._config.schedule,
            "warmup_steps": self._config.warmup_steps,
            "min_lr_fraction": self._config.min_lr_fraction,
            "total_steps": self._total_steps,
        }
