"""The towers: from a bag of features, a sequence of vectors or one vector to a unit vector.

Shape suffixes: B rows of a batch, T vectors of a sequence, D length of the
input vectors or of the output, F features of all rows together.
"""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


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

    def forward(self, ids_F: Tensor, starts_B: Tensor) -> Tensor:  # noqa: N803
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
    """A GRU over the sequence, the mean of its outputs, a linear layer."""

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
            num_layers=num_layers,
            bidirectional=bidirectional,
            batch_first=True,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        self.project = nn.Linear(hidden_dim * (2 if bidirectional else 1), dim)

    def forward(self, vectors_BTD: Tensor) -> Tensor:
        """Unit vectors (B, dim) of sequences (B, T, D)."""
        states_BTD, _ = self.gru(vectors_BTD)
        projected: Tensor = self.project(states_BTD.mean(dim=1))
        return F.normalize(projected, dim=-1)


class LinearTower(nn.Module):
    """One linear layer."""

    def __init__(self, input_dim: int, *, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(input_dim, dim)

    def forward(self, vectors_BD: Tensor) -> Tensor:
        """Unit vectors (B, dim) of vectors (B, D)."""
        projected: Tensor = self.project(vectors_BD)
        return F.normalize(projected, dim=-1)


class IdentityTower(nn.Module):
    """Leaves the vectors as they are, but for their length."""

    def forward(self, vectors_BD: Tensor) -> Tensor:
        """Unit vectors (B, D)."""
        return F.normalize(vectors_BD, dim=-1)
