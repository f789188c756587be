"""The trainer does not advance: the hang watch's verdict as an alert."""

from __future__ import annotations

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book


class Stalled(Rule):
    """Nothing is judged here; ``docs/hangs.md`` tells how a hang is told."""

    category = "stall"
    relief = "It advances again."

    def __init__(self) -> None:
        self._alarm: Alarm | None = None

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm while there is a verdict, in the words it began with."""
        if not now.stall:
            self._alarm = None
        elif self._alarm is None:
            text = (
                f"At step {now.step}: {now.stall}. It goes on by itself if it can; Stop works in any case,"
                " and Start then goes on from the last checkpoint."
            )
            self._alarm = Alarm(Level.ERROR, "The run does not advance", text, now.step)
        return self._alarm
