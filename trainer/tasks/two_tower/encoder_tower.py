"""A tower over tokens: a Hugging Face encoder, the mean of its outputs, a linear layer.

Shape suffixes: B rows of a batch, T tokens of the longest of them, D length of
the encoder's or of the tower's vectors.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainer.language.token_cache import TokenRows
from trainer.tasks.two_tower.features import Ints


class TokenInputs:
    """Texts as tokens, cut to a length; implements :class:`trainer.tasks.two_tower.inputs.Inputs`."""

    def __init__(self, rows: TokenRows, *, max_length: int, padding: int) -> None:
        """Prepare.

        Args:
            rows: the tokens of every text.
            max_length: what is read of each; the last token, which ends a text, is kept.
            padding: the token that fills shorter rows up, which the encoder does not look at.
        """
        self._rows = rows
        self._max_length = max_length
        self._padding = padding

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def num_cut(self) -> int:
        """Texts that are longer than what is read of them."""
        return int((self._rows.lengths_N > self._max_length).sum())

    def take(self, rows: Ints, *, noise: np.random.Generator | None = None) -> tuple[Tensor, ...]:
        """Token ids (B, T) and the length (B,) of each row; nothing is dropped."""
        lengths = np.minimum(self._rows.lengths_N[rows], self._max_length)
        ids = np.full((len(rows), max(1, int(lengths.max(initial=1)))), self._padding, dtype=np.int64)
        for place, row in enumerate(rows.tolist()):
            tokens = self._rows.ids(row)
            ids[place, : lengths[place]] = tokens[: lengths[place]]
            if len(tokens) > self._max_length:
                ids[place, self._max_length - 1] = tokens[-1]
        return torch.from_numpy(ids), torch.from_numpy(lengths)

    def part(self, arguments: tuple[Tensor, ...], rows: slice) -> tuple[Tensor, ...]:
        """The tokens of ``rows``, no wider than the longest of them."""
        ids_BT, lengths_B = arguments
        lengths = lengths_B[rows]
        return ids_BT[rows, : max(1, int(lengths.max()))], lengths


class EncoderTower(nn.Module):
    """Reads tokens.

    The encoder's own dropout stays off: it draws from one stream for the whole
    batch, so a row would get another vector when it is read with other rows.
    """

    def __init__(self, encoder: Any, *, dim: int, is_pretrained: bool) -> None:
        super().__init__()
        self.encoder: nn.Module = encoder
        self.project = nn.Linear(int(encoder.config.hidden_size), dim)
        self.is_pretrained = is_pretrained

    def train(self, mode: bool = True) -> Self:
        """Switch everything but the encoder's dropout."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, ids_BT: Tensor, lengths_B: Tensor) -> Tensor:
        """Unit vectors (B, dim) of token ids (B, T), of which each row has so many."""
        projected: Tensor = self.project(mean_of(self.encoder, ids_BT, lengths_B))
        return F.normalize(projected, dim=-1)


def mean_of(encoder: nn.Module, ids_BT: Tensor, lengths_B: Tensor) -> Tensor:
    """The mean (B, D) of the encoder's last outputs over the tokens of each row."""
    places = torch.arange(ids_BT.shape[1], device=ids_BT.device)
    mask_BT = (places[None, :] < lengths_B[:, None]).to(torch.long)
    states_BTD: Tensor = encoder(input_ids=ids_BT, attention_mask=mask_BT).last_hidden_state
    sums_BD = (states_BTD * mask_BT[:, :, None]).sum(dim=1)
    return sums_BD / lengths_B[:, None].clamp(min=1)
