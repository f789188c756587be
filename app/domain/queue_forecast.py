"""When waiting runs will start and end, as far as anybody can know.

Only the standard library may be imported here.  Slots that become free are
handed to the waiting runs in their order.  A slot whose end nobody knows may
become free at any moment, so a start that is told while there is one is "at
the latest"; where no slot's end is known, nothing is told.
Times are Unix seconds, durations seconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Forecast:
    """Start and end of one waiting run; None where they are unknown."""

    start_at: float | None
    end_at: float | None
    is_latest: bool


def forecast(
    *,
    now: float,
    max_runs: int,
    seconds_left: Sequence[float | None],
    durations_s: Sequence[float | None],
) -> list[Forecast]:
    """One forecast per waiting run.

    Args:
        now: the present.
        max_runs: slots there are.
        seconds_left: of each active run, None where it is unknown.
        durations_s: of each waiting run in the order of the queue, None where it is unknown.
    """
    known = [now + max(0.0, left) for left in seconds_left if left is not None]
    num_unknown = len(seconds_left) - len(known)
    known += [now] * max(0, max_runs - len(seconds_left))
    heapq.heapify(known)
    for _ in range(max(0, len(seconds_left) - max_runs)):  # max_runs was lowered: these are not replaced
        if known:
            heapq.heappop(known)
    told = []
    for duration_s in durations_s:
        if not known:
            told.append(Forecast(None, None, is_latest=False))
            continue
        start_at = heapq.heappop(known)
        is_latest = num_unknown > 0 and start_at > now
        end_at = None if duration_s is None else start_at + duration_s
        told.append(Forecast(start_at, end_at, is_latest=is_latest))
        if end_at is None:
            num_unknown += 1
        else:
            heapq.heappush(known, end_at)
    return told
