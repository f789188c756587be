"""The language model that is trained: made, loaded or extended by LoRA, and how it is asked for logits.

Shape suffixes: B rows, T positions, P positions that predict, V tokens of the vocabulary,
D numbers of a state.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from trainer.datasets.records import Tell
from trainer.language.loading import load_config, load_model
from trainer.language.lora import with_lora
from trainer.language.precision import Numbers
from trainer.language.scratch import Sizes, decoder_config
from trainer.language.sources import ModelError, ModelSource
from trainer.recipes.causal_lm import CausalLmParams
from trainer.tasks.causal_lm.batches import Batch


class SavedWeights(nn.Module):
    """A model of which a checkpoint holds what is trained only: of a LoRA run not the model under it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self._trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        self._is_partial = len(self._trained) < len(list(model.parameters()))

    def state_dict(self, *arguments: Any, **options: Any) -> dict[str, Any]:  # type: ignore[override]
        """The weights by name, without copies of shared ones."""
        whole: dict[str, Any] = self.model.state_dict(*arguments, **options)
        return {name: value for name, value in whole.items() if name in self._trained or not self._is_partial}

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Inverse of :meth:`state_dict`.

        Raises:
            RuntimeError: names or shapes are not those of this model.
        """
        answer = self.model.load_state_dict(state_dict, strict=strict and not self._is_partial, assign=assign)
        if self._is_partial:
            missing = sorted(self._trained - set(state_dict))
            if missing or answer.unexpected_keys:
                raise RuntimeError(
                    f"weights are missing or unknown: {(missing or answer.unexpected_keys)[:3]}"
                )
        return answer


class LanguageModel:
    """A causal language model on its device, with its tokenizer."""

    def __init__(
        self, model: nn.Module, tokenizer: PreTrainedTokenizerFast, *, device: torch.device, precision: str
    ) -> None:
        self.model = model.to(device)
        self.tokenizer = tokenizer
        self.device = device
        self.saved = SavedWeights(model)
        self._numbers = Numbers(precision, self.model, device=device)
        self.loss_scale = self._numbers.loss_scale
        base: Any = getattr(model, "get_base_model", None)  # LoRA's wrapping has one
        inner: Any = model if base is None else base()
        accepted = inspect.signature(inner.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._takes_selection = "logits_to_keep" in accepted
        self.config: Any = inner.config
        self._body: nn.Module = getattr(inner, "base_model", inner)
        self.is_stateful = bool(getattr(inner, "_is_stateful", False))

    @property
    def max_length(self) -> int:
        """Positions the model has; very many when it does not say."""
        return int(getattr(self.config, "max_position_embeddings", None) or 2**30)

    @property
    def vocab_size(self) -> int:
        """Tokens it can write."""
        return int(self.config.vocab_size)

    @property
    def end_ids(self) -> list[int]:
        """Tokens that end a text."""
        ends = [self.tokenizer.eos_token_id, getattr(self.config, "eos_token_id", None)]
        flat = [one for end in ends for one in (end if isinstance(end, list) else [end])]
        return sorted({int(one) for one in flat if one is not None})

    def autocast(self) -> AbstractContextManager[Any]:
        """The numbers inside the model."""
        return self._numbers.autocast()

    def logits(self, batch: Batch) -> Tensor:
        """The logits (P, V) at the positions of ``batch`` that predict, float32."""
        predicts = batch.predicts_BT.to(self.device, non_blocking=True)
        options: dict[str, Any] = {"use_cache": False}
        if batch.mask_BT is not None:
            options["attention_mask"] = batch.mask_BT.to(self.device, non_blocking=True)
        if self._takes_positions:
            options["position_ids"] = batch.position_BT.to(self.device, non_blocking=True)
        if self._takes_selection:
            options["logits_to_keep"] = predicts
        with self.autocast():
            found: Tensor = self.model(
                input_ids=batch.ids_BT.to(self.device, non_blocking=True), **options
            ).logits
        if found.ndim == 3:
            found = found[predicts]
        return found.float()

    @contextmanager
    def watching_states(self) -> Iterator[list[Tensor]]:
        """Collects what the last layer says at every position, (B, T, D) of each pass inside.

        Stays empty for a model that does not tell its body from its head.
        """
        seen: list[Tensor] = []

        def look(_module: nn.Module, _inputs: Any, output: Any) -> None:
            states = getattr(output, "last_hidden_state", None)
            if isinstance(states, Tensor):
                seen.append(states.detach())

        hook = self._body.register_forward_hook(look)
        try:
            yield seen
        finally:
            hook.remove()

    def step(self, **options: Any) -> Any:
        """One step of writing, see :mod:`trainer.language.completion`."""
        if not self._takes_positions:
            options.pop("position_ids")
        if not self._takes_selection:
            options.pop("logits_to_keep")
        with self.autocast():
            return self.model(**options)


def build_model(
    source: ModelSource,
    tokenizer: PreTrainedTokenizerFast,
    params: CausalLmParams,
    *,
    device: torch.device,
    precision: str,
    tell: Tell,
) -> LanguageModel:
    """The model that ``params`` ask for, on ``device``.

    Raises:
        ModelError: the model does not fit the parameters.
    """
    if source.kind == "scratch":
        sizes = Sizes(params.num_layers, params.hidden_dim, params.num_heads, params.max_length)
        model: nn.Module = AutoModelForCausalLM.from_config(decoder_config(sizes, tokenizer))  # type: ignore[no-untyped-call]
    else:
        model = _loaded(source, tokenizer, params, precision=precision, tell=tell)
    if params.gradient_checkpointing:
        checkpointed: Any = model
        checkpointed.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if params.lora_rank:
        model = with_lora(model, params, task="CAUSAL_LM", usual="all-linear")
    return LanguageModel(model, tokenizer, device=device, precision=precision)


def build_optimizers(model: nn.Module, params: CausalLmParams) -> list[Optimizer]:
    """AdamW; matrices decay, norms and biases do not."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [one for one in trained if one.ndim >= 2], "weight_decay": params.weight_decay},
        {"params": [one for one in trained if one.ndim < 2], "weight_decay": 0.0},
    ]
    return [AdamW([group for group in groups if group["params"]], lr=params.learning_rate, betas=(0.9, 0.95))]


def _loaded(
    source: ModelSource,
    tokenizer: PreTrainedTokenizerFast,
    params: CausalLmParams,
    *,
    precision: str,
    tell: Tell,
) -> PreTrainedModel:
    config: Any = load_config(source)
    positions = getattr(config, "max_position_embeddings", None)
    if positions and params.max_length > positions:
        raise ModelError(
            f"max_length is {params.max_length} and {source.name} has {positions} positions; "
            f"set max_length to {positions} or less"
        )
    is_frozen = params.lora_rank > 0 and precision == "bf16"  # what is trained stays float32
    numbers = torch.bfloat16 if is_frozen else torch.float32
    model = load_model(AutoModelForCausalLM, source, config, tell, dtype=numbers)
    embedding: Any = model.get_input_embeddings()
    size = int(embedding.weight.shape[0])
    if len(tokenizer) > size:
        raise ModelError(
            f"{source.folder}: its tokenizer has {len(tokenizer):,} tokens and the model knows {size:,}; "
            "they do not belong together"
        )
    return model
