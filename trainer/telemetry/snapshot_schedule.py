"""When snapshots are due, and whether the run can afford them.

Dense at the start, where a model changes most, then every 5,000 steps. A
snapshot is due when the next step of the schedule is behind us, so a resume
that lands between two of them skips none.
"""

from __future__ import annotations

from bisect import bisect_right
from statistics import median
from typing import Any, Final

# fmt: off
EARLY_STEPS: Final = (
    0, 10, 25, 50, 100, 150, 200, 250, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 5000,
    7500, 10000, 15000, 20000,
)
# fmt: on
LATE_EVERY: Final = 5000
UPFRONT_CREDIT_S: Final = 20.0
_RECENT: Final = 3


def next_due_after(step: int) -> int:
    """The first step of the schedule behind ``step``."""
    if step < EARLY_STEPS[-1]:
        return EARLY_STEPS[bisect_right(EARLY_STEPS, step)]
    return (step // LATE_EVERY + 1) * LATE_EVERY


class SnapshotSchedule:
    """Remembers which snapshot comes next."""

    def __init__(self) -> None:
        self.next_due = 0

    def is_due(self, step: int) -> bool:
        """Whether a snapshot should be taken after ``step``."""
        return self.next_due <= step

    def passed(self, step: int) -> None:
        """A snapshot was taken or skipped at ``step``."""
        self.next_due = next_due_after(step)


class SnapshotBudget:
    """Keeps what snapshots cost within a share of the run's time.

    Early snapshots, which tell most, may draw on a credit (at most
    ``UPFRONT_CREDIT_S``, and at most half of what the rest of the run is
    expected to allow), since at step 10 a share of the time so far would be
    nothing. Times are seconds.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self.spent_s = 0.0
        self._recent_s: list[float] = []

    def spend(self, cost_s: float) -> None:
        """A snapshot has cost ``cost_s``."""
        self.spent_s += cost_s
        self._recent_s = [*self._recent_s, cost_s][-_RECENT:]

    @property
    def expected_s(self) -> float:
        """What the next snapshot will probably cost: the median of the last three, 0 before the first."""
        return median(self._recent_s) if self._recent_s else 0.0

    def refusal(self, *, elapsed_s: float, remaining_s: float) -> str | None:
        """Why the run cannot afford a snapshot now, or None when it can."""
        credit_s = min(UPFRONT_CREDIT_S, self.share * remaining_s / 2)
        if self.spent_s + self.expected_s <= self.share * elapsed_s + credit_s:
            return None
        return (
            f"Snapshots have cost {self.spent_s:.1f} s of {elapsed_s:.1f} s and the next takes about"
            f" {self.expected_s:.2f} s; the budget is {self.share:.0%} of the run's time."
        )

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return {"spent_s": self.spent_s, "recent_s": list(self._recent_s)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`; older checkpoints know the last cost only."""
        self.spent_s = float(state["spent_s"])
        self._recent_s = [float(cost_s) for cost_s in state.get("recent_s", [state.get("expected_s", 0.0)])]
