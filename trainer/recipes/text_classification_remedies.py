"""What the rungs of the fallback ladder do to the parameters of a text classification run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainer.protocol.rungs import Rung
from trainer.recipes import loop_remedies
from trainer.recipes.declaration import Remedy

REMEDIES: Final[Mapping[Rung, Remedy]] = loop_remedies.remedies(
    {
        Rung.HALVE_BATCH: loop_remedies.half_the_micro_batch(at_least=1),
        Rung.SHORTER: loop_remedies.half_of("max_length", at_least=16),
        Rung.EVALUATION_OFF: loop_remedies.evaluate_at_the_end,
        Rung.SUBSET: loop_remedies.half_the_examples("max_examples", at_least=500),
        Rung.CPU: loop_remedies.on_cpu,
    }
)
