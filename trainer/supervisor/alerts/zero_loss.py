"""A loss of exactly 0 beside a gradient that is no number: a NaN in disguise.

Some trainers write 0.0 for a loss that was NaN; the gradient norm gives it away.
"""

from __future__ import annotations

from array import array
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series

_LOSS: Final = "train/loss"
_NORM: Final = "train/grad_norm"
_ENOUGH: Final = 2


class ZeroLoss(Rule):
    """Two points in a row of both; either alone has harmless reasons (a masked batch, mixed precision)."""

    category = "loss-zero"
    watches = (_LOSS, _NORM)
    relief = "The loss is no longer exactly 0."

    def __init__(self) -> None:
        self._num_zero = 0
        self._since = 0

    def take(self, series: Series, steps: array[int], values: array[float]) -> None:
        """Count zeros at the end of the loss."""
        if series.name != _LOSS or (values[-1] != 0.0 and self._num_zero == 0):
            return
        for step, value in zip(steps, values, strict=True):
            if value != 0.0:
                self._num_zero = 0
                continue
            if self._num_zero == 0:
                self._since = step
            self._num_zero += 1

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm while the newest points of both are so."""
        if self._num_zero < _ENOUGH or book.get(_NORM).num_bad < _ENOUGH:
            return None
        text = (
            f"Since step {self._since} the loss is exactly 0 and the gradient norm is not a number: the"
            " model is broken, and 0 only looks like success. What helps: stop, lower the learning rate,"
            " train in full precision instead of fp16 (on Apple GPUs above all), and clip gradients."
        )
        return Alarm(Level.ERROR, "The loss is 0 because the model is broken", text, self._since)
