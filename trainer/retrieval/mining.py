"""Near-miss mining: documents the model ranks high for a query although they do not answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.ranking import Floats, Golds, Ints, Pool, Tell, is_among, padded, rows_at_once

_CHUNK: Final = 512
_DEEPER: Final = 4  # times deeper, where a window of cosines lies below what was found
_DEEPEST: Final = 2048  # what ranks behind so many is near to nothing
_DEEP_ENTRIES: Final = 500_000  # of a search result at once
_PAIRS: Final = 65_536  # of documents compared at once
DUPLICATE_COSINE: Final = 0.9999  # two documents this close are one document to this model


@dataclass(frozen=True)
class Wanted:
    """Which wrong documents are near misses.

    Attributes:
        depth: how many of the best to choose from, at least ``count``.
        count: near misses per query.
        duplicate_cosine: a document with at least this cosine to a gold is a copy of it.
        lowest: least cosine to the query; ``highest`` likewise.
    """

    depth: int
    count: int
    duplicate_cosine: float = DUPLICATE_COSINE
    lowest: float = -1.0
    highest: float = 1.0

    @property
    def has_window(self) -> bool:
        """Whether cosines to the query are restricted."""
        return (self.lowest, self.highest) != (-1.0, 1.0)


def mine_near_misses(
    pool: Pool,
    queries_BD: Floats,
    documents_MD: Floats,
    golds: Golds,
    *,
    wanted: Wanted,
    seed: int | list[int],
    tell: Tell,
) -> Ints:
    """Draw some of the best-ranked wrong documents of every query.

    Golds are excluded, and so is whatever the model cannot tell from a gold
    (a duplicate would be a false negative). With a window of cosines the best
    documents inside it are meant, also where many lie above it: down to rank 2048.

    Args:
        pool: holds ``documents_MD`` and can be searched.
        queries_BD: unit-norm queries, one per training row.
        documents_MD: unit-norm documents.
        golds: for each query the pool rows that answer it, at least one.
        wanted: how many, and which.
        seed: the same seed draws the same ones.
        tell: called with the fraction done.
    Returns:
        Pool rows, shape (B, wanted.count), row i belongs to query i; -1 where there were too few.
    """
    size = rows_at_once(_CHUNK, documents_MD)
    generator = np.random.default_rng(seed)
    mined_BK = np.full((len(queries_BD), wanted.count), -1, dtype=np.int64)
    for start in range(0, len(queries_BD), size):
        rows = slice(start, start + size)
        asked = _Asked(pool, queries_BD[rows], documents_MD, padded(golds[rows]))
        k = min(len(documents_MD), wanted.depth + asked.golds_BK.shape[1])
        found = asked.best(np.arange(len(asked.queries_BD)), wanted=wanted, k=k)
        mined_BK[rows] = found.drawn(wanted.count, generator)
        if wanted.has_window:
            _look_deeper(asked, mined_BK[rows], found, wanted=wanted, k=k, generator=generator)
        tell(min(1.0, (start + size) / len(queries_BD)))
    return mined_BK


@dataclass(frozen=True)
class _Found:
    """The best documents of some queries, which of them may be drawn, and whether worse ones may be, too."""

    rows_BK: Ints
    allowed_BK: NDArray[np.bool_]
    goes_on_B: NDArray[np.bool_]

    def drawn(self, count: int, generator: np.random.Generator) -> Ints:
        # A random order of the allowed ones: their keys are positive, all others sort behind.
        keys_BK = np.where(self.allowed_BK, generator.random(self.allowed_BK.shape), -1.0)
        order_BK = np.argsort(-keys_BK, axis=1, kind="stable")[:, :count]
        drawn_BK = np.take_along_axis(self.rows_BK, order_BK, axis=1)
        drawn_BK[np.take_along_axis(keys_BK, order_BK, axis=1) < 0] = -1
        return np.pad(drawn_BK, ((0, 0), (0, count - drawn_BK.shape[1])), constant_values=-1)


@dataclass(frozen=True)
class _Asked:
    """Some queries with the rows that answer them, and the pool to search."""

    pool: Pool
    queries_BD: Floats
    documents_MD: Floats
    golds_BK: Ints

    def best(self, some_B: Ints, *, wanted: Wanted, k: int) -> _Found:
        """Search for the queries ``some_B`` among them, ``k`` deep."""
        golds_BK = self.golds_BK[some_B]
        scores_BK, rows_BK = self.pool.search(self.queries_BD[some_B], k=k)
        allowed_BK = (rows_BK >= 0) & ~is_among(rows_BK, golds_BK)
        if wanted.has_window:
            allowed_BK &= (scores_BK >= wanted.lowest) & (scores_BK <= wanted.highest)
        allowed_BK &= np.cumsum(allowed_BK, axis=1) <= 2 * wanted.depth  # no need to compare more with golds
        allowed_BK &= ~_duplicates(
            self.documents_MD, rows_BK, golds_BK, among_BK=allowed_BK, cosine=wanted.duplicate_cosine
        )
        allowed_BK &= np.cumsum(allowed_BK, axis=1) <= wanted.depth
        return _Found(rows_BK, allowed_BK, scores_BK[:, -1] >= wanted.lowest)


def _look_deeper(
    asked: _Asked,
    mined_BK: Ints,
    found: _Found,
    *,
    wanted: Wanted,
    k: int,
    generator: np.random.Generator,
) -> None:
    """Search again, deeper, for queries whose window reaches below the best ``k``; fills ``mined_BK``."""
    lacking_B = np.flatnonzero((mined_BK < 0).any(axis=1) & found.goes_on_B)
    deepest = min(len(asked.documents_MD), _DEEPEST)
    while len(lacking_B) and k < deepest:
        k = min(deepest, k * _DEEPER)
        size = max(1, _DEEP_ENTRIES // k)
        goes_on = np.zeros(len(mined_BK), dtype=bool)
        for start in range(0, len(lacking_B), size):
            some_B = lacking_B[start : start + size]
            found = asked.best(some_B, wanted=wanted, k=k)
            mined_BK[some_B] = found.drawn(wanted.count, generator)
            goes_on[some_B] = found.goes_on_B
        lacking_B = np.flatnonzero((mined_BK < 0).any(axis=1) & goes_on)


def _duplicates(
    documents_MD: Floats, found_BK: Ints, golds_BK: Ints, *, among_BK: NDArray[np.bool_], cosine: float
) -> NDArray[np.bool_]:
    """Where a found document, of those ``among_BK``, has (nearly) the vector of one of the query's golds."""
    same_BK = np.zeros(found_BK.shape, dtype=bool)
    queries, places = np.nonzero(among_BK)
    for start in range(0, len(queries), _PAIRS):
        rows, columns = queries[start : start + _PAIRS], places[start : start + _PAIRS]
        found = documents_MD[found_BK[rows, columns]]
        for gold_B in golds_BK.T:
            golds = gold_B[rows]
            cosines = np.einsum("nd,nd->n", found, documents_MD[golds])
            same_BK[rows, columns] |= (cosines >= cosine) & (golds >= 0)
    return same_BK
