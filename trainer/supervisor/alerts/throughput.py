"""The training has become much slower than this run has been before."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series, median
from trainer.supervisor.alerts.words import number, percent

_RATES: Final = ("train/examples_per_s", "train/samples_per_s", "train/tokens_per_s", "train/steps_per_s")
_NEWEST: Final = 30  # points; the engine reports one a second of training
_FEWEST: Final = 60
_SLOW: Final = 0.6
_BACK: Final = 0.75


class Throughput(Rule):
    """Thirty points in a row say it: their median is below 60 %, and hardly one of them is above 75 %."""

    category = "throughput"
    watches = _RATES
    relief = "The training is as fast as before."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None
        self._usual = 0.0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the median is above 75 % of the usual rate."""
        for name in _RATES:
            series = book.get(name)
            if series.count >= _FEWEST:
                return self._judge(series)
        return None

    def _judge(self, rate: Series) -> Alarm | None:
        level = rate.level(_NEWEST)
        if self._alarm is not None:
            self._alarm = None if level > _BACK * self._usual else self._alarm
            return self._alarm
        means = rate.history.means
        before = means[: max(1, len(means) - (_NEWEST // rate.history.width))]
        self._usual = median(before)
        newest = list(rate.recent)[-_NEWEST:]
        num_fast = sum(value > _BACK * self._usual for value in newest)
        if level >= _SLOW * self._usual or num_fast > len(newest) // 10:
            return None
        text = (
            f"{rate.name} was {number(self._usual)} and has been {number(level)}"
            f" ({percent(level / self._usual)}) for the last {len(newest)} measurements, up to step"
            f" {rate.last_step}. Look for other programs on this machine, heat (a throttled processor or"
            " GPU), memory that is swapped out, a slow disk or network under the dataset, and longer"
            " examples."
        )
        self._alarm = Alarm(Level.WARNING, "The training has become slow", text, rate.last_step)
        return self._alarm
