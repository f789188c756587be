"""The trained language model as a folder: LoRA merged, the adapter beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from transformers import PreTrainedModel

from trainer.language.export import export_model
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.causal_lm import CausalLmParams
from trainer.tasks.causal_lm.model import LanguageModel


def export(
    folder: Path,
    model: LanguageModel,
    *,
    run: RunSpec,
    step: int,
    metrics: dict[str, float],
    params: CausalLmParams,
) -> None:
    """Write the folder; a LoRA model is merged by it and cannot be trained on.

    Raises:
        OSError: there is no room for it.
    """
    whole = model.model
    if params.lora_rank:
        merged: Any = whole
        whole = merged.merge_and_unload()  # in place: the training is over, and a copy may not fit
    export_model(
        folder,
        cast(PreTrainedModel, whole),
        model.tokenizer,
        run_id=run.run_id,
        recipe=run.recipe,
        dataset=run.dataset,
        step=step,
        metrics=metrics,
        extra={"base_model": params.model, "max_length": params.max_length, "lora_rank": params.lora_rank},
    )
