"""A model that cannot have LoRA as it was asked for says why, in the words of who knows."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn
from transformers import AutoModelForCausalLM, MambaConfig, MixtralConfig

from trainer.language.lora import with_lora
from trainer.language.sources import ModelError
from trainer.recipes.causal_lm import CausalLmParams

pytestmark = pytest.mark.filterwarnings("ignore")


def mixture() -> nn.Module:
    config = MixtralConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=40,
        num_key_value_heads=1, num_local_experts=2,
    )  # fmt: skip
    return built(config)


def built(config: Any) -> nn.Module:
    model: nn.Module = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return model


def wished(**more: Any) -> CausalLmParams:
    return CausalLmParams(lora_rank=2, **more)


def test_experts_cannot_have_dropout_and_the_message_says_so() -> None:
    with pytest.raises(ModelError, match=r"lora_dropout 0\.05\): .*lora_dropout != 0.* q_proj"):
        with_lora(mixture(), wished(lora_dropout=0.05), task="CAUSAL_LM", usual="all-linear")


def test_experts_without_dropout_get_matrices_of_their_own() -> None:
    model = with_lora(mixture(), wished(lora_dropout=0.0), task="CAUSAL_LM", usual="all-linear")
    trained = [name for name, one in model.named_parameters() if one.requires_grad]
    assert any("experts" in name for name in trained)
    assert all("lora_" in name for name in trained)


def test_layers_that_a_state_space_model_must_keep_are_named() -> None:
    config = MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=40, state_size=4)
    with pytest.raises(ModelError, match=r"'out_proj' is incompatible with Mamba.* Its layers are .*in_proj"):
        with_lora(built(config), wished(), task="CAUSAL_LM", usual="all-linear")
    model = with_lora(
        built(config), wished(lora_targets="in_proj,x_proj"), task="CAUSAL_LM", usual="all-linear"
    )
    assert any("in_proj.lora_A" in name for name, _ in model.named_parameters())
