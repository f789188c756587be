"""Measures the held-out pairs: exactly, and through the index that would serve them.

Recall, MRR, nDCG and the cosines are those of an exact search, whatever the
index is, so they tell of the model alone.  Contain and the oracle tell of the
list that is served; an approximate index adds what it misses and how fast it is.

Shape suffixes: B queries, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from trainer.datasets.records import Tell
from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.index_settings import FLAT, Index, IndexSettings
from trainer.retrieval.measures import CONTAIN_AT, DEPTH, contain, measures, oracle, overlap, served_ranks
from trainer.retrieval.ranking import Floats, Ints, rank
from trainer.retrieval.search import Search

OVERLAP_AT: Final = 10
TIMED_QUERIES: Final = 200


def index_settings(params: TwoTowerParams) -> IndexSettings:
    """The index that the run's parameters ask for."""
    return IndexSettings(
        kind=params.index,
        num_lists=params.index_lists,
        num_probes=params.index_probes,
        num_links=params.index_links,
        build_effort=params.index_build_effort,
        search_effort=params.index_search_effort,
        seed=params.seed,
    )


def evaluate(
    search: Search,
    queries_BD: Floats,
    documents_MD: Floats,
    golds: list[Ints],
    *,
    settings: IndexSettings,
    tell: Tell,
) -> dict[str, float]:
    """All measures by name.

    Args:
        search: who searches.
        queries_BD: unit-norm queries.
        documents_MD: unit-norm documents of the pool.
        golds: for each query the pool rows that answer it.
        settings: the index to serve with.
        tell: called with what is being done and the fraction done.
    """
    share = 1.0 if settings == FLAT else 0.5
    with search.pool(documents_MD) as pool:
        ranking = rank(
            pool,
            queries_BD,
            documents_MD,
            golds,
            k=DEPTH,
            tell=lambda fraction: tell("searching", share * fraction),
            num_kept=OVERLAP_AT,
        )
        found = measures(ranking)
        if settings.kind == "flat":
            found |= {**contain(ranking.ranks_B), "oracle": oracle(pool, documents_MD)}
            return found | _named(paces(pool, queries_BD))
    started = time.perf_counter()
    with search.pool(
        documents_MD, settings, tell=lambda fraction: tell("building the index", 0.5 + 0.3 * fraction)
    ) as index:
        built_s = time.perf_counter() - started
        tell("searching the index", 0.8)
        ranks_B = served_ranks(index, queries_BD, documents_MD, golds, k=max(CONTAIN_AT))
        found |= {**contain(ranks_B), "oracle": oracle(index, documents_MD), "index_build_s": built_s}
        return found | _named(judged(index, queries_BD, ranking.rows_BK))


def _named(values: dict[str, float]) -> dict[str, float]:
    return {f"index_{name}": value for name, value in values.items()}


def judged(index: Index, queries_BD: Floats, exact_BK: Ints) -> dict[str, float]:
    """What an index finds of the exact best ten, and its :func:`paces`."""
    _, served_BK = index.search(queries_BD, k=exact_BK.shape[1])
    return {f"recall@{OVERLAP_AT}": overlap(exact_BK, served_BK), **paces(index, queries_BD)}


def paces(index: Index, queries_BD: Floats) -> dict[str, float]:
    """How long half, and 95 %, of single queries take at most, in milliseconds."""
    rows_B = np.linspace(0, len(queries_BD) - 1, min(TIMED_QUERIES, len(queries_BD))).astype(np.int64)
    taken_ms_B = 1000.0 * index.latencies(queries_BD[rows_B], k=OVERLAP_AT)
    return {
        "p50_ms": float(np.percentile(taken_ms_B, 50)),
        "p95_ms": float(np.percentile(taken_ms_B, 95)),
    }
