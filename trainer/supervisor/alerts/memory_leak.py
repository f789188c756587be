"""Resident memory rises steadily, and will reach the limit."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import Book, History
from trainer.supervisor.alerts.words import duration, percent, size

_SKIP_S: Final = 120.0  # loading, compiling, first caches
_LEAST_S: Final = 600.0
_NUM_PARTS: Final = 10
_LEAST_RISE: Final = 0.2
_LEAST_RISE_BYTES: Final = 256 * 2**20
_LEAST_OF_MEAN: Final = 0.3  # no part rises by less,
_MOST_OF_MEAN: Final = 2.0  # none by more,
_LATER: Final = 0.75  # and the later half no less than this share of the first: caches fill fast, then stop
_REACHED_WITHIN_S: Final = 12 * 3600.0


class MemoryLeak(Rule):
    """Ten equal parts of the time since loading, each clearly above the one before."""

    category = "memory-leak"
    relief = "Memory no longer rises."

    def __init__(self) -> None:
        self._since: float | None = None
        self._counted_from: float | None = None
        self._rss = History()
        self._alarm: Alarm | None = None
        self._num_seen = 0

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """An alarm until memory falls, or has stopped rising."""
        if now.rss_bytes is None:
            return self._alarm
        if self._since is None:
            self._since = now.at
        if now.at - self._since < _SKIP_S:
            return None
        if self._counted_from is None:
            self._counted_from = now.at
        self._rss.add([now.rss_bytes])
        self._num_seen += 1
        if now.at - self._counted_from < _LEAST_S or self._num_seen % self._rss.width:
            return self._alarm
        rises = self._rises()
        if self._alarm is not None:
            self._alarm = None if rises is None or rises[-1] <= 0.0 else self._alarm
        elif rises is not None:
            self._alarm = self._judge(rises, now, now.at - self._counted_from)
        return self._alarm

    def _rises(self) -> list[float] | None:
        """Bytes by which each part exceeds the part before."""
        means = self._rss.means
        per_part = len(means) // _NUM_PARTS
        if per_part < 2:
            return None
        newest = means[-per_part * _NUM_PARTS :]
        parts = [sum(newest[at : at + per_part]) / per_part for at in range(0, len(newest), per_part)]
        return [after - before for before, after in pairwise(parts)]

    def _judge(self, rises: list[float], now: Situation, seconds: float) -> Alarm | None:
        total, rss = sum(rises), now.rss_bytes or 0.0
        mean = total / len(rises)
        half = len(rises) // 2
        is_even = min(rises) > _LEAST_OF_MEAN * mean and max(rises) < _MOST_OF_MEAN * mean
        is_steady = is_even and sum(rises[-half:]) > _LATER * sum(rises[:half])
        if not is_steady or total < max(_LEAST_RISE_BYTES, _LEAST_RISE * (rss - total)) or now.memory is None:
            return None
        per_s = total / (seconds * len(rises) / _NUM_PARTS)
        left_s = now.memory.available_bytes / per_s
        if left_s > _REACHED_WITHIN_S:
            return None
        text = (
            f"The run holds {size(rss)}, {percent(total / (rss - total))} more than {duration(seconds)} ago,"
            f" and rises by {size(60 * per_s)} a minute: in about {duration(left_s)} {now.memory.place} has"
            " none left. Usual reasons: losses or outputs kept with their graphs (take .item() or"
            " .detach()), lists that grow with every step, caches without a limit. A restart from a"
            " checkpoint gains time."
        )
        return Alarm(Level.WARNING, "Memory rises steadily", text, now.step)
