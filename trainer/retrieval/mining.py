"""Near-miss mining: documents the model ranks high for a query although they do not answer it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.ranking import Floats, Golds, Ints, Pool, Tell, is_among, padded, rows_at_once

_CHUNK: Final = 512
_DUPLICATE_COSINE: Final = 0.9999  # two documents this close are one document to this model


def mine_near_misses(
    pool: Pool,
    queries_BD: Floats,
    documents_MD: Floats,
    golds: Golds,
    *,
    depth: int,
    count: int,
    seed: int | list[int],
    tell: Tell,
) -> Ints:
    """Draw ``count`` of the ``depth`` best-ranked wrong documents of every query.

    Golds are excluded, and so is whatever the model cannot tell from the gold
    (a duplicate would be a false negative).

    Args:
        pool: holds ``documents_MD`` and can be searched.
        queries_BD: unit-norm queries, one per training row.
        documents_MD: unit-norm documents.
        golds: for each query the pool rows that answer it, at least one.
        depth: how many wrong documents to choose from, at least ``count``.
        count: near misses per query.
        seed: the same seed draws the same ones.
        tell: called with the fraction done.
    Returns:
        Pool rows, shape (B, count), row i belongs to query i; -1 where there were too few.
    """
    size = rows_at_once(_CHUNK, documents_MD)
    generator = np.random.default_rng(seed)
    mined_BK = np.full((len(queries_BD), count), -1, dtype=np.int64)
    for start in range(0, len(queries_BD), size):
        rows = slice(start, start + size)
        golds_BK = padded(golds[rows])
        _, found_BK = pool.search(queries_BD[rows], k=min(len(documents_MD), depth + golds_BK.shape[1]))
        wrong_BK = (found_BK >= 0) & ~is_among(found_BK, golds_BK)
        wrong_BK &= ~_duplicates(documents_MD, found_BK, golds_BK)
        wrong_BK &= np.cumsum(wrong_BK, axis=1) <= depth
        # A random order of the allowed ones: their keys are positive, all others sort behind.
        keys_BK = np.where(wrong_BK, generator.random(wrong_BK.shape), -1.0)
        order_BK = np.argsort(-keys_BK, axis=1, kind="stable")[:, :count]
        drawn_BK = np.take_along_axis(found_BK, order_BK, axis=1)
        drawn_BK[np.take_along_axis(keys_BK, order_BK, axis=1) < 0] = -1
        mined_BK[rows, : drawn_BK.shape[1]] = drawn_BK
        tell(min(1.0, (start + size) / len(queries_BD)))
    return mined_BK


def _duplicates(documents_MD: Floats, found_BK: Ints, golds_BK: Ints) -> NDArray[np.bool_]:
    """Where a found document has the same vector as one of the query's golds."""
    found = documents_MD[found_BK]
    same_BK = np.zeros(found_BK.shape, dtype=bool)
    for gold_B in golds_BK.T:
        cosines_BK = np.einsum("bkd,bd->bk", found, documents_MD[gold_B])
        same_BK |= (cosines_BK >= _DUPLICATE_COSINE) & (gold_B >= 0)[:, None]
    return same_BK
