"""How large an encoder is, told from its files or from the parameters; loads no training library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.language.sources import SCRATCH, ModelError, find_source, model_roots, num_weights, read_config
from trainer.recipes.two_tower_towers import HASHED_WORDS

CHARACTERS_PER_TOKEN: Final = 4.0
STATE_COPIES: Final = 34.0  # of a layer's outputs, with all that its gradient needs
_HUB_WEIGHTS, _HUB_WIDTH, _HUB_LAYERS = 110_000_000, 768, 12  # of one whose files are not here yet: the usual


@dataclass(frozen=True)
class EncoderSize:
    """``weights`` numbers, of which ``table`` are embeddings; outputs of ``width`` from ``layers`` layers."""

    weights: int
    table: int
    width: int
    layers: int


def uses_encoder(params: Mapping[str, Any]) -> bool:
    """Whether texts are read by an encoder."""
    return bool(params["model"] != HASHED_WORDS)


def encoder_size(params: Mapping[str, Any], *, datasets_dir: Path | None = None) -> EncoderSize:
    """The size of the encoder that complete ``params`` name; the usual one where it cannot be told."""
    if params["model"] == SCRATCH:
        width, layers = int(params["hidden_dim"]), int(params["num_layers"])
        table = (int(params["vocab_size"]) + int(params["max_length"]) + 4) * width
        inner = 12 * width * width + 13 * width
        return EncoderSize(table + 2 * width + layers * inner, table, width, layers)
    try:
        folder = find_source(params["model"], roots=model_roots(datasets_dir) if datasets_dir else []).folder
        if folder is not None:
            config = read_config(folder)
            width = int(config.get("hidden_size") or config.get("dim") or _HUB_WIDTH)
            layers = int(config.get("num_hidden_layers") or config.get("n_layers") or _HUB_LAYERS)
            weights = num_weights(folder)
            return EncoderSize(
                weights, min(weights, int(config.get("vocab_size") or 0) * width), width, layers
            )
    except (ModelError, OSError, ValueError, TypeError):
        pass  # what is wrong with it is said elsewhere
    return EncoderSize(_HUB_WEIGHTS, 30_522 * _HUB_WIDTH, _HUB_WIDTH, _HUB_LAYERS)


def tokens_of(characters: float, params: Mapping[str, Any]) -> float:
    """Tokens read of a text of so many characters."""
    return min(float(params["max_length"]), characters / CHARACTERS_PER_TOKEN + 2.0)
