"""What turns a checkpoint's weights back into a classifier: configuration, tokenizer, labels.

The first two lie beside the checkpoints, in ``model/`` of the run's folder, so
that neither the dataset nor the model it came from is needed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torch import nn
from transformers import (
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from trainer.engine import checkpoints
from trainer.language.loading import load_config, load_tokenizer
from trainer.language.lora import with_lora
from trainer.language.sources import ModelError, ModelSource
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.text_classification import TextClassificationParams

FOLDER: Final = "model"


@dataclass(frozen=True)
class SavedModel:
    """A classifier as a checkpoint has it, on the CPU and in evaluation mode."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerFast
    names: list[str]


def keep_beside_checkpoints(paths: RunPaths, model: nn.Module, tokenizer: PreTrainedTokenizerFast) -> None:
    """Write configuration and tokenizer into the run's folder.

    Raises:
        OSError: there is no room.
    """
    folder = paths.root / FOLDER
    config: Any = model.config
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def open_checkpoint(paths: RunPaths, checkpoint: Path, params: TextClassificationParams) -> SavedModel:
    """Load a checkpoint of the run in ``paths``.

    Raises:
        CheckpointError: it cannot be read.
        ModelError: what lies beside it cannot be used, or does not fit it.
    """
    folder = paths.root / FOLDER
    kept = ModelSource("folder", folder.name, folder)
    config, tokenizer = load_config(kept), load_tokenizer(kept)
    state = checkpoints.load(checkpoint)
    auto_class: Any = AutoModelForSequenceClassification  # whose methods have no types
    plain: PreTrainedModel = auto_class.from_config(config)
    model: nn.Module = with_lora(plain, params, task="SEQ_CLS", usual=None) if params.lora_rank else plain
    try:
        names = [str(name) for name in state["task"]["labels"]]
        model.load_state_dict(state["modules"]["classifier"])
    except (KeyError, TypeError, RuntimeError) as exc:
        first_line = str(exc).strip().split("\n", 1)[0]
        raise ModelError(f"{checkpoint}: does not fit the model of its run ({first_line})") from exc
    return SavedModel(model.eval(), tokenizer, names)
