"""How long runs will take: from their own pace, else from past runs of the same kind; else unknown.

A past run is of the same kind when recipe and dataset are the same, or the
dataset is a file of comparable size, and every parameter that counts or
chooses something is equal.  Rates (learning rate, dropout …) and the seed do
not change the time a step takes, so they are not compared.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.store import durations
from app.store.models import Run
from trainer.protocol.events import Phase

COMPARABLE: Final = 4.0  # a file up to so many times larger or smaller is comparable, its time scaled
_NOT_COMPARED: Final = frozenset({"seed"})


@dataclass(frozen=True)
class Estimate:
    """Seconds, and in words what they rest on or why they are unknown."""

    seconds: float | None
    basis: str


class Durations:
    """Estimates from one moment of the database; make a new one for each look."""

    def __init__(self, session: Session, *, now: float, stop_grace_s: float) -> None:
        self._session = session
        self._now = now
        self._stop_grace_s = stop_grace_s
        self._past: dict[str, list[Run]] = {}
        self._sizes: dict[str, int | None] = {}

    def left(self, run: Run) -> Estimate:
        """What an active run still needs."""
        state = RunState(run.state)
        if state is RunState.STOPPING:
            return Estimate(self._stop_grace_s, "it is stopping")
        if state in (RunState.STALLED, RunState.RETRYING) or run.phase == Phase.PAUSED:
            return Estimate(None, "it is paused" if run.phase == Phase.PAUSED else f"it is {state.value}")
        by_pace = self._by_pace(run)
        if by_pace is not None:
            return by_pace
        whole = self.whole(run)
        if whole.seconds is None or run.started_at is None or run.attempt > 1:
            return Estimate(None, "it has not told its pace yet, and " + whole.basis)
        return Estimate(max(0.0, whole.seconds - (self._now - run.started_at)), whole.basis)

    def whole(self, run: Run) -> Estimate:
        """What a waiting run will take once it has started; one that was started before only its rest."""
        if run.attempt > 0 and (rest := self._by_pace(run)) is not None:
            return rest
        past = self._past_of(run.recipe)
        same = [_took(one) for one in past if one.dataset == run.dataset and _is_same_work(one, run)]
        if same:
            return Estimate(statistics.median(same), f"{_runs(len(same))} of the same recipe and dataset")
        scaled = [
            _took(one) * ratio
            for one in past
            if _is_same_work(one, run) and (ratio := self._ratio(run, one)) is not None
        ]
        if scaled:
            basis = f"{_runs(len(scaled))} of the same recipe on a dataset of comparable size"
            return Estimate(statistics.median(scaled), basis)
        return Estimate(None, "no finished run of this recipe with these settings on such a dataset is known")

    def _by_pace(self, run: Run) -> Estimate | None:
        if run.total_steps is None:
            return None
        pace = durations.pace(self._session, run)
        if pace is None:
            return None
        return Estimate(max(0, run.total_steps - run.step) / pace, f"its own pace, {pace:.3g} steps/s")

    def _past_of(self, recipe: str) -> list[Run]:
        if recipe not in self._past:
            self._past[recipe] = durations.past_runs(self._session, recipe)
        return self._past[recipe]

    def _ratio(self, run: Run, past: Run) -> float | None:
        """How many times larger the dataset of ``run`` is; None where they cannot be compared."""
        size, past_size = self._size(run.dataset), self._size(past.dataset)
        if not size or not past_size:
            return None
        ratio = size / past_size
        return ratio if 1 / COMPARABLE <= ratio <= COMPARABLE else None

    def _size(self, dataset: str) -> int | None:
        if dataset not in self._sizes:
            try:
                self._sizes[dataset] = os.stat(dataset).st_size if os.path.isabs(dataset) else None  # noqa: PTH116, PTH117 - called for hundreds of names
            except (OSError, ValueError):
                self._sizes[dataset] = None
        return self._sizes[dataset]


def _took(run: Run) -> float:
    return (run.ended_at or 0.0) - (run.started_at or 0.0)


def _is_same_work(one: Run, other: Run) -> bool:
    return one.profile == other.profile and _work(one.params) == _work(other.params)


def _work(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that decide how much there is to do."""
    return {
        name: value
        for name, value in params.items()
        if name not in _NOT_COMPARED and not isinstance(value, float)
    }


def _runs(number: int) -> str:
    return "one finished run" if number == 1 else f"the median of {number} finished runs"
