"""Parameters of the two-tower recipe: harder negatives, and where they come from."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ValidationInfo, field_validator

from trainer.recipes.curriculum import MiningPlan, mining_plan
from trainer.recipes.declaration import RecipeParams, parameter
from trainer.recipes.file_names import check_beside

_NEGATIVES: Final = "Negatives"
_NEAR_MISS_ENDINGS: Final = (".jsonl", ".ndjson")
_P_CACHE_ENDINGS: Final = (".npy",)


class NegativesParams(RecipeParams):
    """Beside ``mined_negatives`` and ``group_negatives``: curriculum, files, memory bank, margin."""

    curriculum: str = parameter(
        "",
        "Near misses by epoch, instead of mined_negatives and mine_from_epoch: epochs:K@cos_min-cos_max, "
        "separated by semicolons, e.g. 0-5:none;6-10:8@0.82-0.92;11-:16@0.84-0.96; epochs count from 0.",
        group=_NEGATIVES,
        advanced=True,
    )
    mined_share: float = parameter(
        1.0,
        "Share of the pairs of a batch that bring their near misses along.",
        group=_NEGATIVES,
        ge=0.01,
        le=1.0,
        advanced=True,
    )
    filter_threshold: float = parameter(
        0.9999,
        "A document with at least this cosine to the pair's own is its copy, and never its near miss.",
        group=_NEGATIVES,
        ge=0.5,
        le=1.0,
        advanced=True,
    )
    near_miss_file: str = parameter(
        "",
        "JSONL file in the dataset's folder with near misses found elsewhere, in place of the model's own: "
        "q_index, near_miss_indices, gold_idx, all rows counted from 0.",
        group=_NEGATIVES,
        advanced=True,
    )
    p_cache_file: str = parameter(
        "",
        "Vectors: .npy file [N,D] in the dataset's folder with further documents; the rows that "
        "near_miss_file names, or without one more documents to mine from.",
        group=_NEGATIVES,
        advanced=True,
    )
    memory_bank: int = parameter(
        0,
        "Document vectors of earlier batches kept as further negatives, the oldest leave first; 0 for none.",
        group=_NEGATIVES,
        ge=0,
        le=4_000_000,
        unit="documents",
        advanced=True,
    )
    memory_bank_from_epoch: int = parameter(
        2,
        "First epoch with the memory bank, counted from 0: while a document tower still learns fast, what it "
        "made a few steps ago misleads. An identity document tower has the bank from the beginning.",
        group=_NEGATIVES,
        ge=0,
        le=10_000,
        unit="epochs",
        advanced=True,
    )
    margin: float = parameter(
        0.0,
        "Also ask the pair's own document to be this much above the best wrong one; 0 asks for nothing.",
        group=_NEGATIVES,
        ge=0.0,
        le=100.0,
        advanced=True,
    )
    margin_unit: Literal["cosine", "logits"] = parameter(
        "cosine",
        "What margin counts: cosines, or logits (cosines divided by the temperature), as the original did.",
        group=_NEGATIVES,
        advanced=True,
    )

    @field_validator("curriculum")
    @classmethod
    def _curriculum_is_readable(cls, value: str, info: ValidationInfo) -> str:
        plan = _plan(value, info)
        if value.strip() and info.data.get("mined_negatives"):
            raise ValueError(
                "must be empty while mined_negatives is above 0: both say how many near misses there are"
            )
        depth = info.data.get("mine_depth")
        if depth is not None and plan.most > depth:
            raise ValueError(f"asks for {plan.most} near misses, and mine_depth is {depth}; raise mine_depth")
        return value

    @field_validator("near_miss_file")
    @classmethod
    def _near_misses_are_wanted(cls, value: str, info: ValidationInfo) -> str:
        if not value:
            return value
        check_beside(value, _NEAR_MISS_ENDINGS)
        if "curriculum" not in info.data:
            return value  # what is wrong with that is said already
        plan = _plan(info.data["curriculum"], info)
        if plan.most == 0:
            raise ValueError("is of no use while no near misses are asked for; set mined_negatives")
        if plan.has_windows:
            raise ValueError(
                "names the near misses, so the curriculum cannot ask for cosines; write its stages as 6-10:8"
            )
        return value

    @field_validator("p_cache_file")
    @classmethod
    def _p_cache_is_wanted(cls, value: str, info: ValidationInfo) -> str:
        if not value:
            return value
        check_beside(value, _P_CACHE_ENDINGS)
        if "curriculum" in info.data and _plan(info.data["curriculum"], info).most == 0:
            raise ValueError("is of no use while no near misses are asked for; set mined_negatives")
        return value


def _plan(curriculum: str, info: ValidationInfo) -> MiningPlan:
    return mining_plan(
        curriculum,
        mined_negatives=info.data.get("mined_negatives", 0),
        mine_from_epoch=info.data.get("mine_from_epoch", 0),
    )
