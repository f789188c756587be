"""Exact search by inner product; with ``approximate`` the only modules that load faiss.

Whoever imports it has faiss in his process: the search process, or a trainer
whose run searches in a shared process (see :mod:`trainer.retrieval.search`).

Shape suffixes: B queries, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.ranking import Floats, Ints


class FaissIndex:
    """An index of faiss that can be asked for the best documents; scores are inner products."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def search(self, queries_BD: Floats, *, k: int) -> tuple[Floats, Ints]:
        """Scores and rows of the ``k`` best documents per query, best first, both (B, k).

        Beyond the pool's end, and where an approximate index finds no more, the row is -1 and the score -inf.
        """
        scores_BK, rows_BK = self.index.search(np.ascontiguousarray(queries_BD, dtype=np.float32), k)
        scores_BK[rows_BK < 0] = -np.inf
        return scores_BK, rows_BK

    def latencies(self, queries_BD: Floats, *, k: int) -> NDArray[np.float64]:
        """Seconds of each query, asked one at a time, shape (B,); the first once before, unmeasured."""
        queries_BD = np.ascontiguousarray(queries_BD, dtype=np.float32)
        self.index.search(queries_BD[:1], k)
        taken_B = np.empty(len(queries_BD))
        for row in range(len(queries_BD)):
            started = time.perf_counter()
            self.index.search(queries_BD[row : row + 1], k)
            taken_B[row] = time.perf_counter() - started
        return taken_B

    def write(self, path: Path) -> None:
        """Save the index to ``path``.

        Raises:
            OSError: it could not be written.
        """
        try:
            faiss.write_index(self.index, str(path))
        except RuntimeError as exc:  # faiss's own words for a full disk
            raise OSError(f"{path} could not be written: {exc}") from exc


class ExactIndex(FaissIndex):
    """A pool of documents, each compared with every query."""

    def __init__(self, documents_MD: Floats) -> None:
        """Index a copy of ``documents_MD``, unit-norm float32 of shape (M, D).

        Raises:
            ValueError: the pool is empty or not a float32 matrix.
        """
        check_pool(documents_MD)
        super().__init__(faiss.IndexFlatIP(documents_MD.shape[1]))
        self.index.add(np.ascontiguousarray(documents_MD))


def load_index(path: Path) -> FaissIndex:
    """The index that was written to ``path``.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return FaissIndex(faiss.read_index(str(path)))
    except RuntimeError as exc:
        raise OSError(f"{path} cannot be read as an index: {exc}") from exc


def num_documents(index: FaissIndex) -> int:
    """How many documents an index holds."""
    return int(index.index.ntotal)


def check_pool(documents_MD: Floats) -> None:
    """Refuse what is no pool.

    Raises:
        ValueError: it is empty or not a float32 matrix.
    """
    if documents_MD.ndim != 2 or documents_MD.dtype != np.float32 or len(documents_MD) == 0:
        raise ValueError(
            f"a pool must be a non-empty float32 matrix, got {documents_MD.dtype} {documents_MD.shape}"
        )


def limit_threads(count: int) -> None:
    """Let searches of this process use ``count`` threads."""
    faiss.omp_set_num_threads(count)
