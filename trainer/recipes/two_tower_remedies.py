"""What the rungs of the fallback ladder do to the parameters of a two-tower run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.rungs import Rung
from trainer.recipes import loop_remedies
from trainer.recipes.declaration import Remedy
from trainer.recipes.search_process import home_of_search
from trainer.recipes.two_tower_towers import HASHED_WORDS

_MIN_TOKENS, _MIN_FEATURES, _MIN_PAIRS, _MIN_MICRO_BATCH = 16, 32, 1000, 8


def _search_apart(params: loop_remedies.Params) -> dict[str, Any] | None:
    home = home_of_search(params["search_process"], platform=sys.platform)
    return {"search_process": "own"} if home == "shared" else None


def _shorter(params: loop_remedies.Params) -> dict[str, Any] | None:
    if params["model"] != HASHED_WORDS:
        return loop_remedies.half_of("max_length", at_least=_MIN_TOKENS)(params)
    if params["document_tower"] == "identity":
        return None  # vectors: there are no words to leave out
    return loop_remedies.half_of("max_features", at_least=_MIN_FEATURES)(params)


REMEDIES: Final[Mapping[Rung, Remedy]] = loop_remedies.remedies(
    {
        Rung.MINING_PROCESS: _search_apart,
        Rung.HALVE_BATCH: loop_remedies.half_the_micro_batch(at_least=_MIN_MICRO_BATCH),
        Rung.SHORTER: _shorter,
        Rung.EVALUATION_OFF: loop_remedies.evaluate_at_the_end,
        Rung.SUBSET: loop_remedies.half_the_examples("max_pairs", at_least=_MIN_PAIRS),
        Rung.CPU: loop_remedies.on_cpu,
    }
)
