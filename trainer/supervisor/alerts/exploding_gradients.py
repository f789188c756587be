"""Gradient norms ten times above everything this run has shown: the step before a NaN."""

from __future__ import annotations

import math
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series
from trainer.supervisor.alerts.words import number

_NORM: Final = "train/grad_norm"
_FEWEST: Final = 50
_NEWEST: Final = 10
_TIMES: Final = 10.0
_TIMES_BACK: Final = 3.0
_BAD_IN_A_ROW: Final = 20  # mixed precision skips a few steps while it looks for its scale


class ExplodingGradients(Rule):
    """The median of the last ten norms, so that single outliers (which clipping is for) do not count."""

    category = "gradients-exploding"
    watches = (_NORM,)
    relief = "The gradients are back to their usual size."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None
        self._usual = math.nan
        self._known_at = 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the norms are below three times their usual size."""
        norm = book.get(_NORM)
        if norm.num_bad >= _BAD_IN_A_ROW:
            self._alarm = self._alarm or _not_finite(norm)
        elif self._alarm is not None:
            is_back = math.isnan(self._usual) or norm.level(_NEWEST) < _TIMES_BACK * self._usual
            self._alarm = None if is_back and norm.num_bad == 0 else self._alarm
        elif norm.count >= _FEWEST:
            self._alarm = self._judge(norm)
        return self._alarm

    def _judge(self, norm: Series) -> Alarm | None:
        if norm.count > 1.05 * self._known_at:
            self._known_at = norm.count
            means = sorted(norm.history.means)
            self._usual = max(norm.start, means[int(0.9 * len(means))])
        level = norm.level(_NEWEST)
        if not 0.0 < _TIMES * self._usual < level:
            return None
        text = (
            f"Gradient norms were at most about {number(self._usual)} and are {number(level)} now. What"
            " helps: a lower learning rate, a longer warm-up, clipping to a norm such as 1.0. A checkpoint"
            " from before is a better start than what comes next."
        )
        return Alarm(Level.WARNING, "The gradients explode", text, norm.last_step)


def _not_finite(norm: Series) -> Alarm:
    text = (
        f"The gradient norm has not been a finite number since step {norm.bad_step}: with mixed precision"
        " all of these steps were left out, without it the weights are broken. What helps: full precision"
        " or bfloat16, a lower learning rate, and a restart from a checkpoint before this step."
    )
    return Alarm(Level.ERROR, "The gradients are not finite", text, norm.bad_step)
