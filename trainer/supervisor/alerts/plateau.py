"""The smoothed training loss no longer falls, long before the training is to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.schedule import LEARNING_RATE, is_running_out
from trainer.supervisor.alerts.series import Book, Series
from trainer.supervisor.alerts.words import number

_LOSS: Final = "train/loss"
_CHANCE: Final = "train/chance_loss"
_AT_CHANCE: Final = 0.98  # of chance: that is told by its own rule
_FEWEST: Final = 300  # points
_FEWEST_UNBOUNDED: Final = 2000  # where nobody says how long the training is
_WINDOW: Final = 0.4  # of the attempt so far
_WINDOW_OF_ALL: Final = 0.15  # of the whole training: a pause of learning early on is normal
_LATE: Final = 0.85  # of the training: what is flat then is meant to be flat
_LEAST_GAIN: Final = 0.01  # of the level; healthy curves gain more over such a window
_LEAST_OF_FALL: Final = 0.02
_HAD_FALLEN: Final = 0.05  # of where it began; what never fell is not a plateau but a failure to learn
_CONVERGED: Final = 0.05  # of where it began: there is nothing left to fall
_SURE: Final = 2.0  # standard errors
_BETTER: Final = 0.02  # below the plateau: it falls again


class Plateau(Rule):
    """Sure, within the noise, that the loss gained less than 1 % over the last 40 % of the attempt."""

    category = "plateau"
    watches = (_LOSS, _CHANCE, LEARNING_RATE)
    relief = "The loss falls again."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None
        self._level = math.nan
        self._looked_at = 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the loss is 2 % below the plateau."""
        loss = book.get(_LOSS)
        if loss.count - self._looked_at < loss.history.width:
            return self._alarm
        self._looked_at = loss.count
        if self._alarm is not None:
            if loss.level() < self._level - _BETTER * abs(self._level):
                self._alarm = None
        elif self._may_be_judged(loss, now) and not (is_running_out(book) or _is_at_chance(book)):
            self._alarm = self._judge(loss, now)
        return self._alarm

    def _may_be_judged(self, loss: Series, now: Situation) -> bool:
        if now.total_steps:
            is_long = _window_steps(loss) >= _WINDOW_OF_ALL * now.total_steps
            return loss.count >= _FEWEST and is_long and now.step < _LATE * now.total_steps
        return loss.count >= _FEWEST_UNBOUNDED

    def _judge(self, loss: Series, now: Situation) -> Alarm | None:
        means = loss.history.means
        num_bins = int(_WINDOW * len(means))
        quarter = num_bins // 4
        if quarter < 4:
            return None
        early, early_error = _mean_and_error(means[-num_bins : quarter - num_bins])
        late, late_error = _mean_and_error(means[-quarter:])
        fall = loss.start - late
        is_told_elsewhere = abs(late) < _CONVERGED * abs(loss.start) or fall < _HAD_FALLEN * abs(loss.start)
        most_it_gained = early - late + _SURE * math.hypot(early_error, late_error)
        if is_told_elsewhere or most_it_gained > min(_LEAST_GAIN * abs(late), _LEAST_OF_FALL * fall):
            return None
        self._level = late
        since = loss.last_step - _window_steps(loss)
        text = (
            f"After falling from {number(loss.start)} the training loss has stayed at {number(late)} since"
            f" about step {since}. It may have learnt what it can: look at the evaluation, and stop if that"
            " is flat too. Otherwise: a lower learning rate or one that decays, a larger model, or more and"
            " harder examples."
        )
        return Alarm(Level.INFO, "The loss no longer falls", text, since)


def _is_at_chance(book: Book) -> bool:
    return book.get(_LOSS).level() >= _AT_CHANCE * book.get(_CHANCE).level()  # False where chance is unknown


def _window_steps(loss: Series) -> int:
    return round(_WINDOW * (loss.last_step - loss.first_step))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, from the spread of the bins."""
    mean = sum(values) / len(values)
    spread = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    return mean, math.sqrt(spread / len(values))
