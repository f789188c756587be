"""The near misses of a run: mined by the model, or named by a file; renewed as its plan says.

Everything is kept by training row, never by place in a shuffled pass, so a
document stays with the query it is a near miss of.

Shape suffixes: R training rows, K near misses of each, D length of the vectors.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from trainer.datasets.records import Tell
from trainer.recipes.curriculum import MiningPlan, Stage, mining_plan
from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.mining import Wanted, mine_near_misses
from trainer.retrieval.search import Search
from trainer.tasks.two_tower.batches import Sampler
from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.model import TwoTowers

log = logging.getLogger(__name__)
_MINING, _SUPPLIED = 4, 6  # streams of random numbers, beside those of the sampler and of evaluation
_FEW: Final = 0.25  # share of the pairs with a near miss below which somebody should know


@dataclass(frozen=True)
class Supplied:
    """What files bring along.

    Attributes:
        misses_of: pair -> numbers of the documents named as its near misses; None when no file names any.
        pool: numbers of further documents to mine from.
    """

    misses_of: dict[int, Ints] | None
    pool: Ints


class NearMisses:
    """Holds the near misses of every training row, and finds new ones when an epoch is due for them."""

    def __init__(
        self,
        material: Material,
        sampler: Sampler,
        towers: TwoTowers,
        params: TwoTowerParams,
        *,
        search: Search,
        chunk: int,
        supplied: Supplied | None = None,
    ) -> None:
        self._material = material
        self._sampler = sampler
        self._towers = towers
        self._params = params
        self._search = search
        self._chunk = chunk
        self._supplied = supplied
        self._plan: MiningPlan = mining_plan(
            params.curriculum,
            mined_negatives=params.mined_negatives,
            mine_from_epoch=params.mine_from_epoch,
        )
        self.mined: Ints | None = None  # (R, K) documents, -1 for none; None while there are to be none

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        """Find new near misses when this epoch is due for them."""
        stage = self._plan.at(epoch)
        if stage is None:
            self.mined = None
            return
        if self.mined is not None and (epoch - stage.first) % self._params.mine_every != 0:
            return
        if self._supplied is not None and self._supplied.misses_of is not None:
            self.mined = self._drawn(self._supplied.misses_of, stage, epoch)
        else:
            self.mined = self._mine(stage, epoch, tell)
        _warn_if_few(self.mined, stage)

    def state_dict(self) -> dict[str, Any]:
        """The near misses and the pairs they belong to."""
        return {
            "mined": None if self.mined is None else torch.from_numpy(self.mined),
            "mined_for": None if self.mined is None else torch.from_numpy(self._sampler.train_rows),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`; what belongs to other pairs than there are now is left out."""
        if state["mined"] is None:
            self.mined = None
            return
        mined_for = state["mined_for"].numpy()
        self.mined = self._sampler.matched(state["mined"].numpy(), mined_for)
        if not np.array_equal(mined_for, self._sampler.train_rows):
            kept = int(np.isin(self._sampler.train_rows, mined_for).sum())
            log.info(
                "mined negatives of the checkpoint are kept for %d of %d pairs: it trained on others",
                kept,
                len(mined_for),
            )

    def _drawn(self, misses_of: dict[int, Ints], stage: Stage, epoch: int) -> Ints:
        """For every training row some of the documents that the file names for it."""
        rows = self._sampler.train_rows
        drawn = np.full((len(rows), stage.count), -1, dtype=np.int64)
        generator = np.random.default_rng([self._params.seed, _SUPPLIED, epoch])
        for place, row in enumerate(rows.tolist()):
            named = misses_of.get(row)
            if named is not None and len(named):
                chosen = generator.permutation(named)[: stage.count]
                drawn[place, : len(chosen)] = chosen
        return drawn

    def _mine(self, stage: Stage, epoch: int, tell: Tell) -> Ints:
        """Near misses of every training row among the training documents and those a file adds."""
        material, params = self._material, self._params
        rows = self._sampler.train_rows
        pool = np.union1d(material.document_of_N[material.split.train], material.bank)
        if self._supplied is not None:
            pool = np.union1d(pool, self._supplied.pool)
        place_of = {document: place for place, document in enumerate(pool.tolist())}
        golds = [
            [place_of[document] for document in self._sampler.golds_of(row).tolist()] for row in rows.tolist()
        ]
        tell("reading training documents", 0.0)
        documents = self._towers.vectors(self._towers.document, material.documents, pool, chunk=self._chunk)
        tell("reading training queries", 0.3)
        queries = self._towers.vectors(self._towers.query, material.queries, rows, chunk=self._chunk)
        tell("looking for near misses", 0.6)
        with self._search.pool(documents) as searchable:
            places = mine_near_misses(
                searchable,
                queries,
                documents,
                golds,
                wanted=Wanted(
                    depth=params.mine_depth,
                    count=stage.count,
                    duplicate_cosine=params.filter_threshold,
                    lowest=stage.lowest,
                    highest=stage.highest,
                ),
                seed=[params.seed, _MINING, epoch],
                tell=lambda fraction: tell("looking for near misses", 0.6 + 0.4 * fraction),
            )
        mined: Ints = np.where(places >= 0, pool[places], -1)
        return mined


def _warn_if_few(mined: Ints, stage: Stage) -> None:
    share = float((mined >= 0).any(axis=1).mean())
    if share < _FEW:
        window = (
            f" with a cosine of {stage.lowest:g} to {stage.highest:g} to their query"
            if stage.has_window
            else ""
        )
        log.warning(
            "only %.1f %% of the pairs have a near miss%s: the others train on the negatives of their batch"
            " alone. Widen the cosines, raise mine_depth, or begin later.",
            100 * share,
            window,
        )
