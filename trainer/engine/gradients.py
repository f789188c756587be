"""Gradients of one update: the true mean over micro-batches, their norm, clipping.

Sparse gradients (embedding bags) are coalesced and then counted and scaled
like dense ones, so the norm and the clipping speak for all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from trainer.engine.task import GoesBackItself, LossOutput, Task


@dataclass
class UpdateLoss:
    """Weighed means over the micro-batches of one update; ``loss`` stays on its device."""

    loss: Tensor
    chance_loss: float
    num_examples: int
    gradient_scale: float  # what the summed gradients must be multiplied by to be the mean's
    extra: dict[str, float] = field(default_factory=dict)
    num_tokens: int = 0


@dataclass
class UpdateSums:
    """Sums over micro-batches, each times its share, beside the summed gradients."""

    loss: Tensor | None = None  # None where there was no micro-batch
    share: float = 0.0
    chance_loss: float = 0.0
    num_examples: int = 0
    num_tokens: int = 0
    extra: dict[str, float] = field(default_factory=dict)

    def means(self) -> UpdateLoss:
        """The means, and what makes the gradients those of the mean loss.

        Raises:
            ValueError: there was no micro-batch.
        """
        if self.loss is None:
            raise ValueError("an update without a micro-batch has no mean")
        return UpdateLoss(
            self.loss / self.share,
            self.chance_loss / self.share,
            self.num_examples,
            1.0 / self.share,
            {name: value / self.share for name, value in self.extra.items()},
            self.num_tokens,
        )


def backward(task: Task, micro_batches: Sequence[Any]) -> UpdateLoss:
    """Run forward and backward over the micro-batches of one update.

    A single micro-batch leaves the gradient of its mean loss. Several leave
    the sum over examples (or what else the task weighs by), so a short last
    one counts for what it is; ``gradient_scale`` turns that into the mean.
    """
    if len(micro_batches) == 1:
        output = _backward(task, micro_batches[0], weighed=False)
        return UpdateLoss(
            output.loss, output.chance_loss, output.num_examples, 1.0, output.extra, output.num_tokens
        )
    return backward_sums(task, micro_batches).means()


def backward_sums(
    task: Task, micro_batches: Sequence[Any], *, before: Callable[[int], None] | None = None
) -> UpdateSums:
    """Run forward and backward over micro-batches, and leave the sum of their gradients.

    ``before`` is called with the number of each, from 0, before it is run.
    """
    sums, loss_sums = UpdateSums(), []
    for number, micro_batch in enumerate(micro_batches):
        if before is not None:
            before(number)
        output = _backward(task, micro_batch, weighed=True)
        share = output.share
        loss_sums.append(output.loss * share)
        sums.share += share
        sums.num_examples += output.num_examples
        sums.num_tokens += output.num_tokens
        sums.chance_loss += output.chance_loss * share
        for name, value in output.extra.items():
            sums.extra[name] = sums.extra.get(name, 0.0) + value * share
    if loss_sums:
        sums.loss = torch.stack(loss_sums).sum()
    return sums


def _backward(task: Task, micro_batch: Any, *, weighed: bool) -> LossOutput:
    if isinstance(task, GoesBackItself):
        return task.backward(micro_batch, weighed=weighed)
    output = task.loss(micro_batch)
    total = output.loss * output.share if weighed else output.loss
    total.backward()  # type: ignore[no-untyped-call]
    return replace(output, loss=output.loss.detach())


def parameters_of(modules: Mapping[str, nn.Module]) -> list[nn.Parameter]:
    """Every trainable parameter once, also when modules share it."""
    unique = {id(parameter): parameter for module in modules.values() for parameter in module.parameters()}
    return [parameter for parameter in unique.values() if parameter.requires_grad]


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
