"""What a trainer has lately had of the machine's processors, from several close looks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trainer.supervisor.process_state import ProcessState, ThreadTimes

_MEASURE_S: Final = 0.9


@dataclass(frozen=True)
class _Look:
    at: float
    state: ProcessState


class ProcessorUse:
    """The close looks of a few seconds, on the monotonic clock."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()

    def look(self, state: ProcessState, now: float, *, since: float) -> None:
        """Remember a look; those before ``since`` are forgotten."""
        while self._looks and self._looks[0].at < since:
            self._looks.popleft()
        self._looks.append(_Look(now, state))

    def forget(self) -> None:
        """Begin anew."""
        self._looks.clear()

    def cpu_percent(self) -> float | None:
        """Use by the whole tree, 100 per busy core; None until it was observed for long enough."""
        elapsed_s = self._elapsed_s()
        if elapsed_s < _MEASURE_S:
            return None
        return max(0.0, 100.0 * (self._looks[-1].state.cpu_s - self._looks[0].state.cpu_s) / elapsed_s)

    def running_share(self) -> float:
        """The share of the time (0..1) in which its most eager thread computed or waited for its turn.

        Where the system does not tell the times, the share of looks at which a thread could run.
        """
        if not self._looks:
            return 0.0
        if self._looks[-1].state.threads and self._elapsed_s() >= _MEASURE_S:
            return self._share(lambda times: times.computed_s + times.waited_s)
        return sum(look.state.is_running for look in self._looks) / len(self._looks)

    def starved_share(self) -> float:
        """The share of the time (0..1) in which its most starved thread waited for a processor."""
        return self._share(lambda times: times.waited_s)

    def _share(self, seconds: Callable[[ThreadTimes], float]) -> float:
        elapsed_s = self._elapsed_s()
        if elapsed_s < _MEASURE_S:
            return 0.0
        before, after = self._looks[0].state.threads, self._looks[-1].state.threads
        spent_s = [seconds(after[thread]) - seconds(before[thread]) for thread in before.keys() & after]
        return min(1.0, max(spent_s, default=0.0) / elapsed_s)

    def _elapsed_s(self) -> float:
        return self._looks[-1].at - self._looks[0].at if self._looks else 0.0
