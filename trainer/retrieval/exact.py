"""Exact search by inner product; the only module that loads faiss.

Whoever imports it has faiss in his process: the search process, or a trainer
whose run searches in a shared process (see :mod:`trainer.retrieval.search`).

Shape suffixes: B queries, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

import faiss
import numpy as np

from trainer.retrieval.ranking import Floats, Ints


class ExactIndex:
    """A pool of documents that can be asked for the best ones."""

    def __init__(self, documents_MD: Floats) -> None:
        """Index a copy of ``documents_MD``, unit-norm float32 of shape (M, D).

        Raises:
            ValueError: the pool is empty or not a float32 matrix.
        """
        if documents_MD.ndim != 2 or documents_MD.dtype != np.float32 or len(documents_MD) == 0:
            raise ValueError(
                f"a pool must be a non-empty float32 matrix, got {documents_MD.dtype} {documents_MD.shape}"
            )
        self._index = faiss.IndexFlatIP(documents_MD.shape[1])
        self._index.add(np.ascontiguousarray(documents_MD))

    def search(self, queries_BD: Floats, *, k: int) -> tuple[Floats, Ints]:
        """Scores and rows of the ``k`` best documents per query, best first, both (B, k).

        Beyond the pool's end the row is -1 and the score -inf.
        """
        scores_BK, rows_BK = self._index.search(np.ascontiguousarray(queries_BD, dtype=np.float32), k)
        scores_BK[rows_BK < 0] = -np.inf
        return scores_BK, rows_BK


def limit_threads(count: int) -> None:
    """Let searches of this process use ``count`` threads."""
    faiss.omp_set_num_threads(count)
