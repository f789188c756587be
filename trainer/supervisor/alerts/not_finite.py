"""The loss is NaN or infinite: nothing is learnt from such a step, and mostly nothing after it."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.words import number

_LOSSES: Final = ("train/loss", "eval/loss")
_SOUND_AFTER: Final = {"train/loss": 20, "eval/loss": 1}  # finite points after which it is over


class NotFinite(Rule):
    """One point is enough: no healthy training reports a loss that is not a number."""

    category = "loss-not-finite"
    watches = _LOSSES
    relief = "The loss is a number again."

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm from the first such point until enough finite ones have followed."""
        for name in _LOSSES:
            series = book.get(name)
            if series.has_been_bad and series.num_good < _SOUND_AFTER[name]:
                before = "" if series.count == 0 else f"; the last sound value was {number(series.last)}"
                what = "NaN" if series.bad_value != series.bad_value else "infinite"
                text = (
                    f"{name} is {what} since step {series.bad_step}{before}. What helps: a lower learning"
                    " rate, a longer warm-up, harder gradient clipping, or full precision instead of fp16;"
                    " go on from a checkpoint before this step. If it happens at once, look for empty or"
                    " infinite inputs."
                )
                return Alarm(Level.ERROR, f"The loss is {what}", text, series.bad_step)
        return None
