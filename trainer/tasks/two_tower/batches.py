"""Which pairs and which further negatives make a batch.

Everything is a function of (seed, epoch, number of the batch) and the mined
rows, so an interrupted epoch goes on exactly where it stopped, without
replaying what came before.

Shape suffixes: B pairs of the batch, M further negatives, N = B + M
candidates, K mined documents per training row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import numbered
from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.material import Material

_ORDER, _NOISE, _SUBSET = 1, 2, 3  # streams of random numbers that must not be the same
_EMPTY: Final = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Batch:
    """One micro-batch.

    Attributes:
        rows_B: the pairs.
        query: arguments of the query tower, B rows.
        document: arguments of the document tower, N rows: the pairs' own, then further negatives.
        documents_N: the documents' numbers.
        masked_BN: where a candidate also answers the query; None when nowhere.
        near_miss_share: share of the pairs that bring a near miss of their own; None while nobody mines.
    """

    rows_B: Ints
    query: tuple[Tensor, ...]
    document: tuple[Tensor, ...]
    documents_N: Ints
    masked_BN: Tensor | None
    near_miss_share: float | None

    def __len__(self) -> int:
        return len(self.rows_B)


@dataclass(frozen=True)
class SamplerSettings:
    """How batches are made; see the recipe's parameters of the same names."""

    batch_size: int
    max_pairs: int
    train_fraction: float
    group_negatives: int
    seed: int
    mined_share: float = 1.0


class Sampler:
    """Makes the batches of an epoch."""

    def __init__(self, material: Material, settings: SamplerSettings) -> None:
        """Prepare.

        Raises:
            DatasetError: fewer than two pairs are left to train on.
        """
        self._material = material
        self._settings = settings
        self.train_rows = self._limited(material.split.train)
        if len(self.train_rows) < 2:
            raise DatasetError(
                f"{material.name}: {len(self.train_rows)} pair is left to train on; 2 are needed"
            )
        self.batch_size = min(settings.batch_size, len(self.train_rows))
        self._golds = material.golds()
        self._has_several = np.array([len(some) > 1 for some in self._golds])
        self._group_of_N = numbered(material.groups)
        self._group_documents, self._group_starts = self._documents_by_group()

    def num_batches(self) -> int:
        """Whole batches of an epoch; which pairs fall short changes from epoch to epoch."""
        return len(self.train_rows) // self.batch_size

    def golds_of(self, row: int) -> Ints:
        """All documents that answer the query of pair ``row``."""
        return self._golds[int(self._material.query_of_N[row])]

    def batches(self, epoch: int, *, start: int, mined: Ints | None, every: int = 1) -> Iterator[Batch]:
        """The batches of ``epoch`` from number ``start`` on; with ``every`` 2 each second of them.

        ``mined`` has shape (len(train_rows), K): row i holds the documents
        mined for ``train_rows[i]``, -1 for none.
        """
        order = np.random.default_rng([self._settings.seed, _ORDER, epoch]).permutation(len(self.train_rows))
        for number in range(start, self.num_batches(), every):
            places = order[number * self.batch_size : (number + 1) * self.batch_size]
            noise = np.random.default_rng([self._settings.seed, _NOISE, epoch, number])
            yield self._batch(
                self.train_rows[places], None if mined is None else self._chosen(mined[places], noise), noise
            )

    def matched(self, mined: Ints, mined_for: Ints) -> Ints:
        """What was mined for the ascending rows ``mined_for``, for the rows of this sampler instead.

        A row that was not among them has -1.
        """
        places = np.minimum(np.searchsorted(mined_for, self.train_rows), len(mined_for) - 1)
        is_known = mined_for[places] == self.train_rows
        return np.where(is_known[:, None], mined[places], -1)

    def masked(self, rows: Ints, documents: Ints) -> Tensor | None:
        """Where a candidate is the query's own document again, or another that answers it.

        Args:
            rows: B pairs.
            documents: N candidates, the pairs' own first.
        Returns:
            Bool, shape (B, N); None when it would be false everywhere.
        """
        positives = documents[: len(rows)]
        several = np.flatnonzero(self._has_several[self._material.query_of_N[rows]])
        if len(several) == 0 and len(np.unique(positives)) == len(positives):
            return None
        masked = positives[:, None] == documents[None, :]
        for place in several.tolist():
            masked[place] |= np.isin(documents, self.golds_of(int(rows[place])))
        diagonal = np.arange(len(rows))
        masked[diagonal, diagonal] = False
        return torch.from_numpy(masked) if masked.any() else None

    def _chosen(self, mined_BK: Ints, noise: np.random.Generator) -> Ints:
        """The near misses of those pairs of a batch that bring them along."""
        share = self._settings.mined_share
        if share >= 1.0:
            return mined_BK
        brings_B = noise.random(len(mined_BK)) < share
        return np.where(brings_B[:, None], mined_BK, -1)

    def _batch(self, rows: Ints, mined_BK: Ints | None, noise: np.random.Generator) -> Batch:
        material = self._material
        positives = material.document_of_N[rows]
        mined = _EMPTY if mined_BK is None else mined_BK.ravel()
        further = np.concatenate([mined, self._group_picks(rows, noise)])
        further = np.setdiff1d(further[further >= 0], positives)
        documents = np.concatenate([positives, further])
        return Batch(
            rows_B=rows,
            query=material.queries.take(rows, noise=noise),
            document=material.documents.take(documents, noise=noise),
            documents_N=documents,
            masked_BN=self.masked(rows, documents),
            near_miss_share=None if mined_BK is None else float((mined_BK >= 0).any(axis=1).mean()),
        )

    def _group_picks(self, rows: Ints, noise: np.random.Generator) -> Ints:
        """For each row some documents of its own group, drawn with replacement."""
        wanted = self._settings.group_negatives
        if wanted == 0:
            return _EMPTY
        groups = self._group_of_N[rows]
        starts = self._group_starts[groups]
        sizes = self._group_starts[groups + 1] - starts
        offsets = noise.integers(0, sizes[:, None], size=(len(rows), wanted))
        picks: Ints = self._group_documents[(starts[:, None] + offsets).ravel()]
        return picks

    def _documents_by_group(self) -> tuple[Ints, Ints]:
        """The training documents of every group, and where each group starts in them."""
        groups = self._group_of_N[self.train_rows]
        order = np.argsort(groups, kind="stable")
        documents = self._material.document_of_N[self.train_rows][order]
        counts = np.bincount(groups, minlength=int(self._group_of_N.max()) + 1)
        return documents, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def _limited(self, rows: Ints) -> Ints:
        """At most as many rows as the settings allow; of fewer, every one is among those of more."""
        limit = math.ceil(len(rows) * self._settings.train_fraction)
        limit = min(limit, self._settings.max_pairs or limit)
        if len(rows) <= limit:
            return rows
        generator = np.random.default_rng([self._settings.seed, _SUBSET])
        return np.sort(generator.permutation(rows)[:limit])
