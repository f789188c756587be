"""The training loss jumps far above where it was, measured against its own noise."""

from __future__ import annotations

from array import array
from collections import deque
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series, median
from trainer.supervisor.alerts.words import number

_FIRST: Final = 100  # points: the first ones are warm-up, and too few to know the noise
_FAR: Final = 8.0  # standard deviations, robustly estimated
_LEAST_NOISE: Final = 0.05  # of the level: a jump below 40 % is no news however smooth the curve
_LEAST_OF_FALL: Final = 0.05  # of what was learnt: near 0 every wobble is many deviations
_OF: Final = 6  # points, of which
_ENOUGH: Final = 4  # are far: one or two bad batches are no spike
_ALONE: Final = 60.0  # deviations from which a single point counts, if it also is
_BEYOND_ALL: Final = 10.0  # times farther out than anything in the window
_BACK_AFTER: Final = 5


class LossSpike(Rule):
    """Median and MAD of the last 64 points, frozen while a spike lasts."""

    category = "loss-spike"
    watches = ("train/loss",)
    relief = "The loss is back where it was."

    def __init__(self) -> None:
        self._far: deque[tuple[int, float]] = deque(maxlen=_OF)  # step (-1: not far) and value
        self._num_back = 0
        self._threshold = 0.0
        self._level = 0.0
        self._since: tuple[int, float] | None = None

    def take(self, series: Series, steps: array[int], values: array[float]) -> None:
        """Compare new points with those before them."""
        if series.count < _FIRST:
            return
        alone = float("inf")
        if self._since is None:
            self._level, self._threshold, alone = _thresholds(series)
            if max(values) <= self._threshold and not any(step >= 0 for step, _ in self._far):
                return
        for step, value in zip(steps, values, strict=True):
            self._take_one(step, value, alone=alone)

    def _take_one(self, step: int, value: float, *, alone: float) -> None:
        is_far = value > self._threshold
        self._far.append((step if is_far else -1, value))
        self._num_back = 0 if is_far else self._num_back + 1
        if self._since is not None:
            if self._num_back >= _BACK_AFTER:
                self._since = None
                self._far.clear()
            return
        far = [one for one in self._far if one[0] >= 0]
        if len(far) >= _ENOUGH or value > alone:
            self._since = (far[0][0], max(found for _, found in far))

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until five points in a row are back."""
        if self._since is None:
            return None
        step, value = self._since
        text = (
            f"From about {number(self._level)} the training loss jumped to {number(value)} at step {step},"
            " far beyond its noise. If it does not come back soon: a lower learning rate, harder gradient"
            " clipping, or a restart from the checkpoint before. If it returns at the same place of every"
            " epoch, look at the examples there."
        )
        return Alarm(Level.WARNING, "The loss has jumped", text, step)


def _thresholds(series: Series) -> tuple[float, float, float]:
    """The level, what is far above it, and what is so far that a single point counts."""
    window = list(series.recent)
    level = median(window)
    distances = [abs(value - level) for value in window]
    noise = max(1.4826 * median(distances), _LEAST_NOISE * abs(level))
    fall = max(0.0, series.start - level)
    far = max(_FAR * noise, _LEAST_OF_FALL * fall)
    return level, level + far, level + max(far, _ALONE * noise, _BEYOND_ALL * max(distances))
