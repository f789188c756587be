"""What is said when the loss or its gradient is no number any more."""

from __future__ import annotations

import math
from typing import NoReturn

from trainer.engine.manifests import manifests
from trainer.engine.progress import Position
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter


class NonFiniteLoss(Exception):
    """The loss or its gradient is NaN or infinite; the weights are those of the last good step."""


def end_for_divergence(
    step: int, loss: float, norm: float, *, position: Position, paths: RunPaths, reporter: Reporter
) -> NoReturn:
    """Report the numbers of ``step``, and why they end the training.

    Raises:
        NonFiniteLoss: always.
    """
    reporter.metrics(step, {"train/loss": loss, "train/grad_norm": norm})
    what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient norm is {norm}"
    newest = manifests(paths)
    saved = f"the newest checkpoint is {newest[-1].file}" if newest else "there is no checkpoint yet"
    message = (
        f"{what} at step {step} (epoch {position.epoch + 1}). The weights were left as they were"
        f" after step {step - 1}; {saved}. Lower the learning rate, lengthen the warm-up or clip"
        " gradients harder."
    )
    reporter.alert("error", "Training has diverged", message, step=step)
    raise NonFiniteLoss(message)
