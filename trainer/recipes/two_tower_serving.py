"""Parameters of the two-tower recipe: what is searched, with which index, and what is left behind."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import field_validator

from trainer.recipes.declaration import RecipeParams, parameter
from trainer.recipes.file_names import check_beside

_DATA, _SERVING = "Dataset", "Index and export"
_BANK_ENDING: Final = ".npz"

# fmt: off
BestMetric = Literal[
    "mrr@10", "mrr", "ndcg@10", "separation", "margin", "loss",
    "recall@1", "recall@5", "recall@10", "recall@50", "recall@100", "recall@500", "recall@1000",
    "contain@20", "contain@50",
]
# fmt: on


class ServingParams(RecipeParams):
    """Beside the measures: the bank of documents, the index that serves them, the export."""

    bank_file: str = parameter(
        "",
        "Vectors: NPZ file in the dataset's folder whose array vectors [M,D] holds further documents to "
        "search and to mine; those of the pairs are found in it and not taken twice.",
        group=_DATA,
        advanced=True,
    )
    index: Literal["flat", "ivf", "hnsw"] = parameter(
        "flat",
        "What serves the documents: flat compares all and is exact, ivf looks into the nearest lists, hnsw "
        "follows a graph. Recall, MRR and nDCG are exact whatever it is.",
        group=_SERVING,
    )
    index_lists: int = parameter(
        0,
        "ivf: lists the documents are sorted into; 0 takes the square root of their number.",
        group=_SERVING,
        ge=0,
        le=1_000_000,
        unit="lists",
        advanced=True,
    )
    index_probes: int = parameter(
        8,
        "ivf: lists looked into per query; more find more and take longer.",
        group=_SERVING,
        ge=1,
        le=1_000_000,
        unit="lists",
        advanced=True,
    )
    index_links: int = parameter(
        32,
        "hnsw: neighbours each document is linked with; more find more and take more memory.",
        group=_SERVING,
        ge=4,
        le=256,
        advanced=True,
    )
    index_build_effort: int = parameter(
        100, "hnsw: candidates looked at for each link.", group=_SERVING, ge=8, le=2000, advanced=True
    )
    index_search_effort: int = parameter(
        128,
        "hnsw: candidates looked at per query; more find more and take longer.",
        group=_SERVING,
        ge=8,
        le=10_000,
        advanced=True,
    )
    export: bool = parameter(
        True,
        "At the end leave the towers of the best checkpoint, and the index of all documents, in the run's "
        "folder export.",
        group=_SERVING,
        advanced=True,
    )

    @field_validator("bank_file")
    @classmethod
    def _bank_lies_beside_the_dataset(cls, value: str) -> str:
        if value:
            check_beside(value, (_BANK_ENDING,))
        return value
