"""Completion by models that keep no keys and values of what they have read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, MambaConfig

from trainer.language.completion import complete

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_model_with_a_state_in_place_of_a_cache_writes_what_it_would_write_by_itself() -> None:
    torch.manual_seed(0)
    config = MambaConfig(hidden_size=16, num_hidden_layers=2, vocab_size=40, state_size=4)
    model: Any = AutoModelForCausalLM.from_config(config).eval()  # type: ignore[no-untyped-call]

    def step(**options: Any) -> Any:
        options.pop("position_ids")
        return model(**options)

    prompts = [[5, 6, 7], [9] * 11]
    found = complete(
        step, prompts, max_new_tokens=6, max_length=64, end_ids=[], pad_id=0, device=torch.device("cpu")
    )
    for prompt, completion in zip(prompts, found, strict=True):
        ids = torch.tensor([prompt])
        whole = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, eos_token_id=None
        )
        assert whole[0, len(prompt) :].tolist() == completion.ids
