"""Both towers together: built from the recipe's parameters, optimised, asked for vectors.

Shape suffixes: N rows, D length of the vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer, SparseAdam

from trainer.datasets.records import DatasetError
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.inputs import Inputs
from trainer.tasks.two_tower.towers import (
    BagTower,
    GruTower,
    IdentityTower,
    LinearTower,
    MlpTower,
    make_table,
)


class TwoTowers:
    """A query tower and a document tower on one device."""

    def __init__(self, query: nn.Module, document: nn.Module, *, device: torch.device) -> None:
        self.query = query.to(device)
        self.document = document.to(device)
        self.device = device

    def modules(self) -> dict[str, nn.Module]:
        """The towers by the name they are saved under."""
        return {"query_tower": self.query, "document_tower": self.document}

    def train(self, mode: bool = True) -> None:
        """Switch both towers between training and asking."""
        self.query.train(mode)
        self.document.train(mode)

    def to_device(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """A tower's arguments on its device."""
        return tuple(tensor.to(self.device, non_blocking=True) for tensor in tensors)

    def version(self) -> tuple[int, ...]:
        """Changes whenever any weight is written to: torch counts the writes of every tensor."""
        return tuple(
            int(parameter._version) for module in self.modules().values() for parameter in module.parameters()
        )

    @torch.no_grad()
    def vectors(self, tower: nn.Module, inputs: Inputs, rows: Ints, *, chunk: int) -> NDArray[np.float32]:
        """Unit vectors (N, D) of ``rows`` in their order, without dropout."""
        was_training = tower.training
        tower.eval()
        try:
            parts = [
                tower(*self.to_device(inputs.take(rows[start : start + chunk]))).float().cpu().numpy()
                for start in range(0, len(rows), chunk)
            ]
        finally:
            tower.train(was_training)
        vectors: NDArray[np.float32] = np.concatenate(parts)
        return vectors


def text_towers(params: TwoTowerParams, device: torch.device) -> TwoTowers:
    """Towers over hashed texts; with ``share_towers`` both read with one table."""
    sparse = device.type != "mps"  # that backend has no sparse gradients
    query_table = make_table(params.num_buckets, params.dim, sparse=sparse)
    document_table = (
        query_table if params.share_towers else make_table(params.num_buckets, params.dim, sparse=sparse)
    )
    return TwoTowers(
        BagTower(query_table, hidden_dim=params.hidden_dim),
        BagTower(document_table, hidden_dim=params.hidden_dim),
        device=device,
    )


def vector_towers(
    params: TwoTowerParams, *, query_dim: int, document_dim: int, device: torch.device
) -> TwoTowers:
    """Towers over vectors; with ``share_towers`` one mlp reads both sides.

    Raises:
        DatasetError: the towers asked for do not fit the vectors.
    """
    dim = params.dim
    document: nn.Module
    if params.document_tower == "identity":
        _check_identity("document", document_dim, dim, "linear")
        document = IdentityTower()
    elif params.document_tower == "mlp":
        document = MlpTower(document_dim, hidden_dim=params.hidden_dim, dim=dim)
    else:
        document = LinearTower(document_dim, dim=dim)
    if params.share_towers and (params.query_tower, params.document_tower) == ("mlp", "mlp"):
        if query_dim != document_dim:
            raise DatasetError(
                f"query_vectors have length {query_dim} and document_vectors {document_dim}, so one mlp "
                "cannot read both: switch share_towers off"
            )
        return TwoTowers(document, document, device=device)
    return TwoTowers(_query_tower(params, query_dim), document, device=device)


def _query_tower(params: TwoTowerParams, query_dim: int) -> nn.Module:
    if params.query_tower == "identity":
        _check_identity("query", query_dim, params.dim, "mlp")
        return IdentityTower()
    if params.query_tower == "mlp":
        return MlpTower(query_dim, hidden_dim=params.hidden_dim, dim=params.dim)
    return GruTower(
        query_dim,
        hidden_dim=params.hidden_dim,
        dim=params.dim,
        num_layers=params.num_layers,
        bidirectional=params.bidirectional,
        dropout=params.dropout,
    )


def _check_identity(side: str, length: int, dim: int, instead: str) -> None:
    if length != dim:
        raise DatasetError(
            f"{side}_vectors have length {length} and dim is {dim}; an identity {side} tower "
            f"needs both equal: set dim to {length}, or {side}_tower to {instead}"
        )


def build_optimizers(towers: TwoTowers, params: TwoTowerParams) -> list[Optimizer]:
    """SparseAdam for embedding tables with sparse gradients, AdamW for the rest; each weight once."""
    tables: dict[int, nn.Parameter] = {}
    dense: dict[int, nn.Parameter] = {}
    for root in towers.modules().values():
        for module in root.modules():
            is_table = isinstance(module, nn.EmbeddingBag)
            for parameter in module.parameters(recurse=False):
                (tables if is_table else dense)[id(parameter)] = parameter
    optimizers: list[Optimizer] = []
    if tables and towers.device.type != "mps":
        optimizers.append(SparseAdam(list(tables.values()), lr=params.embedding_learning_rate))
    elif tables:
        optimizers.append(AdamW(list(tables.values()), lr=params.embedding_learning_rate, weight_decay=0.0))
    if dense:
        optimizers.append(AdamW(_rate_groups(towers, dense, params), weight_decay=params.weight_decay))
    return optimizers


def _rate_groups(
    towers: TwoTowers, dense: dict[int, nn.Parameter], params: TwoTowerParams
) -> list[dict[str, Any]]:
    """Weights that were trained before take smaller steps than those that begin here."""
    known: dict[int, nn.Parameter] = {}
    for tower in towers.modules().values():
        if getattr(tower, "is_pretrained", False):
            known.update((id(one), one) for one in tower.get_submodule("encoder").parameters())
    rest = [parameter for key, parameter in dense.items() if key not in known]
    groups = [{"params": rest, "lr": params.learning_rate}]
    if known:
        groups.append({"params": list(known.values()), "lr": params.encoder_learning_rate})
    return groups
