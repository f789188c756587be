"""LoRA for either kind of model: frozen weights, and small matrices beside them that are trained."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Protocol, cast

from torch import nn
from transformers import PreTrainedModel

from trainer.language.sources import ModelError


class LoraWish(Protocol):
    """The parameters of a run that say how; ``lora_targets`` are names of layers with commas between."""

    @property
    def lora_rank(self) -> int: ...
    @property
    def lora_alpha(self) -> float: ...
    @property
    def lora_dropout(self) -> float: ...
    @property
    def lora_targets(self) -> str: ...


def with_lora(
    model: nn.Module, wish: LoraWish, *, task: Literal["CAUSAL_LM", "SEQ_CLS"], usual: str | None
) -> nn.Module:
    """``model`` with its weights frozen and matrices beside them.

    Args:
        model: is changed in place.
        wish: how many, how large, and beside which layers.
        task: what is left to be trained beside them: of a classifier its last layer.
        usual: the layers where none are named; None leaves it to peft.
    Raises:
        ModelError: this model cannot have them; tells peft's reason, what was asked for and what there is.
    """
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415 - half a second, and rarely needed

    names = [name.strip() for name in wish.lora_targets.split(",") if name.strip()]
    targets: Any = "all-linear" if names == ["all-linear"] else names or usual
    layers = sorted(
        {name.rpartition(".")[2] for name, one in model.named_modules() if isinstance(one, nn.Linear)}
    )
    config = LoraConfig(
        task_type=task,
        r=wish.lora_rank,
        lora_alpha=wish.lora_alpha,  # type: ignore[arg-type]  # a scale, whole or not
        lora_dropout=wish.lora_dropout,
        target_modules=targets,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of one library to the other: nothing for people
            return get_peft_model(cast(PreTrainedModel, model), config)
    except ValueError as exc:
        first_line = str(exc).split("\n", 1)[0].rstrip(".")
        raise ModelError(
            f"LoRA does not fit this model (lora_targets {wish.lora_targets!r}, "
            f"lora_dropout {wish.lora_dropout:g}): {first_line}. Its layers are {', '.join(layers)}"
        ) from exc
