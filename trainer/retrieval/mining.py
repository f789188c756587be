"""Near-miss mining: documents the model ranks high for a query although they do not answer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from trainer.retrieval.exact import ExactIndex, Floats, Ints, is_among

_CHUNK: Final = 1024
_DUPLICATE_COSINE: Final = 0.9999  # two documents this close are one document to this model


def mine_near_misses(
    queries_BD: Floats,
    documents_MD: Floats,
    golds: Ints,
    *,
    depth: int,
    count: int,
    seed: int | list[int],
    tell: Callable[[float], None],
) -> Ints:
    """Draw ``count`` of the ``depth`` best-ranked wrong documents of every query.

    Golds are excluded, and so is whatever the model cannot tell from the gold
    (a duplicate would be a false negative).

    Args:
        queries_BD: unit-norm queries, one per training row.
        documents_MD: unit-norm documents of the pool.
        golds: pool rows that answer each query, the pair's own first, padded with -1.
        depth: how many wrong documents to choose from, at least ``count``.
        count: near misses per query.
        seed: the same seed draws the same ones.
        tell: called with the fraction done.
    Returns:
        Pool rows, shape (B, count), row i belongs to query i; -1 where there were too few.
    """
    index = ExactIndex(documents_MD)
    generator = np.random.default_rng(seed)
    mined_BK = np.full((len(queries_BD), count), -1, dtype=np.int64)
    for start in range(0, len(queries_BD), _CHUNK):
        rows = slice(start, start + _CHUNK)
        _, found_BK = index.search(queries_BD[rows], k=min(len(index), depth + golds.shape[1]))
        wrong_BK = (found_BK >= 0) & ~is_among(found_BK, golds[rows])
        wrong_BK &= ~_duplicates(documents_MD, found_BK, golds[rows, 0])
        wrong_BK &= np.cumsum(wrong_BK, axis=1) <= depth
        # A random order of the allowed ones: their keys are positive, all others sort behind.
        keys_BK = np.where(wrong_BK, generator.random(wrong_BK.shape), -1.0)
        order_BK = np.argsort(-keys_BK, axis=1, kind="stable")[:, :count]
        drawn_BK = np.take_along_axis(found_BK, order_BK, axis=1)
        drawn_BK[np.take_along_axis(keys_BK, order_BK, axis=1) < 0] = -1
        mined_BK[rows, : drawn_BK.shape[1]] = drawn_BK
        tell(min(1.0, (start + _CHUNK) / len(queries_BD)))
    return mined_BK


def _duplicates(
    documents_MD: Floats, found_BK: Ints, gold_B: Ints
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    cosines_BK = np.einsum("bkd,bd->bk", documents_MD[found_BK], documents_MD[gold_B])
    return np.asarray(cosines_BK >= _DUPLICATE_COSINE)
