"""How many tokens a model reads is told by its configuration, and not by every kind in the same way."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import AutoConfig

from trainer.language.fitness import TAKEN_PLACES, check_length, places
from trainer.language.sources import ModelError


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
        ({"model_type": "gpt2", "n_layer": 1}, 1024),
        ({"model_type": "bloom"}, None),
        ({"model_type": "bert", "max_position_embeddings": True}, None),
    ],
)
def test_places_that_no_token_can_have_are_not_counted(config: dict[str, Any], most: int | None) -> None:
    assert places(config) == most


@pytest.mark.parametrize(("kind", "most"), TAKEN_PLACES.items())
def test_what_is_taken_for_a_silent_configuration_is_what_the_library_takes(kind: str, most: int) -> None:
    config = AutoConfig.for_model(kind).to_dict()
    assert (config.get("max_position_embeddings") or config.get("n_positions")) == most


def test_more_than_it_reads_is_refused_with_the_number() -> None:
    config = {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    check_length(config, 512)
    with pytest.raises(ModelError, match=r"reads at most 512 tokens; lower max_length to 512$"):
        check_length(config, 513)
