"""What a search found, compared with what it should have found: ranks, margins, measures.

Plain numpy: who searches, and in which process, is the business of :mod:`trainer.retrieval.search`.
Everything is computed over unit-norm float32 vectors, so scores are cosines.

Shape suffixes: B queries, M documents of the pool, K best of them, D length
of the vectors.  ``golds`` hold for each query the pool rows that answer it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Golds = Sequence[Sequence[int] | Ints]
Tell = Callable[[float], None]  # fraction done, 0..1

HARDEST: Final = 50  # wrong documents that separation is measured against, as many as mining draws from
NDCG_AT: Final = 10
_CHUNK: Final = 1024
_CALL_FLOPS: Final = 5e10  # one call of a search: about a second on two cores, ten on the slowest
_FEWEST_ROWS: Final = 32  # below 20 rows the search would leave its matrix product for a slower loop
_DOCUMENTS_CHUNK: Final = 16_384
TIE: Final = 1e-6  # scores this close are equal: the same vectors give them, summed in another order


class Pool(Protocol):
    """A pool of documents that can be asked for the best ones."""

    def search(self, queries_BD: Floats, *, k: int) -> tuple[Floats, Ints]:
        """Scores and rows of the ``k`` best documents per query, best first, both (B, k)."""


@dataclass(frozen=True)
class Ranking:
    """What a search found for each of B queries.

    Attributes:
        rows_BK: pool rows of the best documents, best first; -1 beyond the pool's end.
        scores_BK: their scores; -inf beyond the pool's end.
        gold_scores_B: the score of each query's best gold.
        ranks_B: rank of the best gold, from 1; documents with the same score
            count as better, so a collapsed model scores nothing; K + 1 stands
            for anything beyond K.
        negative_scores_B: the score of the best document that is no gold; NaN when K holds golds only.
        hard_negative_scores_B: mean score of the 50 best documents that are no golds; NaN likewise.
        ndcg_B: gain of all golds among the first ten, 1 when they lead; documents with the same score
            as a gold count as better.
    """

    rows_BK: Ints
    scores_BK: Floats
    gold_scores_B: Floats
    ranks_B: Ints
    negative_scores_B: Floats
    hard_negative_scores_B: Floats
    ndcg_B: NDArray[np.float64]


def rank(
    pool: Pool,
    queries_BD: Floats,
    documents_MD: Floats,
    golds: Golds,
    *,
    k: int,
    tell: Tell,
    num_kept: int | None = None,
) -> Ranking:
    """Search for every query and compare with its golds.

    Args:
        pool: holds ``documents_MD`` and can be searched.
        queries_BD: unit-norm queries.
        documents_MD: unit-norm documents.
        golds: for each query at least one pool row that answers it.
        k: how deep to look, at least 1.
        tell: called with the fraction done.
        num_kept: how many of the documents found to keep, at most ``k``; None for all.
    """
    parts = []
    size = rows_at_once(_CHUNK, documents_MD)
    for start in range(0, len(queries_BD), size):
        rows = slice(start, start + size)
        part = _rank(pool, queries_BD[rows], documents_MD, padded(golds[rows]), k=k, num_kept=num_kept or k)
        parts.append(part)
        tell(min(1.0, (start + size) / len(queries_BD)))
    return Ranking(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Ranking))
    )


def rows_at_once(most: int, documents_MD: Floats) -> int:
    """How many queries to search with in one go: ``most``, or fewer where that would take many seconds.

    The answer depends on nothing but the sizes, so the same search is made wherever it is made.
    """
    return max(_FEWEST_ROWS, min(most, int(_CALL_FLOPS / (2.0 * max(1, documents_MD.size)))))


def _rank(
    pool: Pool, queries_BD: Floats, documents_MD: Floats, golds: Ints, *, k: int, num_kept: int
) -> Ranking:
    num_documents = len(documents_MD)
    # More than the golds are needed, so that a negative is found even when all golds lead.
    depth = min(num_documents, k + golds.shape[1])
    scores_BK, rows_BK = pool.search(queries_BD, k=depth)
    is_gold_BK = is_among(rows_BK, golds)
    gold_scores_B = _gold_scores(queries_BD, documents_MD, golds, scores_BK, is_gold_BK)
    ranks_B = 1 + (~is_gold_BK & (scores_BK >= gold_scores_B[:, None] - TIE)).sum(axis=1)
    if depth < num_documents:  # as good as the last one found: there may be any number of equals behind
        ranks_B[gold_scores_B - TIE <= scores_BK[:, -1]] = k + 1
    negative_scores_B = np.where(is_gold_BK, -np.inf, scores_BK).max(axis=1)
    return Ranking(
        rows_BK=rows_BK[:, :num_kept].copy(),  # a view would keep all of them
        scores_BK=scores_BK[:, :num_kept].copy(),
        gold_scores_B=gold_scores_B,
        ranks_B=np.minimum(ranks_B, k + 1).astype(np.int64),
        negative_scores_B=np.where(np.isneginf(negative_scores_B), np.nan, negative_scores_B),
        hard_negative_scores_B=_hard_negative_scores(scores_BK, is_gold_BK, golds.shape[1]),
        ndcg_B=_ndcg(scores_BK, is_gold_BK, golds),
    )


def _hard_negative_scores(scores_BK: Floats, is_gold_BK: NDArray[np.bool_], num_golds: int) -> Floats:
    """Mean score of the first ``HARDEST`` documents that are no golds; NaN where there is none."""
    first = slice(0, HARDEST + num_golds)
    scores_BK, is_wrong_BK = scores_BK[:, first], ~is_gold_BK[:, first] & np.isfinite(scores_BK[:, first])
    is_wrong_BK &= np.cumsum(is_wrong_BK, axis=1) <= HARDEST
    sums_B = np.where(is_wrong_BK, scores_BK, 0.0).sum(axis=1)
    counts_B = is_wrong_BK.sum(axis=1)
    means: Floats = np.where(counts_B > 0, sums_B / np.maximum(counts_B, 1), np.nan).astype(np.float32)
    return means


def _ndcg(scores_BK: Floats, is_gold_BK: NDArray[np.bool_], golds: Ints) -> NDArray[np.float64]:
    """Normalised gain of the golds among the first ``NDCG_AT``; each is as relevant as the others."""
    num_golds_B = (golds >= 0).sum(axis=1)
    first = slice(0, NDCG_AT + golds.shape[1])  # behind these there is room for no gold among the first
    scores_BK, is_gold_BK = scores_BK[:, first], is_gold_BK[:, first]
    golds_before_BK: Ints = np.cumsum(is_gold_BK, axis=1) - is_gold_BK
    gains_B = np.zeros(len(scores_BK))
    for place in range(scores_BK.shape[1]):
        wrong_before_B = (~is_gold_BK & (scores_BK >= scores_BK[:, place, None] - TIE)).sum(axis=1)
        ranks_B = 1 + wrong_before_B + golds_before_BK[:, place]
        gains_B += np.where(is_gold_BK[:, place] & (ranks_B <= NDCG_AT), 1.0 / np.log2(1.0 + ranks_B), 0.0)
    ideal_N = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(2.0 + np.arange(NDCG_AT)))])
    return np.asarray(gains_B / ideal_N[np.minimum(num_golds_B, NDCG_AT)])


def _gold_scores(
    queries_BD: Floats,
    documents_MD: Floats,
    golds: Ints,
    scores_BK: Floats,
    is_gold_BK: NDArray[np.bool_],
) -> Floats:
    """Best gold's score; the search's own number where it has one, so that ties are seen as ties."""
    found_B = np.where(is_gold_BK, scores_BK, -np.inf).max(axis=1)
    missing = np.flatnonzero(np.isneginf(found_B))
    if len(missing):
        computed = np.einsum("bd,bgd->bg", queries_BD[missing], documents_MD[golds[missing]])
        found_B[missing] = np.where(golds[missing] >= 0, computed, -np.inf).max(axis=1)
        # What the search left out is no better than its last document, whatever rounding says.
        found_B[missing] = np.minimum(found_B[missing], scores_BK[missing, -1])
    scores_B: Floats = found_B.astype(np.float32)
    return scores_B


@dataclass(frozen=True)
class Comparison:
    """How each query's best gold stands among all documents; see :class:`Ranking` for the columns.

    ``losses_B`` is the cross-entropy in nats of the best gold against every
    document that is no gold. ``best_rows_BK`` are the best documents, golds
    included, best first, and ``best_scores_BK`` their scores.
    """

    ranks_B: Ints
    gold_scores_B: Floats
    negative_scores_B: Floats
    losses_B: NDArray[np.float64]
    best_rows_BK: Ints
    best_scores_BK: Floats


def compare_with_all(
    queries_BD: Floats, documents_MD: Floats, golds: Golds, *, temperature: float, num_best: int
) -> Comparison:
    """Compare the golds of a few queries with every document, however many there are.

    Args:
        queries_BD: unit-norm queries.
        documents_MD: unit-norm documents, read in chunks.
        golds: for each query at least one row of ``documents_MD``.
        temperature: softmax temperature of the loss.
        num_best: how many of the best documents to name, fewer where there are fewer.
    """
    gold_scores_B = np.array(
        [(documents_MD[some] @ query).max() for query, some in zip(queries_BD, golds, strict=True)],
        dtype=np.float32,
    )
    num_better_B = np.zeros(len(queries_BD), dtype=np.int64)
    negative_scores_B = np.full(len(queries_BD), -np.inf, dtype=np.float32)
    log_sums_B = np.full(len(queries_BD), -np.inf)
    best = (np.empty((len(queries_BD), 0), np.float32), np.empty((len(queries_BD), 0), np.int64))
    for start in range(0, len(documents_MD), _DOCUMENTS_CHUNK):
        scores_BK = queries_BD @ documents_MD[start : start + _DOCUMENTS_CHUNK].T
        best = _best_of(best, scores_BK, start=start, count=num_best)
        for scores, some in zip(scores_BK, golds, strict=True):
            places = np.asarray(some) - start
            scores[places[(places >= 0) & (places < len(scores))]] = -np.inf
        num_better_B += (scores_BK >= gold_scores_B[:, None] - TIE).sum(axis=1)
        negative_scores_B = np.maximum(negative_scores_B, scores_BK.max(axis=1))
        log_sums_B = np.logaddexp(log_sums_B, _log_sums(scores_BK.astype(np.float64) / temperature))
    gold_logits_B = gold_scores_B.astype(np.float64) / temperature
    return Comparison(
        ranks_B=1 + num_better_B,
        gold_scores_B=gold_scores_B,
        negative_scores_B=np.where(np.isneginf(negative_scores_B), np.nan, negative_scores_B),
        losses_B=np.logaddexp(log_sums_B, gold_logits_B) - gold_logits_B,
        best_rows_BK=best[1],
        best_scores_BK=best[0],
    )


def _best_of(
    before: tuple[Floats, Ints], scores_BK: Floats, *, start: int, count: int
) -> tuple[Floats, Ints]:
    """The best of those found ``before`` and of the documents from ``start`` on; of equals the first row."""
    kept = min(count, scores_BK.shape[1])
    places_BK = np.sort(np.argpartition(-scores_BK, kept - 1, axis=1)[:, :kept], axis=1)
    scores = np.concatenate([before[0], np.take_along_axis(scores_BK, places_BK, axis=1)], axis=1)
    rows = np.concatenate([before[1], places_BK + start], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _log_sums(logits_BK: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(sum(exp)) of each row; -inf where all are -inf."""
    highest_B = np.maximum(logits_BK.max(axis=1), -1e300)
    with np.errstate(divide="ignore"):
        sums: NDArray[np.float64] = highest_B + np.log(np.exp(logits_BK - highest_B[:, None]).sum(axis=1))
    return sums


def is_among(rows_BK: Ints, golds: Ints) -> NDArray[np.bool_]:
    """Whether each row is one of its query's golds, shape (B, K)."""
    found = np.zeros(rows_BK.shape, dtype=bool)
    for column in range(golds.shape[1]):
        found |= (rows_BK == golds[:, column, None]) & (rows_BK >= 0)
    return found


def padded(golds: Golds) -> Ints:
    """Lists of golds as one array, padded with -1, shape (B, G)."""
    table = np.full((len(golds), max((len(some) for some in golds), default=1)), -1, dtype=np.int64)
    for row, some in enumerate(golds):
        table[row, : len(some)] = some
    return table
