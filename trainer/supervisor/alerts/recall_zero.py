"""The loss falls, and yet nothing is ever found: what is learnt is of no use for the search."""

from __future__ import annotations

from array import array
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series
from trainer.supervisor.alerts.words import number

_RECALL: Final = "eval/recall@"
_LOSS: Final = "train/loss"
_EVALUATIONS: Final = 5
_NOTHING: Final = 0.001
_FALLEN: Final = 0.03
_SHARE_OF_ALL: Final = 0.1


class RecallZero(Rule):
    """Every recall@k below 0.001 in five evaluations in a row while the loss has fallen by 3 %."""

    category = "recall-zero"
    watches = (_RECALL + "*", _LOSS)
    relief = "The evaluation finds something now."

    def __init__(self) -> None:
        self._since = -1
        self._num: dict[str, int] = {}  # evaluations in a row in which nothing was found

    def take(self, series: Series, steps: array[int], values: array[float]) -> None:
        """Count evaluations that found nothing."""
        if series.name == _LOSS:
            return
        for step, value in zip(steps, values, strict=True):
            num_so_far = self._num.get(series.name, 0)
            if num_so_far == 0:
                self._since = step
            self._num[series.name] = num_so_far + 1 if value < _NOTHING else 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until an evaluation finds something."""
        loss = book.get(_LOSS)
        has_fallen = loss.level() < loss.start - _FALLEN * abs(loss.start)
        if not self._num or min(self._num.values()) < _EVALUATIONS or not has_fallen:
            return None
        if now.is_past(_SHARE_OF_ALL) is False:
            return None
        text = (
            f"In {min(self._num.values())} evaluations, since step {self._since}, recall was 0 at every"
            f" depth, although the loss fell from {number(loss.start)} to {number(loss.level())}. Few pairs,"
            " or batches that are easy to tell apart, teach nothing about a large collection. What helps:"
            " more pairs, larger batches, mined negatives; and check that the evaluation's answers are"
            " among its candidates."
        )
        return Alarm(Level.WARNING, "The loss falls, but nothing is found", text, self._since)
