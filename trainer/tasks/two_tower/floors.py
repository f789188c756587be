"""Ends a run that stays below its floors, so that it does not spend a night on what will not ship."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from trainer.recipes.gates import Verdict, judge, overall
from trainer.recipes.two_tower import TwoTowerParams
from trainer.recipes.two_tower_gates import GATES

log = logging.getLogger(__name__)


class BelowFloors(Exception):
    """The run stayed below its floors; its checkpoints and measures are all there."""


class Floors:
    """Counts evaluations in a row below a floor; looks at nothing unless the run wants to be ended."""

    def __init__(self, params: TwoTowerParams) -> None:
        self._params = params
        self._thresholds = params.model_dump()
        self._num_begun = 0  # epochs
        self._in_a_row = 0
        self._words = ""

    def begin_epoch(self, epoch: int) -> None:
        """Epoch ``epoch``, from 0, is about to begin.

        Raises:
            BelowFloors: the last evaluations were below a floor, as many as the run allows.
        """
        params = self._params
        if params.stop_below_floors and self._in_a_row >= params.floor_patience:
            raise BelowFloors(
                f"{self._in_a_row} evaluations in a row were below the floors of this run: {self._words}. "
                "Go back to the best checkpoint with a lower learning rate or easier negatives, lower the "
                "floors, or set stop_below_floors to false"
            )
        self._num_begun = epoch + 1

    def look(self, measured: Mapping[str, float]) -> None:
        """Judge an evaluation: names without ``eval/``."""
        values: dict[str, float | None] = {f"eval/{name}": value for name, value in measured.items()}
        gates = judge(GATES, self._thresholds, values)
        log.info("gates: %s", overall(gates).value.upper())
        if not self._params.stop_below_floors or self._num_begun < self._params.floor_from_epoch:
            return
        below = [one for one in gates if one.gate.kind == "floor" and one.verdict is Verdict.NO_GO]
        self._in_a_row = self._in_a_row + 1 if below else 0
        self._words = "; ".join(one.in_words() for one in below)

    def state_dict(self) -> dict[str, Any]:
        """What an exact resume needs."""
        return {"num_begun": self._num_begun, "in_a_row": self._in_a_row, "words": self._words}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Inverse of :meth:`state_dict`; of a checkpoint from before there were floors, nothing."""
        self._num_begun = int(state.get("num_begun", 0))
        self._in_a_row = int(state.get("in_a_row", 0))
        self._words = str(state.get("words", ""))
