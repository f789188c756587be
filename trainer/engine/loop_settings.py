"""The loop's settings out of a recipe's parameters, the same way for every recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from trainer.engine.task import LoopConfig


def loop_config(params: Mapping[str, Any], *, num_micro_batches: int, **changes: Any) -> LoopConfig:
    """A setting of the loop is the parameter of its name.

    Evaluation and checkpoints every 0 steps mean once per epoch, and ``loss``
    is the one measure that is better when it is lower.

    Args:
        params: complete ones of a recipe.
        num_micro_batches: of an epoch.
        changes: settings that are called otherwise there.
    """
    settings = {one.name: params[one.name] for one in fields(LoopConfig) if one.name in params}
    steps_per_epoch = max(1, -(-num_micro_batches // (params["accumulate"] * params["nproc"])))
    settings |= {
        "eval_every": params["eval_every"] or steps_per_epoch,
        "checkpoint_every": params["checkpoint_every"] or steps_per_epoch,
        "best_mode": "min" if params["best_metric"] == "loss" else "max",
    }
    return LoopConfig(**{**settings, **changes})
