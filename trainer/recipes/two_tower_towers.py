"""Parameters of the two-tower recipe: which towers read the texts or vectors."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import ValidationInfo, field_validator

from trainer.recipes.declaration import RecipeParams, parameter
from trainer.recipes.loop_parameters import MODEL

HASHED_WORDS: Final = "words"
SCRATCH: Final = "scratch"
_RUN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(@(best|last|[0-9]{1,18}))?")


class TowerParams(RecipeParams):
    """Beside the sizes: the kind of tower."""

    query_tower: Literal["gru", "mlp", "identity"] = parameter(
        "gru",
        "Vectors: what reads a query: a GRU and the mean of its outputs, an mlp over the mean of the "
        "vectors, or identity, the mean as it is.",
        group=MODEL,
        advanced=True,
    )
    model: str = parameter(
        HASHED_WORDS,
        "Text: words reads hashed words and is fast; or a Hugging Face encoder: scratch, a folder, or a hub "
        "id.",
        group=MODEL,
        advanced=True,
    )
    encoder: Literal["trained", "frozen"] = parameter(
        "trained",
        "Text with an encoder: trained with the rest, or frozen, which reads every text once and trains "
        "a layer on top.",
        group=MODEL,
        advanced=True,
    )
    encoder_learning_rate: float = parameter(
        3e-5,
        "Text with an encoder that comes with weights: its step size; one from scratch has learning_rate.",
        group=MODEL,
        ge=1e-9,
        le=1.0,
        advanced=True,
    )
    max_length: int = parameter(
        128,
        "Text with an encoder: tokens read per text; the rest is not read.",
        group=MODEL,
        ge=8,
        le=8192,
        unit="tokens",
        advanced=True,
    )
    num_heads: int = parameter(
        4,
        "Encoder from scratch: attention heads; hidden_dim is its width and num_layers its layers.",
        group=MODEL,
        ge=1,
        le=64,
        advanced=True,
    )
    vocab_size: int = parameter(
        8192,
        "Encoder from scratch: tokens of the tokenizer that is learned from the texts.",
        group=MODEL,
        ge=300,
        le=200_000,
        unit="tokens",
        advanced=True,
    )

    init_from: str = parameter(
        "",
        "Begin with the weights of another run of the same towers: its id, or ID@best, ID@last, ID@STEP. "
        "Optimizer and data begin anew.",
        group=MODEL,
        advanced=True,
    )

    @field_validator("init_from")
    @classmethod
    def _init_from_is_a_run(cls, value: str) -> str:
        if value and not _RUN.fullmatch(value):
            raise ValueError("must be the id of a run, perhaps with @best, @last or @STEP behind it")
        return value

    @field_validator("model")
    @classmethod
    def _model_is_named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError(f"must be {HASHED_WORDS}, {SCRATCH}, a folder, or a hub id")
        return value.strip()

    @field_validator("encoder")
    @classmethod
    def _frozen_needs_weights(cls, value: str, info: ValidationInfo) -> str:
        if value == "frozen" and info.data.get("model") == SCRATCH:
            raise ValueError("frozen needs a model that comes with weights; one from scratch knows nothing")
        return value
