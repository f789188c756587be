"""Indexes that find nearly all of the best documents in a fraction of the time: IVF and HNSW.

They are made in portions, so that whoever waits can be told how far it is:
made for a number of documents, taught with a sample of them, then added to.

Shape suffixes: M documents, D length of the vectors.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np

from trainer.retrieval.exact import FaissIndex
from trainer.retrieval.index_settings import SAMPLE_PER_LIST, IndexSettings
from trainer.retrieval.ranking import Floats


class ApproximateIndex(FaissIndex):
    """An IVF or HNSW index over unit-norm vectors; rows are numbered in the order they are added."""

    def __init__(self, settings: IndexSettings, *, num_documents: int, length: int) -> None:
        """Make an empty index for ``num_documents`` vectors of ``length``.

        Raises:
            ValueError: the kind is none of this module.
        """
        if settings.kind == "ivf":
            super().__init__(_lists(settings, num_documents, length))
        elif settings.kind == "hnsw":
            super().__init__(_graph(settings, length))
        else:
            raise ValueError(f"there is no approximate index of kind {settings.kind!r}")

    def learn(self, sample_MD: Floats) -> None:
        """Learn the centres of the lists; nothing to do for a graph."""
        if not self.index.is_trained:
            self.index.train(np.ascontiguousarray(sample_MD))

    def add(self, documents_MD: Floats) -> None:
        """Add documents behind those there are."""
        self.index.add(np.ascontiguousarray(documents_MD))


def _lists(settings: IndexSettings, num_documents: int, length: int) -> Any:
    lists = settings.lists_for(num_documents)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(length), length, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.spherical = True
    index.cp.seed = settings.seed
    index.cp.min_points_per_centroid = 1  # fewer documents than that make a single list
    index.cp.max_points_per_centroid = SAMPLE_PER_LIST
    index.nprobe = min(settings.num_probes, lists)
    return index


def _graph(settings: IndexSettings, length: int) -> Any:
    index = faiss.IndexHNSWFlat(length, settings.num_links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = settings.build_effort
    index.hnsw.efSearch = settings.search_effort
    return index
