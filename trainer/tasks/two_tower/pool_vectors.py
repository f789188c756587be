"""Vectors of the documents that are searched, made once per state of the towers.

Shape suffixes: M documents of the pool, D length of the vectors.
"""

from __future__ import annotations

import numpy as np

from trainer.retrieval.ranking import Floats, Ints
from trainer.tasks.two_tower.inputs import Inputs
from trainer.tasks.two_tower.model import TwoTowers


class PoolVectors:
    """Evaluation and probing at the same step share them; a larger pool adds only what it has more."""

    def __init__(
        self,
        towers: TwoTowers,
        documents: Inputs,
        rows: Ints,
        *,
        chunk: int,
        within: PoolVectors | None = None,
    ) -> None:
        """Nothing is read yet.

        Args:
            towers: whose document tower reads.
            documents: what it reads.
            rows: documents of the pool, ascending.
            chunk: documents in memory at once.
            within: a pool whose documents are among ``rows``.
        """
        self.rows = rows
        self._towers, self._documents, self._chunk, self._within = towers, documents, chunk, within
        self._made: tuple[tuple[int, ...], Floats] | None = None

    def extended(self, rows: Ints) -> PoolVectors:
        """The pool with these documents besides; the same one where it has them all."""
        joined = np.union1d(self.rows, rows)
        if len(joined) == len(self.rows):
            return self
        return PoolVectors(self._towers, self._documents, joined, chunk=self._chunk, within=self)

    def now(self) -> Floats:
        """The vectors (M, D) as the towers are now."""
        version = self._towers.version()
        if self._made is None or self._made[0] != version:
            self._made = (version, self._read())
        return self._made[1]

    def _read(self) -> Floats:
        if self._within is None:
            return self._vectors(self.rows)
        inner = self._within.now()
        further = np.setdiff1d(self.rows, self._within.rows, assume_unique=True)
        vectors_MD: Floats = np.empty((len(self.rows), inner.shape[1]), dtype=inner.dtype)
        vectors_MD[np.searchsorted(self.rows, self._within.rows)] = inner
        vectors_MD[np.searchsorted(self.rows, further)] = self._vectors(further)
        return vectors_MD

    def _vectors(self, rows: Ints) -> Floats:
        return self._towers.vectors(self._towers.document, self._documents, rows, chunk=self._chunk)
