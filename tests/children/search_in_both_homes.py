"""Searches, ranks and mines the same in both homes and prints where they differ, as one JSON list.

A process of its own, because threads count: both homes must see the same number from their start.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from trainer.retrieval.mining import Wanted, mine_near_misses
from trainer.retrieval.ranking import Floats, rank
from trainer.retrieval.search import Search, open_search


def cases() -> Iterator[tuple[str, Floats, Floats, list[list[int]]]]:
    """Name, queries, documents and golds."""
    generator = np.random.default_rng(0)
    for num_queries, num_documents, length in ((3, 2, 4), (19, 700, 24), (1100, 3000, 64), (64, 5, 7)):
        documents = generator.normal(size=(num_documents, length)).astype(np.float32)
        queries = generator.normal(size=(num_queries, length)).astype(np.float32)
        golds = [
            [int(row) for row in generator.integers(num_documents, size=1 + n % 3)]
            for n in range(num_queries)
        ]
        yield f"random {num_queries}x{num_documents}", unit(queries), unit(documents), golds
    copies = np.repeat(unit(generator.normal(size=(40, 16)).astype(np.float32)), 30, axis=0)
    yield "copies", copies[::3], copies, [[row * 3] for row in range(400)]
    signs = generator.choice([-0.5, 0.5], size=(900, 4)).astype(np.float32)
    yield "ties", signs[:200], signs, [[row, 899 - row] for row in range(200)]


def unit(vectors: Floats) -> Floats:
    """Rows of length 1."""
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def found(search: Search, queries: Floats, documents: Floats, golds: list[list[int]]) -> list[bytes]:
    """Everything a search answers, bit by bit."""
    k = min(100, len(documents))
    with search.pool(documents) as pool:
        scores_BK, rows_BK = pool.search(queries, k=k + 5)
        ranking = rank(pool, queries, documents, golds, k=k, tell=lambda fraction: None)
        mined_BK = mine_near_misses(
            pool,
            queries,
            documents,
            golds,
            wanted=Wanted(depth=8, count=4),
            seed=3,
            tell=lambda fraction: None,
        )
    arrays = (scores_BK, rows_BK, ranking.rows_BK, ranking.scores_BK, ranking.ranks_B, mined_BK)
    return [array.tobytes() for array in (*arrays, ranking.gold_scores_B, ranking.negative_scores_B)]


def main() -> None:
    """Compare."""
    with closing(open_search("own")) as own, closing(open_search("shared")) as shared:
        different = [
            name
            for name, queries, documents, golds in cases()
            if found(own, queries, documents, golds) != found(shared, queries, documents, golds)
        ]
    sys.stdout.write(json.dumps(different))


if __name__ == "__main__":
    main()
