"""The training loss is no better than guessing would be."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.schedule import LEARNING_RATE, is_warming_up
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.words import number, percent

_LOSS: Final = "train/loss"
_CHANCE: Final = "train/chance_loss"
_FEWEST: Final = 60  # steps, after which a sound run has left chance far behind
_FEWEST_UNBOUNDED: Final = 500
_SHARE_OF_ALL: Final = 0.05
_NEWEST: Final = 50
_AT: Final = 0.98
_BETTER: Final = 0.95
_ADVICE: Final = "check that the inputs and what is expected of them belong together"


class AtChance(Rule):
    """Needs ``train/chance_loss``: a loss falls by itself when there are fewer negatives to tell apart."""

    category = "loss-at-chance"
    watches = (_LOSS, _CHANCE, LEARNING_RATE)
    relief = "The loss is better than chance now."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the loss is 5 % below chance."""
        loss, chance = book.get(_LOSS), book.get(_CHANCE)
        if loss.count == 0 or chance.count == 0 or chance.level(_NEWEST) <= 0.0:
            return None
        share = loss.level(_NEWEST) / chance.level(_NEWEST)
        if self._alarm is not None:
            self._alarm = None if share < _BETTER else self._alarm
            return self._alarm
        is_early = loss.count < (_FEWEST if now.total_steps else _FEWEST_UNBOUNDED)
        if is_early or now.is_past(_SHARE_OF_ALL) is False or is_warming_up(book) or share < _AT:
            return None
        text = (
            f"After {loss.count} steps the training loss is {number(loss.level(_NEWEST))}, {percent(share)}"
            f" of the {number(chance.level(_NEWEST))} that guessing gives: nothing has been learnt yet. What"
            " helps: a learning rate ten times lower (or higher, if it is tiny);"
            f" and {now.advice(self.category) or _ADVICE}."
        )
        self._alarm = Alarm(Level.WARNING, "The loss is at chance", text, loss.last_step)
        return self._alarm
