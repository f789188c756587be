"""What the rungs of the fallback ladder do to the parameters that every recipe of the engine has.

A remedy knows the parameters only, not the dataset; where it cannot help any
more it says so by None rather than by a change without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trainer.protocol.rungs import WORDS, Rung
from trainer.recipes.declaration import Remedy

NO_EVALUATION_BEFORE_THE_END: Final = 10_000_000  # the largest eval_every there is
_LEAST_SHARE: Final = 0.05

Params = Mapping[str, Any]
Change = Callable[[Params], dict[str, Any] | None]


def remedies(changes: Mapping[Rung, Change]) -> dict[Rung, Remedy]:
    """The recipe's remedies, under the words that all recipes have for a rung."""
    return {
        rung: Remedy(WORDS[rung].title, change, changes_numbers=WORDS[rung].changes_numbers)
        for rung, change in changes.items()
    }


def half_the_micro_batch(*, at_least: int) -> Change:
    """Half as much in memory at once; the batch stays what it was."""

    def change(params: Params) -> dict[str, Any] | None:
        half = min(params["micro_batch_size"] or params["batch_size"], params["batch_size"]) // 2
        return {"micro_batch_size": half} if half >= at_least else None

    return change


def half_of(name: str, *, at_least: int) -> Change:
    """Half of the parameter ``name``."""

    def change(params: Params) -> dict[str, Any] | None:
        half = params[name] // 2
        return {name: half} if half >= at_least else None

    return change


def half_the_examples(limit: str, *, at_least: int) -> Change:
    """Half of the parameter ``limit``; where that takes all, however many they are, half of their share."""

    def change(params: Params) -> dict[str, Any] | None:
        if params[limit]:
            return half_of(limit, at_least=at_least)(params)
        share = params["train_fraction"] / 2
        return {"train_fraction": share} if share >= _LEAST_SHARE else None

    return change


def evaluate_at_the_end(params: Params) -> dict[str, Any] | None:
    """One evaluation, the last; none is left out where they decide when the run ends."""
    every, last = params["eval_every"], params["max_steps"]
    if not params.get("evaluate", True) or params["patience"] > 0:
        return None
    if every >= NO_EVALUATION_BEFORE_THE_END or 0 < last <= every:
        return None
    return {"eval_every": NO_EVALUATION_BEFORE_THE_END}


def on_cpu(params: Params) -> dict[str, Any] | None:
    """On the CPU, where fp16 is not to be had."""
    if params["device"] == "cpu":
        return None
    return {"device": "cpu", **({"precision": "fp32"} if params.get("precision") == "fp16" else {})}
