"""Gradients of one update: the true mean over micro-batches, their norm, clipping.

Sparse gradients (embedding bags) are coalesced and then counted and scaled
like dense ones, so the norm and the clipping speak for all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from trainer.engine.task import GoesBackItself, LossOutput, Task


@dataclass
class UpdateLoss:
    """Means over the examples of one update; ``loss`` stays on its device."""

    loss: Tensor
    chance_loss: float
    num_examples: int
    gradient_scale: float  # what the summed gradients must be multiplied by to be the mean's
    extra: dict[str, float] = field(default_factory=dict)


def backward(task: Task, micro_batches: Sequence[Any]) -> UpdateLoss:
    """Run forward and backward over the micro-batches of one update.

    A single micro-batch leaves the gradient of its mean loss. Several leave
    the sum over examples, each micro-batch weighed by its examples, so a short
    last one counts for what it is; ``gradient_scale`` turns that into the mean.
    """
    if len(micro_batches) == 1:
        output = _backward(task, micro_batches[0], weighed=False)
        return UpdateLoss(output.loss, output.chance_loss, output.num_examples, 1.0, output.extra)
    num_examples = 0
    loss_sums, chance_sum, extra_sums = [], 0.0, dict[str, float]()
    for micro_batch in micro_batches:
        output = _backward(task, micro_batch, weighed=True)
        loss_sums.append(output.loss * output.num_examples)
        num_examples += output.num_examples
        chance_sum += output.chance_loss * output.num_examples
        for name, value in output.extra.items():
            extra_sums[name] = extra_sums.get(name, 0.0) + value * output.num_examples
    return UpdateLoss(
        torch.stack(loss_sums).sum() / num_examples,
        chance_sum / num_examples,
        num_examples,
        1.0 / num_examples,
        {name: value / num_examples for name, value in extra_sums.items()},
    )


def _backward(task: Task, micro_batch: Any, *, weighed: bool) -> LossOutput:
    if isinstance(task, GoesBackItself):
        return task.backward(micro_batch, weighed=weighed)
    output = task.loss(micro_batch)
    total = output.loss * output.num_examples if weighed else output.loss
    total.backward()  # type: ignore[no-untyped-call]
    return replace(output, loss=output.loss.detach())


def gradients_of(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """The gradients as dense tensors to measure and scale in place; sparse ones give their values."""
    found = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            found.append(parameter.grad._values())
        else:
            found.append(parameter.grad)
    return found


def total_norm(gradients: Sequence[Tensor], *, like: Tensor) -> Tensor:
    """The 2-norm over all gradients, a scalar on the device and of the type of ``like``."""
    if not gradients:
        return torch.zeros_like(like)
    return nn.utils.get_total_norm(gradients).to(like)


def scale_(gradients: Sequence[Tensor], by: float) -> None:
    """Multiply all gradients in place."""
    if by != 1.0 and gradients:
        torch._foreach_mul_(list(gradients), by)


def clip_factor(norm: float, *, max_norm: float) -> float:
    """What brings ``norm`` down to ``max_norm``; 1 when it is below, or when ``max_norm`` is 0."""
    return max_norm / norm if 0.0 < max_norm < norm and math.isfinite(norm) else 1.0
