"""What the rungs of the fallback ladder do to the parameters of a language model run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.rungs import Rung
from trainer.recipes import loop_remedies
from trainer.recipes.declaration import Remedy

_MOST_ACCUMULATED: Final = 1024  # what the parameter allows


def _half_the_batch(params: loop_remedies.Params) -> dict[str, Any] | None:
    """Half as much in memory, twice as many batches to a step: the step stays what it was."""
    half = params["batch_size"] // 2
    if half < 1:
        return None if params["gradient_checkpointing"] else {"gradient_checkpointing": True}
    accumulate = params["accumulate"] * 2
    return {"batch_size": half, "accumulate": accumulate} if accumulate <= _MOST_ACCUMULATED else None


REMEDIES: Final[Mapping[Rung, Remedy]] = loop_remedies.remedies(
    {
        Rung.HALVE_BATCH: _half_the_batch,
        Rung.SHORTER: loop_remedies.half_of("max_length", at_least=64),
        Rung.EVALUATION_OFF: loop_remedies.evaluate_at_the_end,
        Rung.SUBSET: loop_remedies.half_the_examples("max_examples", at_least=500),
        Rung.CPU: loop_remedies.on_cpu,
    }
)
