"""The classifier: a Hugging Face model with a head for the labels, its tokenizer, its optimizer.

Shape suffixes: B texts of a batch, T tokens, K labels, D numbers of a vector.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import AdamW
from transformers import (
    AutoModelForSequenceClassification,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from trainer.datasets.records import Tell
from trainer.language.fitness import check_length
from trainer.language.loading import fetched, load_config, load_model, load_tokenizer
from trainer.language.lora import with_lora
from trainer.language.precision import Numbers
from trainer.language.precision import choose as choose_precision
from trainer.language.scratch import scratch_tokenizer
from trainer.language.sources import SCRATCH, ModelError, ModelSource, find_source, model_roots
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.batches import Batch

TOKENIZERS_FOLDER: Final = "tokenizers"


@dataclass(frozen=True)
class Chosen:
    """A model's source on disk, and its tokenizer."""

    source: ModelSource
    tokenizer: PreTrainedTokenizerFast


def choose(
    params: TextClassificationParams, texts: Sequence[str], *, datasets_dir: Path, tell: Tell
) -> Chosen:
    """Find the model and load its tokenizer; from scratch, learn one from ``texts``.

    Raises:
        ModelError: the model cannot be used; names the file and the remedy.
    """
    source = fetched(find_source(params.model, roots=model_roots(datasets_dir)), tell)
    if source.kind == SCRATCH:
        tokenizer = scratch_tokenizer(
            texts,
            kind="encoder",
            vocab_size=params.vocab_size,
            folder=datasets_dir / TOKENIZERS_FOLDER,
            tell=tell,
        )
        return Chosen(source, tokenizer)
    return Chosen(source, load_tokenizer(source))


def build_model(
    chosen: Chosen, params: TextClassificationParams, *, names: Sequence[str], tell: Tell
) -> nn.Module:
    """The classifier on the CPU; a head the model lacks is drawn from torch's generator.

    Raises:
        ModelError: the model is of another kind, or reads fewer tokens than asked for.
    """
    labels: dict[str, Any] = {
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
    }
    if chosen.source.kind == SCRATCH:
        config: PreTrainedConfig = scratch_config(params, chosen.tokenizer, **labels)
        auto_class: Any = AutoModelForSequenceClassification  # whose methods have no types
        model: PreTrainedModel = auto_class.from_config(config)
    else:
        config = load_config(chosen.source, num_labels=len(names), **labels)
        check_length(config.to_dict(), params.max_length)
        if config.pad_token_id is None:
            config.pad_token_id = chosen.tokenizer.pad_token_id
        model = load_model(
            AutoModelForSequenceClassification,
            chosen.source,
            config,
            tell,
            ignore_mismatched_sizes=True,
            dtype=torch.float32,
        )
    if params.gradient_checkpointing:
        if not model.supports_gradient_checkpointing:
            raise ModelError(f"{params.model}: has no gradient checkpointing; switch it off")
        enable: Any = model.gradient_checkpointing_enable
        enable({"use_reentrant": False})
    return with_lora(model, params, task="SEQ_CLS", usual=None) if params.lora_rank else model


def scratch_config(
    params: TextClassificationParams, tokenizer: PreTrainedTokenizerFast, **labels: Any
) -> ModernBertConfig:
    """A small encoder that answers from the mean over all tokens: learned far sooner than from one."""
    return ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=params.hidden_dim,
        intermediate_size=2 * params.hidden_dim,
        num_hidden_layers=params.num_layers,
        num_attention_heads=params.num_heads,
        max_position_embeddings=params.max_length,
        layer_types=["full_attention"] * params.num_layers,
        classifier_pooling="mean",
        embedding_dropout=params.dropout,
        mlp_dropout=params.dropout,
        classifier_dropout=params.dropout,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        **labels,
    )


class Classifier:
    """A model on its device, asked for logits at its precision."""

    def __init__(self, model: nn.Module, *, device: torch.device, precision: str) -> None:
        """Prepare.

        Raises:
            ModelError: the device cannot calculate so.
        """
        self.model = model.to(device)
        self.device = device
        self._numbers = Numbers(choose_precision(precision, device), self.model, device=device)
        config: Any = getattr(model, "config", None)
        self._num_labels = int(getattr(config, "num_labels", 0))

    @property
    def loss_scale(self) -> float:
        """What the loss must be multiplied by before going back; gradients come out unscaled."""
        return self._numbers.loss_scale

    def logits(self, batch: Batch) -> Tensor:
        """Float32 logits (B, K) of a batch that is on the device."""
        with self._numbers.autocast():
            found: Tensor = self.model(input_ids=batch.ids, attention_mask=batch.mask).logits
        return found.float()

    def logits_and_pooled(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """The logits, and float32 (B, D) of what the last layer of the head makes them from.

        A head that judges every token is taken to see the mean over a text's tokens. None where no linear
        layer ends in the labels.
        """
        seen: list[Tensor] = []
        heads = [one for one in self.model.modules() if isinstance(one, nn.Linear)]
        heads = [one for one in heads if one.out_features == self._num_labels]
        hooks = [
            head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
            for head in heads
        ]
        try:
            logits = self.logits(batch)
        finally:
            for hook in hooks:
                hook.remove()
        if not seen:
            return logits, None
        pooled = seen[-1].float()
        if pooled.ndim == 3:
            mask_BT = batch.mask.float()
            pooled = (pooled * mask_BT[..., None]).sum(1) / mask_BT.sum(1, keepdim=True).clamp(min=1.0)
        return logits, pooled


def build_optimizer(model: nn.Module, params: TextClassificationParams) -> AdamW:
    """AdamW over what is trained; biases and norms do not decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.ndim >= 2]
    vectors = [parameter for parameter in trained if parameter.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": params.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return AdamW([group for group in groups if group["params"]], lr=params.learning_rate)


def plain_model(model: nn.Module) -> PreTrainedModel:
    """The model as transformers knows it; of one with LoRA a copy in which it is part of the weights."""
    if isinstance(model, PreTrainedModel):
        return model
    copied: Any = copy.deepcopy(model)
    merged: PreTrainedModel = copied.merge_and_unload()
    return merged
