"""The gates of the two-tower recipe, and the parameters that hold their thresholds."""

from __future__ import annotations

from typing import Any, Final

from trainer.recipes.declaration import RecipeParams, parameter
from trainer.recipes.gates import Condition, Gate

_GATES: Final = "Gates"


def _share(default: float, help: str) -> Any:  # noqa: A002 - as in parameter()
    return parameter(default, help, group=_GATES, ge=0.0, le=1.0, advanced=True)


class GateParams(RecipeParams):
    """From when on a model is good enough, and from when on it is not worth going on."""

    gate_recall_5: float = _share(
        0.30, "GO needs this recall@5, or the mrr beside it; 0 leaves the condition out."
    )
    gate_mrr: float = _share(
        0.20, "GO needs this mrr, or the recall@5 beside it; 0 leaves the condition out."
    )
    gate_contain_50: float = _share(
        0.82, "GO needs the answer among the 50 documents served this often; 0 leaves the gate out."
    )
    gate_separation: float = _share(
        0.04,
        "GO needs this much cosine between the right documents and the hardest wrong ones; 0 leaves the gate "
        "out.",
    )
    gate_oracle: float = _share(
        0.95,
        "GO needs this share of documents found by their own vector, which shows that the index is sound; 0 "
        "leaves the gate out.",
    )
    gate_p95_ms: float = parameter(
        8.0,
        "GO needs 95 % of single queries to the index answered within this time; 0 leaves the gate out.",
        group=_GATES,
        ge=0.0,
        le=1e6,
        unit="ms",
        advanced=True,
    )
    stop_below_floors: bool = parameter(
        False,
        "End the run as failed when it stays below the floors: no more time for what will not ship.",
        group=_GATES,
        advanced=True,
    )
    floor_recall_5: float = _share(0.25, "Floor of recall@5; 0 leaves it out.")
    floor_contain_50: float = _share(0.82, "Floor of contain@50; 0 leaves it out.")
    floor_separation: float = _share(0.04, "Floor of the separation; 0 leaves it out.")
    floor_from_epoch: int = parameter(
        10,
        "The floors count after so many epochs.",
        group=_GATES,
        ge=0,
        le=10_000,
        unit="epochs",
        advanced=True,
    )
    floor_patience: int = parameter(
        2,
        "Evaluations in a row below a floor that end the run.",
        group=_GATES,
        ge=1,
        le=1000,
        unit="evaluations",
        advanced=True,
    )


GATES: Final = (
    Gate(
        "finds",
        "Finds the answer early",
        "Too few queries have their answer near the top: train longer, with harder negatives or more pairs.",
        (Condition("eval/recall@5", "gate_recall_5"), Condition("eval/mrr", "gate_mrr")),
    ),
    Gate(
        "contains",
        "Serves the answer at all",
        "The list handed on does not hold the answer, so no reranker could find it: a better model, or an "
        "index that looks at more.",
        (Condition("eval/contain@50", "gate_contain_50"),),
    ),
    Gate(
        "separates",
        "Tells right from nearly right",
        "Right documents and the hardest wrong ones are about as near: the order is close to chance.",
        (Condition("eval/separation", "gate_separation", unit="cosine"),),
    ),
    Gate(
        "oracle",
        "Finds documents by themselves",
        "Documents are not found with their own vectors: many are equal, or the index is out of step.",
        (Condition("eval/oracle", "gate_oracle"),),
    ),
    Gate(
        "fast",
        "Answers in time",
        "The index is too slow on this machine: take ivf or hnsw, or fewer probes.",
        (Condition("eval/index_p95_ms", "gate_p95_ms", at_least=False, unit="ms"),),
    ),
    Gate(
        "floor_recall",
        "Floor of recall@5",
        "What stays below will not ship.",
        (Condition("eval/recall@5", "floor_recall_5"),),
        kind="floor",
        switch="stop_below_floors",
    ),
    Gate(
        "floor_contain",
        "Floor of contain@50",
        "What stays below will not ship.",
        (Condition("eval/contain@50", "floor_contain_50"),),
        kind="floor",
        switch="stop_below_floors",
    ),
    Gate(
        "floor_separation",
        "Floor of the separation",
        "The model has collapsed: right and wrong documents come together.",
        (Condition("eval/separation", "floor_separation", unit="cosine"),),
        kind="floor",
        switch="stop_below_floors",
    ),
)
