"""Texts that come after the dataset, as an encoder reads them, and the encoders of an export.

Importing this module takes seconds; only a run that asks for an encoder does.

Shape suffixes: N texts, D length of the encoder's vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedTokenizerFast

from trainer.datasets.records import Tell
from trainer.language.loading import keep_quiet
from trainer.language.token_cache import tokens_of
from trainer.tasks.two_tower.encoder_tower import TokenInputs, mean_of
from trainer.tasks.two_tower.inputs import Inputs, VectorInputs

ONE: Final = "encoder"
QUERY, DOCUMENT = "query_encoder", "document_encoder"
_CHUNK: Final = 64


class TokenReader:
    """Tokenises, and where the encoder is frozen reads; implements ``TextReader``."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, *, max_length: int, frozen: nn.Module | None
    ) -> None:
        """Prepare.

        Args:
            tokenizer: the encoder's.
            max_length: tokens read of each text.
            frozen: the encoder whose vectors the towers read; None where each tower has its own.
        """
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._frozen = frozen

    def inputs(self, texts: Sequence[str]) -> Inputs:
        """Tokens, or what the frozen encoder makes of them."""
        tokens = TokenInputs(
            tokens_of(texts, self._tokenizer, tell=_nobody),
            max_length=self._max_length,
            padding=int(self._tokenizer.pad_token_id),
        )
        return tokens if self._frozen is None else VectorInputs(read_all(self._frozen, tokens, "", _nobody))

    def encoders(self, towers: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
        """One where both towers read with it, else one for each."""
        if self._frozen is not None:
            return {ONE: self._frozen}
        query, document = (towers[f"{side}_tower"].get_submodule("encoder") for side in ("query", "document"))
        return {ONE: query} if query is document else {QUERY: query, DOCUMENT: document}

    def write(self, encoder: nn.Module, folder: Path) -> None:
        """The encoder's weights and configuration, and the tokenizer."""
        keep_quiet()
        model: Any = encoder
        model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)


@torch.no_grad()
def read_all(encoder: nn.Module, inputs: TokenInputs, name: str, tell: Tell) -> NDArray[np.float32]:
    """What an encoder makes of every text, shape (N, D)."""
    device = next(encoder.parameters()).device
    parts = []
    for start in range(0, len(inputs), _CHUNK):
        tell(f"reading {name} with the encoder", start / len(inputs))
        rows = np.arange(start, min(start + _CHUNK, len(inputs)), dtype=np.int64)
        ids_BT, lengths_B = inputs.take(rows)
        parts.append(mean_of(encoder, ids_BT.to(device), lengths_B.to(device)).float().cpu().numpy())
    vectors: NDArray[np.float32] = np.concatenate(parts)
    return vectors


def _nobody(detail: str, fraction: float) -> None:
    """A few texts are read at once."""
