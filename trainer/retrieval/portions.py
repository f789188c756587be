"""Building an index in portions, wherever it lies.

Shape suffixes: M documents, D length of the vectors.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trainer.retrieval.index_settings import ADDED_AT_ONCE, SAMPLE_PER_LIST, IndexSettings
from trainer.retrieval.ranking import Floats, Tell


class Growing(Protocol):
    """An index that is being built."""

    def learn(self, sample_MD: Floats) -> None:
        """Learn from a sample of the documents."""

    def add(self, documents_MD: Floats) -> None:
        """Add documents behind those there are."""


def grow(index: Growing, documents_MD: Floats, settings: IndexSettings, *, tell: Tell | None) -> None:
    """Teach ``index`` and add all of ``documents_MD``, the same portions in the same order everywhere."""
    if settings.kind == "ivf":
        most = SAMPLE_PER_LIST * settings.lists_for(len(documents_MD))
        index.learn(_sample(documents_MD, most, seed=settings.seed))
    for start in range(0, len(documents_MD), ADDED_AT_ONCE):
        index.add(documents_MD[start : start + ADDED_AT_ONCE])
        if tell is not None:
            tell(min(1.0, (start + ADDED_AT_ONCE) / len(documents_MD)))


def _sample(documents_MD: Floats, most: int, *, seed: int) -> Floats:
    if len(documents_MD) <= most:
        return documents_MD
    rows = np.random.default_rng(seed).choice(len(documents_MD), most, replace=False)
    return documents_MD[np.sort(rows)]
