"""What the rungs of the fallback ladder do to the parameters of a two-tower run.

A remedy knows the parameters only, not the dataset; where it cannot tell
whether it would help it says so by None rather than by a change without effect.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.rungs import Rung
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


REMEDIES: Final[Mapping[Rung, Remedy]] = {
    Rung.MINING_PROCESS: Remedy("search in a process of its own", _search_apart),
    Rung.HALVE_BATCH: Remedy("half as many pairs in memory at once, the same batch", _half_the_micro_batch),
    Rung.SHORTER: Remedy("read half as many words of each text", _shorter, changes_numbers=True),
    Rung.EVALUATION_OFF: Remedy(
        "evaluate at the end only, so the best checkpoint is the last",
        _evaluate_at_the_end,
        changes_numbers=True,
    ),
    Rung.SUBSET: Remedy("train on half of the pairs", _half_the_pairs, changes_numbers=True),
    Rung.CPU: Remedy("train on the CPU", _on_cpu, changes_numbers=True),
}
