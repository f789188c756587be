"""InfoNCE: the query must pick its document out of all documents of the batch, and of those kept beside it.

Shape suffixes: B pairs of the batch, M further negatives, N = B + M
candidates, K vectors of a memory bank, D length of the vectors.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from trainer.tasks.two_tower.memory_bank import BankNegatives


def info_nce(
    query_BD: Tensor,
    document_BD: Tensor,
    *,
    extra_MD: Tensor | None = None,
    masked_BN: Tensor | None = None,
    bank: BankNegatives | None = None,
    temperature: float = 0.05,
    symmetric: bool = False,
    margin: float = 0.0,
) -> Tensor:
    """Return the mean InfoNCE loss of aligned query/document pairs.

    Args:
        query_BD: unit-norm query embeddings, float, shape (B, D).
        document_BD: unit-norm positives, row i belongs to query i.
        extra_MD: further documents, negatives for every query; None for none.
        masked_BN: bool, shape (B, N); true where a candidate is no negative
            for the query because it answers it too. The positive is never masked.
        bank: further negatives that nothing is passed back through; None for none.
        temperature: softmax temperature, dimensionless, > 0.
        symmetric: take the mean with the loss of each document finding its
            query among the B queries.
        margin: in logits (cosines / temperature); each query adds what its
            positive lacks to be this much above its best negative.
    Returns:
        Scalar tensor in nats; see :func:`chance_loss`.
    Raises:
        ValueError: shapes differ, or temperature is not positive.
    Source:
        van den Oord et al., 2018, eq. 4, https://arxiv.org/abs/1807.03748
    """
    if query_BD.shape != document_BD.shape:
        raise ValueError(f"queries {tuple(query_BD.shape)} and documents {tuple(document_BD.shape)} differ")
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    candidates = document_BD if extra_MD is None else torch.cat([document_BD, extra_MD])
    logits_BN = query_BD @ candidates.T / temperature
    if masked_BN is not None:
        logits_BN = logits_BN.masked_fill(masked_BN, -math.inf)
    num_pairs = len(query_BD)
    target_B = torch.arange(num_pairs, device=query_BD.device)
    all_BN = logits_BN
    if bank is not None:
        kept_BK = (query_BD @ bank.vectors_KD.T / temperature).masked_fill(bank.closed_BK, -math.inf)
        all_BN = torch.cat([logits_BN, kept_BK], dim=1)
    loss = F.cross_entropy(all_BN, target_B)
    if symmetric:
        loss = (loss + F.cross_entropy(logits_BN[:, :num_pairs].T, target_B)) / 2
    return loss + _hinge(all_BN, margin) if margin > 0 else loss


def _hinge(logits_BN: Tensor, margin: float) -> Tensor:
    """What positives, on the diagonal, lack on average to be ``margin`` above the best other candidate."""
    positive_B = logits_BN.diagonal()
    own_BN = torch.zeros_like(logits_BN, dtype=torch.bool)
    own_BN.fill_diagonal_(True)
    best_B = logits_BN.masked_fill(own_BN, -math.inf).amax(dim=1)
    return F.relu(margin - positive_B + best_B).mean()


def chance_loss(
    num_pairs: int,
    num_extra: int,
    *,
    masked_BN: Tensor | None = None,
    bank: BankNegatives | None = None,
    symmetric: bool = False,
    margin: float = 0.0,
) -> float:
    """What guessing costs in nats: the mean of ln(1 + negatives) over queries.

    That is the loss of vectors that are all alike, so ``margin`` (in logits)
    comes on top. With ``symmetric`` the mean of both directions, as the loss is.
    """
    backward = math.log(num_pairs)
    open_B = np.full(1, num_pairs + num_extra, dtype=np.int64)
    if masked_BN is not None:
        open_BN = ~masked_BN
        open_B = open_BN.sum(dim=1).numpy()
        backward = float(open_BN[:, :num_pairs].sum(dim=0).double().log().mean())
    if bank is not None:
        open_B = open_B + bank.num_open_B
    forward = float(np.log(open_B).mean())
    base = (forward + backward) / 2 if symmetric else forward
    return base + margin * float((open_B > 1).mean())


def mean_negatives(
    num_pairs: int, num_extra: int, *, masked_BN: Tensor | None, bank: BankNegatives | None
) -> float:
    """How many negatives a query has on average, whatever they are."""
    candidates = float(num_pairs + num_extra)
    if masked_BN is not None:
        candidates -= float(masked_BN.sum()) / num_pairs
    return candidates - 1.0 + (0.0 if bank is None else float(bank.num_open_B.mean()))
