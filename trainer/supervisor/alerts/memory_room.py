"""Memory is nearly used up: the kernel would kill the run without a word."""

from __future__ import annotations

from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.words import percent, size

_LEFT: Final = 0.05
_LEFT_BACK: Final = 0.10
_IN_A_ROW: Final = 5  # seconds: loading a model may touch the limit for a moment


class MemoryRoom(Rule):
    """What the container or the machine has left, page cache not counted as used."""

    category = "memory"
    relief = "There is memory again."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None
        self._num_short = 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until a tenth is free again."""
        if now.memory is None or now.memory.limit_bytes <= 0:
            return self._alarm
        left = now.memory.available_bytes / now.memory.limit_bytes
        if self._alarm is not None:
            self._alarm = None if left > _LEFT_BACK else self._alarm
            return self._alarm
        self._num_short = self._num_short + 1 if left < _LEFT else 0
        if self._num_short >= _IN_A_ROW:
            own = "" if now.rss_bytes is None else f", this run holds {size(now.rss_bytes)}"
            text = (
                f"At step {now.step} {percent(left)} of the {size(now.memory.limit_bytes)} of"
                f" {now.memory.place} are left{own}. When nothing is left, the kernel kills a process"
                " without a word in its log. End what else needs memory; for this run a smaller batch,"
                " fewer data-loading processes or shorter examples help."
            )
            self._alarm = Alarm(Level.ERROR, "Memory is nearly used up", text, now.step)
        return self._alarm
