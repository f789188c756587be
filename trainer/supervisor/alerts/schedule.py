"""Where a run is in its learning-rate schedule, as far as its own series tell."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.series import Book

LEARNING_RATE: Final = "train/learning_rate"
_SHORTLY: Final = 5  # points
_TINY: Final = 0.1  # of its peak: what it still learns then is little, by intent


def is_warming_up(book: Book) -> bool:
    """Whether the learning rate is still rising."""
    rate = book.get(LEARNING_RATE)
    return rate.count > 1 and rate.last > rate.recent[max(0, len(rate.recent) - _SHORTLY)] * 1.0001


def is_running_out(book: Book) -> bool:
    """Whether the learning rate has fallen below a tenth of its peak."""
    rate = book.get(LEARNING_RATE)
    return bool(rate.history.means) and rate.last < _TINY * max(rate.history.means)
