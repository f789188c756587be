"""The evaluation has been getting worse for long while the training loss falls."""

from __future__ import annotations

import math
from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, Series, median
from trainer.supervisor.alerts.words import number, percent

_TRAIN: Final = "train/loss"
_LOSS: Final = "eval/loss"
_MEASURES: Final = ("eval/mrr@", "eval/recall@", "eval/accuracy", "eval/f1", "eval/ndcg@")
_IN_A_ROW: Final = 5  # evaluations
_LOSS_WORSE: Final = 0.05
_MEASURE_WORSE: Final = 0.15
_MEASURE_WORSE_BY: Final = 0.05
_QUANTA: Final = 5.0  # a measure over few examples jumps by whole examples: fewer are noise
_NOISES: Final = 4.0  # standard deviations of the evaluation itself
_BACK: Final = 0.5  # of the distance from the best
_TRAIN_FELL: Final = 0.05


@dataclass
class _Course:
    """One measure of the evaluation: its best, and how many evaluations in a row were clearly worse.

    The best is that of medians of three: one lucky evaluation is not what all others are held against.
    """

    best: float = math.nan
    best_step: int = -1
    last: float = math.nan
    num_worse: int = 0
    train_then: float = math.nan
    newest: deque[float] = field(default_factory=lambda: deque(maxlen=3))
    bends: deque[float] = field(default_factory=lambda: deque(maxlen=32))
    quantum: float = math.inf  # the smallest change seen: one example more or less

    def add(self, value: float) -> float:
        """Take the next evaluation in; returns the median of the last three."""
        if self.newest and value != self.last:
            self.quantum = min(self.quantum, abs(value - self.last))
        if len(self.newest) >= 2:
            self.bends.append(abs(value - 2.0 * self.last + self.newest[-2]))
        self.last = value
        self.newest.append(value)
        return median(self.newest)

    @property
    def noise(self) -> float:
        """Standard deviation of an evaluation, robustly, from second differences: a trend is no noise."""
        if len(self.bends) < _IN_A_ROW:
            return math.inf
        return 1.4826 / math.sqrt(6.0) * median(self.bends)


class Overfitting(Rule):
    """Five evaluations in a row: eval/loss 5 % above its best, or a measure 15 % (and 0.05) below."""

    category = "overfitting"
    watches = (_TRAIN, _LOSS, *(name + "*" for name in _MEASURES))
    relief = "The evaluation is getting better again."

    def __init__(self) -> None:
        self._courses: dict[str, _Course] = {}
        self._train = math.nan
        self._alarm: Alarm | None = None
        self._about = ""

    def take(self, series: Series, steps: array[int], values: array[float]) -> None:
        """Follow each measure; the newest training loss goes with it."""
        if series.name == _TRAIN:
            return
        course = self._courses.setdefault(series.name, _Course())
        for step, value in zip(steps, values, strict=True):
            if math.isfinite(value):
                self._follow(series.name, course, step, value)

    def _follow(self, name: str, course: _Course, step: int, value: float) -> None:
        smoothed = course.add(value)
        if len(course.newest) < 3:
            return
        is_better = smoothed < course.best if name == _LOSS else smoothed > course.best
        if is_better or math.isnan(course.best):
            course.best, course.best_step, course.num_worse = smoothed, step, 0
            course.train_then = self._train
        else:
            course.num_worse = course.num_worse + 1 if _is_worse(name, course) else 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until the measure has made good half of what it lost."""
        self._train = book.get(_TRAIN).level()
        if self._alarm is not None:
            course = self._courses[self._about]
            margin = _LOSS_WORSE if self._about == _LOSS else _MEASURE_WORSE
            if abs(course.last - course.best) < _BACK * margin * abs(course.best):
                self._alarm = None
            return self._alarm
        for name, course in self._courses.items():
            has_learnt = self._train < course.train_then - _TRAIN_FELL * abs(course.train_then)
            if course.num_worse >= _IN_A_ROW and has_learnt:
                self._about = name
                self._alarm = self._tell(name, course)
                break
        return self._alarm

    def _tell(self, name: str, course: _Course) -> Alarm:
        change = percent(abs(course.last - course.best) / abs(course.best))
        text = (
            f"{name} was best around step {course.best_step} ({number(course.best)}) and has been worse for"
            f" {course.num_worse} evaluations; now it is {number(course.last)}, {change} worse, while the"
            f" training loss fell from {number(course.train_then)} to {number(self._train)}. The model"
            " learns its examples by heart. Use the best checkpoint, not the last one; for the next run"
            " fewer epochs or patience above 0, more examples, more dropout or weight decay."
        )
        return Alarm(Level.WARNING, "The evaluation is getting worse", text, course.best_step)


def _is_worse(name: str, course: _Course) -> bool:
    least = _NOISES * course.noise
    if name == _LOSS:
        return course.last - course.best >= max(_LOSS_WORSE * abs(course.best), least)
    least = max(_MEASURE_WORSE * course.best, _MEASURE_WORSE_BY, _QUANTA * course.quantum, least)
    return course.best - course.last >= least
