"""InfoNCE: the query must pick its document out of all documents of the batch.

Shape suffixes: B pairs of the batch, M further negatives, N = B + M
candidates, D length of the vectors.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def info_nce(
    query_BD: Tensor,
    document_BD: Tensor,
    *,
    extra_MD: Tensor | None = None,
    masked_BN: Tensor | None = None,
    temperature: float = 0.05,
    symmetric: bool = False,
) -> Tensor:
    """Return the mean InfoNCE loss of aligned query/document pairs.

    Args:
        query_BD: unit-norm query embeddings, float, shape (B, D).
        document_BD: unit-norm positives, row i belongs to query i.
        extra_MD: further documents, negatives for every query; None for none.
        masked_BN: bool, shape (B, N); true where a candidate is no negative
            for the query because it answers it too. The positive is never masked.
        temperature: softmax temperature, dimensionless, > 0.
        symmetric: take the mean with the loss of each document finding its
            query among the B queries.
    Returns:
        Scalar tensor in nats; see :func:`chance_loss` for what guessing costs.
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
    loss = F.cross_entropy(logits_BN, target_B)
    if symmetric:
        loss = (loss + F.cross_entropy(logits_BN[:, :num_pairs].T, target_B)) / 2
    return loss


def chance_loss(
    num_pairs: int, num_extra: int, *, masked_BN: Tensor | None = None, symmetric: bool = False
) -> float:
    """What guessing costs in nats: the mean of ln(1 + negatives) over queries.

    With ``symmetric`` the mean of both directions, as the loss is.
    """
    if masked_BN is None:
        forward, backward = math.log(num_pairs + num_extra), math.log(num_pairs)
    else:
        open_BN = ~masked_BN
        forward = float(open_BN.sum(dim=1).double().log().mean())
        backward = float(open_BN[:, :num_pairs].sum(dim=0).double().log().mean())
    return (forward + backward) / 2 if symmetric else forward
