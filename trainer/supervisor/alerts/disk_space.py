"""The disk cannot hold two more checkpoints."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.words import size

_LEAST_BYTES: Final = 256 * 2**20  # before the first checkpoint tells its size; also for spool and log
_NUM: Final = 2  # a new checkpoint is written beside the old one before that is removed
_NUM_BACK: Final = 2.5


class DiskSpace(Rule):
    """Free space beside the run's own largest checkpoint."""

    category = "disk"
    relief = "There is room on the disk again."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until there is room for two and a half checkpoints."""
        if now.free_bytes is None:
            return self._alarm
        times = _NUM if self._alarm is None else _NUM_BACK
        needed = max(times * now.checkpoint_bytes, _LEAST_BYTES * times / _NUM)
        if now.free_bytes >= needed:
            self._alarm = None
        elif self._alarm is None:
            self._alarm = _tell(now, now.free_bytes)
        return self._alarm


def _tell(now: Situation, free_bytes: int) -> Alarm:
    is_too_late = free_bytes < max(now.checkpoint_bytes, 2**20)
    of = f", and a checkpoint takes {size(now.checkpoint_bytes)}" if now.checkpoint_bytes else ""
    text = (
        f"At step {now.step} {size(free_bytes)} are free on the disk of the run folder{of}. When it is full,"
        " checkpoints and reports are lost, though the training goes on. Delete old runs or checkpoints, or"
        " keep fewer of them; nothing has to be stopped for that."
    )
    if is_too_late:
        return Alarm(Level.ERROR, "The disk is full: the next checkpoint does not fit", text, now.step)
    return Alarm(Level.WARNING, "The disk is almost full", text, now.step)
