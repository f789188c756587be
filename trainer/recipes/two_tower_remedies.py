"""What the rungs of the fallback ladder do to the parameters of a two-tower run.

A remedy knows the parameters only, not the dataset; where it cannot tell
whether it would help it says so by None rather than by a change without effect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from trainer.protocol.rungs import WORDS, Rung
from trainer.recipes.declaration import Remedy
from trainer.recipes.search_process import home_of_search

NO_EVALUATION_BEFORE_THE_END: Final = 10_000_000  # the largest eval_every there is
_MIN_FEATURES, _MIN_PAIRS, _MIN_FRACTION = 32, 1000, 0.05
_MIN_MICRO_BATCH: Final = 8

Params = Mapping[str, Any]


def _search_apart(params: Params) -> dict[str, Any] | None:
    home = home_of_search(params["search_process"], platform=sys.platform)
    return {"search_process": "own"} if home == "shared" else None


def _half_the_micro_batch(params: Params) -> dict[str, Any] | None:
    present = min(params["micro_batch_size"] or params["batch_size"], params["batch_size"])
    half = present // 2
    return {"micro_batch_size": half} if half >= _MIN_MICRO_BATCH else None


def _shorter(params: Params) -> dict[str, Any] | None:
    if params["document_tower"] == "identity":
        return None  # vectors: there are no words to leave out
    shorter = params["max_features"] // 2
    return {"max_features": shorter} if shorter >= _MIN_FEATURES else None


def _evaluate_at_the_end(params: Params) -> dict[str, Any] | None:
    every, last = params["eval_every"], params["max_steps"]
    if params["patience"] > 0:
        return None  # evaluations decide when this run ends
    if every >= NO_EVALUATION_BEFORE_THE_END or 0 < last <= every:
        return None
    return {"eval_every": NO_EVALUATION_BEFORE_THE_END}


def _half_the_pairs(params: Params) -> dict[str, Any] | None:
    """Half of ``max_pairs``; where that takes all, however many they are, half of the share of them."""
    if params["max_pairs"]:
        fewer = params["max_pairs"] // 2
        return {"max_pairs": fewer} if fewer >= _MIN_PAIRS else None
    share = params["train_fraction"] / 2
    return {"train_fraction": share} if share >= _MIN_FRACTION else None


def _on_cpu(params: Params) -> dict[str, Any] | None:
    return None if params["device"] == "cpu" else {"device": "cpu"}


def _remedy(rung: Rung, change: Callable[[Params], dict[str, Any] | None]) -> Remedy:
    """What all recipes call the rung fits this one."""
    return Remedy(WORDS[rung].title, change, changes_numbers=WORDS[rung].changes_numbers)


REMEDIES: Final[Mapping[Rung, Remedy]] = {
    rung: _remedy(rung, change)
    for rung, change in (
        (Rung.MINING_PROCESS, _search_apart),
        (Rung.HALVE_BATCH, _half_the_micro_batch),
        (Rung.SHORTER, _shorter),
        (Rung.EVALUATION_OFF, _evaluate_at_the_end),
        (Rung.SUBSET, _half_the_pairs),
        (Rung.CPU, _on_cpu),
    )
}
