"""Gradients a thousand times smaller than at the beginning, although little was learnt."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.words import number

_NORM: Final = "train/grad_norm"
_LOSS: Final = "train/loss"
_FEWEST: Final = 60
_NEWEST: Final = 50
_SHARE: Final = 1e-3
_SHARE_BACK: Final = 1e-2
_UNLEARNT: Final = 0.7  # of where the loss began: small gradients of a good model are what one wants


class VanishingGradients(Rule):
    """Compared with the run's own beginning: norms have no scale that fits every model."""

    category = "gradients-vanishing"
    watches = (_NORM, _LOSS)
    relief = "The gradients are of use again."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the norms are above a hundredth of the beginning, or the loss has fallen."""
        norm, loss = book.get(_NORM), book.get(_LOSS)
        if norm.count < _FEWEST or loss.count < _FEWEST or norm.start <= 0.0 or loss.start <= 0.0:
            return None
        level = norm.level(_NEWEST)
        is_unlearnt = loss.level() > _UNLEARNT * loss.start
        if self._alarm is not None and (level > _SHARE_BACK * norm.start or not is_unlearnt):
            self._alarm = None
        elif self._alarm is None and is_unlearnt and level < _SHARE * norm.start:
            text = (
                f"Gradient norms began at {number(norm.start)} and are {number(level)} now, while the loss"
                f" is still {number(loss.level())} of {number(loss.start)}: hardly anything is learnt any"
                " more. What helps: a lower learning rate if it was high (units die), another"
                " initialisation, normalisation or residual connections; check that no part of the model is"
                " frozen by mistake."
            )
            self._alarm = Alarm(Level.WARNING, "The gradients vanish", text, norm.last_step)
        return self._alarm
