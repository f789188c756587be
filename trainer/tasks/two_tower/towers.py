"""The towers: from a bag of features, a sequence of vectors or one vector to a unit vector.

Shape suffixes: B rows of a batch, T vectors of a sequence, D length of the
input vectors or of the output, F features of all rows together.
"""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

_SPREAD: Final = 0x632BE59BD9B4E019  # odd constants that mix bits well, below 2**63
_STEP: Final = 0x1E3779B97F4A7C15
_FACTORS: Final = (0x3F58476D1CE4E5B9, 0x14D049BB133111EB)


class BagTower(nn.Module):
    """Mean of the features' embeddings, then a residual MLP."""

    def __init__(self, table: nn.EmbeddingBag, *, hidden_dim: int) -> None:
        super().__init__()
        dim = table.embedding_dim
        self.table = table
        self.norm = nn.LayerNorm(dim)
        self.inner = nn.Linear(dim, hidden_dim)
        self.outer = nn.Linear(hidden_dim, dim)
        nn.init.zeros_(self.outer.weight)  # starts as the identity: first the words, then their combinations
        nn.init.zeros_(self.outer.bias)

    def forward(self, ids_F: Tensor, starts_B: Tensor) -> Tensor:
        """Unit vectors (B, D) of bags: row i has the ids from ``starts_B[i]`` to the next start."""
        mean_BD: Tensor = self.norm(self.table(ids_F, starts_B))
        changed_BD: Tensor = self.outer(F.gelu(self.inner(mean_BD)))
        return F.normalize(mean_BD + changed_BD, dim=-1)


def make_table(num_buckets: int, dim: int, *, sparse: bool) -> nn.EmbeddingBag:
    """An embedding table for :class:`BagTower`; sparse gradients touch only the rows that were read."""
    table = nn.EmbeddingBag(num_buckets, dim, mode="mean", sparse=sparse)
    nn.init.normal_(table.weight, std=0.1)
    return table


class GruTower(nn.Module):
    """A GRU over the sequence, the mean of its outputs, a linear layer.

    Between the layers of the GRU units are dropped, in training; which ones
    depends on each row's seed only.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        hidden_dim: int,
        dim: int,
        num_layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.gru = nn.GRU(
            input_dim,
            hidden_dim,
            bidirectional=bidirectional,
            batch_first=True,
        )
        width = hidden_dim * (2 if bidirectional else 1)
        self.further = nn.ModuleList(
            nn.GRU(width, hidden_dim, bidirectional=bidirectional, batch_first=True)
            for _ in range(num_layers - 1)
        )
        self.dropout = dropout
        self.project = nn.Linear(width, dim)

    def forward(self, vectors_BTD: Tensor, seeds_B: Tensor | None = None) -> Tensor:
        """Unit vectors (B, dim) of sequences (B, T, D); nothing is dropped without seeds."""
        states_BTD, _ = self.gru(vectors_BTD)
        for layer, gru in enumerate(self.further):
            if seeds_B is not None and self.training and self.dropout > 0:
                states_BTD = dropped(states_BTD, seeds_B + layer, share=self.dropout)
            states_BTD, _ = gru(states_BTD)
        projected: Tensor = self.project(states_BTD.mean(dim=1))
        return F.normalize(projected, dim=-1)


def dropped(values_BTD: Tensor, seeds_B: Tensor, *, share: float) -> Tensor:
    """Dropout as a function of each row's seed and of the place in the row.

    torch's own draws one stream for the whole batch, so a row would lose other
    units when it is read with fewer rows. Integer arithmetic wraps around.

    Args:
        values_BTD: float values, shape (B, T, D).
        seeds_B: int64, one per row.
        share: of the values to be dropped, 0 up to below 1; the others are scaled up for them.
    """
    _, length, width = values_BTD.shape
    places_TD = torch.arange(length * width, device=values_BTD.device).view(1, length, width)
    mixed_BTD = seeds_B.view(-1, 1, 1) * _SPREAD + places_TD * _STEP
    for factor in _FACTORS:
        mixed_BTD = (mixed_BTD ^ (mixed_BTD >> 29)) * factor
    keep_BTD = ((mixed_BTD >> 32) & (2**24 - 1)) >= int(share * 2**24)
    return values_BTD * keep_BTD / (1.0 - share)


class LinearTower(nn.Module):
    """One linear layer."""

    def __init__(self, input_dim: int, *, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(input_dim, dim)

    def forward(self, vectors_BD: Tensor) -> Tensor:
        """Unit vectors (B, dim) of vectors (B, D)."""
        projected: Tensor = self.project(vectors_BD)
        return F.normalize(projected, dim=-1)


class MlpTower(nn.Module):
    """Linear, GELU, layer norm, linear; of a sequence the mean is read."""

    def __init__(self, input_dim: int, *, hidden_dim: int, dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(input_dim, hidden_dim)
        self.norm = nn.LayerNorm(hidden_dim)
        self.outer = nn.Linear(hidden_dim, dim)

    def forward(self, vectors: Tensor) -> Tensor:
        """Unit vectors (B, dim) of vectors (B, D) or sequences (B, T, D)."""
        hidden_BD: Tensor = self.norm(F.gelu(self.inner(_mean(vectors))))
        projected: Tensor = self.outer(hidden_BD)
        return F.normalize(projected, dim=-1)


class IdentityTower(nn.Module):
    """Leaves the vectors as they are, but for their length; of a sequence the mean is taken."""

    def forward(self, vectors: Tensor) -> Tensor:
        """Unit vectors (B, D) of vectors (B, D) or sequences (B, T, D)."""
        return F.normalize(_mean(vectors), dim=-1)


def _mean(vectors: Tensor) -> Tensor:
    return vectors.mean(dim=1) if vectors.ndim == 3 else vectors
