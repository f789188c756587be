"""What rules know of a series, in bounded memory and a fraction of a microsecond per point.

Points arrive in slices, so the work per point is done by ``sum`` and by
extending a deque; sorting happens once per slice and only when a rule asks.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

OPENING: Final = 10
RECENT: Final = 64
NUM_BINS: Final = 128


def median(values: Sequence[float]) -> float:
    """The middle of ``values`` (not empty), the mean of both middles where there are two."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


class History:
    """A whole series as the means of at most 128 bins of equally many points.

    When the bins are full, neighbours are merged, so a bin holds more and more points.
    """

    def __init__(self) -> None:
        self.means: list[float] = []
        self.width = 1  # points per bin
        self._sum = 0.0
        self._count = 0

    def add(self, values: Sequence[float]) -> None:
        """Take finite values in."""
        at = 0
        while at < len(values):
            part = values[at : at + self.width - self._count]
            at += len(part)
            self._sum += sum(part)
            self._count += len(part)
            if self._count == self.width:
                self._push()

    def _push(self) -> None:
        self.means.append(self._sum / self._count)
        self._sum, self._count = 0.0, 0
        if len(self.means) == NUM_BINS:
            pairs = zip(self.means[::2], self.means[1::2], strict=True)
            self.means = [0.5 * (first + second) for first, second in pairs]
            self.width *= 2


class Series:
    """One series of one attempt.

    The first point was at ``first_step``. ``count`` finite points were seen, ``last`` is the newest of
    them (at ``last_good_step``).  ``num_bad`` points at the end are not finite, the first of them at
    ``bad_step``; ``num_good`` finite ones have come since then.  ``has_been_bad`` tells whether there ever
    was one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.last = math.nan
        self.first_step = -1
        self.last_step = -1
        self.last_good_step = -1
        self.num_bad = 0
        self.num_good = 0
        self.bad_step = -1
        self.bad_value = math.nan
        self.has_been_bad = False
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.history = History()
        self._opening: list[float] = []
        self._start: float | None = None
        self._medians: dict[int, float] = {}

    @property
    def start(self) -> float:
        """Where the series began: the median of its first ten points; NaN before there are so many."""
        if self._start is None and len(self._opening) == OPENING:
            self._start = median(self._opening)
        return math.nan if self._start is None else self._start

    def level(self, num_points: int = RECENT) -> float:
        """Median of the newest finite points, at most 64; NaN before there are any."""
        if num_points not in self._medians:
            newest = list(self.recent)[-num_points:]
            self._medians[num_points] = median(newest) if newest else math.nan
        return self._medians[num_points]

    def add(self, steps: array[int], values: array[float]) -> None:
        """Take points in, oldest first."""
        self._medians.clear()
        if self.first_step < 0:
            self.first_step = steps[0]
        self.last_step = steps[-1]
        if math.isfinite(sum(values)):
            self._add_finite(steps, values)
            return
        for step, value in zip(steps, values, strict=True):  # rare, or finite and enormous
            if math.isfinite(value):
                self._add_finite(array("q", [step]), array("d", [value]))
            else:
                self._add_bad(step, value)

    def _add_finite(self, steps: array[int], values: array[float]) -> None:
        self.count += len(values)
        self.num_good += len(values)
        self.num_bad = 0
        self.last, self.last_good_step = values[-1], steps[-1]
        self.recent.extend(values[-RECENT:])
        if len(self._opening) < OPENING:
            self._opening.extend(values[: OPENING - len(self._opening)])
        self.history.add(values)

    def _add_bad(self, step: int, value: float) -> None:
        if self.num_bad == 0:
            self.bad_step, self.bad_value = step, value
        self.num_bad += 1
        self.num_good = 0
        self.has_been_bad = True


class Book:
    """The series that some rule watches, by name."""

    def __init__(self) -> None:
        self._series: dict[str, Series] = {}

    def get(self, name: str) -> Series:
        """The series; an empty one before its first point."""
        return self._series.get(name) or Series(name)

    def open(self, name: str) -> Series:
        """The series, kept from now on."""
        return self._series.setdefault(name, Series(name))

    def forget(self, name: str) -> Series:
        """A fresh series in place of the known one: its steps have begun anew."""
        self._series[name] = Series(name)
        return self._series[name]

    def starting_with(self, prefix: str) -> Iterator[Series]:
        """All series whose name begins so."""
        return (series for name, series in self._series.items() if name.startswith(prefix))
