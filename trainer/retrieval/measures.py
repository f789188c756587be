"""What is published of a ranking: how often, how early and how clearly the right document is found.

Everything is a mean over queries.  Ties count against the model everywhere, so
one that gives all documents the same vector scores nothing.

Shape suffixes: B queries, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.ranking import TIE, Floats, Golds, Ints, Pool, Ranking, is_among, padded, rows_at_once

RECALL_AT: Final = (1, 5, 10, 50, 100, 500, 1000)
CONTAIN_AT: Final = (20, 50)
MRR_AT: Final = 10
DEPTH: Final = max(RECALL_AT)
ORACLE_SAMPLE: Final = 500
_CHUNK: Final = 1024


def measures(ranking: Ranking) -> dict[str, float]:
    """The measures of a ranking that is ``DEPTH`` deep, or as deep as the pool.

    - ``recall@k``: share of the queries with one of their golds among the best k.
    - ``mrr``, ``mrr@10``: mean of 1 / rank of the best gold, 0 beyond 1000 or 10.
    - ``ndcg@10``: gain of all golds among the first ten, against the best there could be.
    - ``cos_positive``, ``cos_hard_negative``, ``separation``: mean cosine of the best gold, of the 50
      hardest wrong documents, and the difference.
    - ``margin``: mean cosine of the best gold minus that of the single hardest wrong document.
    """
    values = {f"recall@{k}": float((ranking.ranks_B <= k).mean()) for k in RECALL_AT}
    reciprocal = 1.0 / ranking.ranks_B
    values["mrr"] = float(np.where(ranking.ranks_B <= DEPTH, reciprocal, 0.0).mean())
    values[f"mrr@{MRR_AT}"] = float(np.where(ranking.ranks_B <= MRR_AT, reciprocal, 0.0).mean())
    values["ndcg@10"] = float(ranking.ndcg_B.mean())
    values["margin"] = _mean(ranking.gold_scores_B - ranking.negative_scores_B)
    values["cos_positive"] = _mean(ranking.gold_scores_B)
    values["cos_hard_negative"] = _mean(ranking.hard_negative_scores_B)
    values["separation"] = _mean(ranking.gold_scores_B - ranking.hard_negative_scores_B)
    return values


def served_ranks(pool: Pool, queries_BD: Floats, documents_MD: Floats, golds: Golds, *, k: int) -> Ints:
    """Place of the best gold in the list that ``pool`` serves, from 1; ``k`` + 1 where it is not in it.

    Other than :func:`trainer.retrieval.ranking.rank` this knows nothing but
    what was served, so it tells what an approximate index misses.
    """
    parts = []
    size = rows_at_once(_CHUNK, documents_MD)
    for start in range(0, len(queries_BD), size):
        some = padded(golds[start : start + size])
        depth = min(len(documents_MD), k + some.shape[1])
        scores_BK, rows_BK = pool.search(queries_BD[start : start + size], k=depth)
        is_gold_BK = is_among(rows_BK, some)
        gold_B = np.where(is_gold_BK, scores_BK, -np.inf).max(axis=1)
        is_before_BK = ~is_gold_BK & (rows_BK >= 0) & (scores_BK >= gold_B[:, None] - TIE)
        ranks_B = np.where(np.isneginf(gold_B), k + 1, 1 + is_before_BK.sum(axis=1))
        parts.append(np.minimum(ranks_B, k + 1).astype(np.int64))
    ranks: Ints = np.concatenate(parts)
    return ranks


def contain(ranks_B: Ints) -> dict[str, float]:
    """contain@k for each of ``CONTAIN_AT``: share of the queries whose served list of k holds a gold."""
    return {f"contain@{k}": float((ranks_B <= k).mean()) for k in CONTAIN_AT}


def overlap(exact_BK: Ints, served_BK: Ints) -> float:
    """Share of the exact best documents that were served, both (B, K) with -1 beyond the pool's end."""
    wanted_BK = exact_BK >= 0
    return float((is_among(exact_BK, served_BK) & wanted_BK).sum() / max(1, int(wanted_BK.sum())))


def oracle(pool: Pool, documents_MD: Floats) -> float:
    """Share of documents that come back first, and alone, when they are asked for with their own vector.

    Below 1 the index, or the document tower, cannot tell documents apart, and
    no query tower could do better. At most ``ORACLE_SAMPLE`` are asked, spread evenly.
    """
    count = min(ORACLE_SAMPLE, len(documents_MD))
    rows_B = np.linspace(0, len(documents_MD) - 1, count).astype(np.int64)
    scores_BK, found_BK = pool.search(documents_MD[rows_B], k=min(2, len(documents_MD)))
    is_first_B = found_BK[:, 0] == rows_B
    if scores_BK.shape[1] > 1:
        is_first_B &= scores_BK[:, 1] < scores_BK[:, 0] - TIE
    return float(is_first_B.mean())


def _mean(values_B: NDArray[np.float32]) -> float:
    return float(np.nanmean(values_B)) if not np.isnan(values_B).all() else float("nan")
