"""When an uplink looks for something to ship: often enough to be live, seldom enough to cost nothing.

The first news after a pause goes at once, a thin stream of news travels together,
and where much waits there is no pause at all.  Times are monotonic seconds.
"""

from __future__ import annotations

from typing import Final

THIN_EVERY_S: Final = 0.25
LOOK_EVERY_S: Final = 0.05  # after a pause, for the first news; while something must be held back
HURRY_S: Final = 0.02  # behind much, and while somebody waits for the last of it
EAGER_BYTES: Final = 64 * 1024  # this much does not wait for its turn


class Cadence:
    """Remembers the last look.  ``in_a_hurry``: somebody waits until everything has arrived."""

    def __init__(self) -> None:
        self.in_a_hurry = False
        self._rests = True  # the last look found nothing
        self._next_at = 0.0

    def is_due(self, now: float, backlog_bytes: int) -> bool:
        """Whether to look now, with so many bytes known to wait."""
        is_news = backlog_bytes >= EAGER_BYTES or (self._rests and backlog_bytes > 0)
        return is_news or self.in_a_hurry or now >= self._next_at

    def looked(self, now: float, backlog_bytes: int, *, moved: bool, drained: bool) -> None:
        """Note a look that began at ``now``: what it found, and whether all of that has arrived."""
        self._rests = not moved
        if moved and not drained:
            self._next_at = now
        elif backlog_bytes >= EAGER_BYTES:
            self._next_at = now + HURRY_S  # there is mostly more, and its end should not wait for long
        else:
            self._next_at = now + (THIN_EVERY_S if drained else LOOK_EVERY_S)

    def pause_s(self, now: float) -> float:
        """How long to sleep before the next question, in seconds."""
        pause_s = HURRY_S if self.in_a_hurry else LOOK_EVERY_S if self._rests else THIN_EVERY_S
        return max(0.0, min(pause_s, self._next_at - now))
