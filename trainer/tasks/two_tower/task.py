"""Two-tower retrieval as the engine sees it: batches, loss, mining, evaluation, probes.

Shape suffixes: B pairs of a batch, N candidates, D length of the vectors, K
mined documents per training row.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from trainer.datasets.records import DatasetError, Tell
from trainer.engine.task import LossOutput, ProbeAnswers
from trainer.recipes.search_process import home_of_search
from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.mining import mine_near_misses
from trainer.retrieval.ranking import RECALL_AT, Floats, Ints, measures, rank
from trainer.retrieval.search import Search, open_search
from trainer.tasks.two_tower.batches import Batch, Sampler, SamplerSettings
from trainer.tasks.two_tower.losses import info_nce
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.model import TwoTowers, build_optimizers
from trainer.tasks.two_tower.parts import Side
from trainer.tasks.two_tower.probes import answer_probes, choose_probes, describe_probes

log = logging.getLogger(__name__)
_CHUNK: Final = 1024
_MINING, _EVALUATING = 4, 5  # streams of random numbers, beside those of the sampler


class TwoTowerTask:
    """Implements :class:`trainer.engine.task.Task`."""

    name = "retrieval"

    def __init__(
        self, material: Material, towers: TwoTowers, params: TwoTowerParams, *, search: Search | None = None
    ) -> None:
        """Prepare.

        Args:
            material: the dataset.
            towers: what is trained.
            params: the recipe's parameters.
            search: who searches for mining and evaluation; None for what ``params.search_process`` asks for.

        Raises:
            DatasetError: fewer than two pairs are left to train on.
        """
        self._material = material
        self._towers = towers
        self._params = params
        self._sampler = Sampler(
            material,
            SamplerSettings(
                batch_size=params.batch_size,
                max_pairs=params.max_pairs,
                train_fraction=params.train_fraction,
                group_negatives=params.group_negatives,
                symmetric=params.symmetric,
                seed=params.seed,
            ),
        )
        self._search = search or open_search(home_of_search(params.search_process, platform=sys.platform))
        self._chunk = min(_CHUNK, params.micro_batch_size or _CHUNK)
        self._optimizers = build_optimizers(towers, params)
        if not self._optimizers:
            raise DatasetError(
                "neither tower has anything to train; choose a document tower other than identity"
            )
        self._mined: Ints | None = None
        self._probe_rows = choose_probes(material, count=params.num_probes, seed=params.seed)
        self._pool = self._evaluation_pool()
        self._pool_vectors: tuple[tuple[int, ...], Floats] | None = None

    @property
    def num_train_pairs(self) -> int:
        """Pairs trained on."""
        return len(self._sampler.train_rows)

    @property
    def num_candidates(self) -> int:
        """Documents among which evaluation and probes search."""
        return len(self._pool)

    def modules(self) -> dict[str, nn.Module]:
        """The towers by the name they are saved under."""
        return self._towers.modules()

    def optimizers(self) -> list[Optimizer]:
        """SparseAdam for the embedding tables, AdamW for the rest."""
        return self._optimizers

    def num_micro_batches(self, epoch: int) -> int:
        """Whole batches of an epoch, the same for every epoch."""
        return self._sampler.num_batches()

    def micro_batches(self, epoch: int, *, start: int) -> Iterator[Batch]:
        """The batches of ``epoch`` from number ``start`` on, deterministic in (seed, epoch, number)."""
        self._towers.train()
        return self._sampler.batches(epoch, start=start, mined=self._mined)

    def loss(self, micro_batch: Batch) -> LossOutput:
        """InfoNCE of one batch; in-batch, same-group and mined documents are its negatives."""
        towers = self._towers
        query_BD = towers.query(*towers.to_device(micro_batch.query))
        document_ND = towers.document(*towers.to_device(micro_batch.document))
        return self._loss_of(micro_batch, query_BD, document_ND)

    def backward(self, micro_batch: Batch, *, weighed: bool) -> LossOutput:
        """Loss and gradients of one batch, at most ``micro_batch_size`` rows at a time in the towers."""
        size = self._params.micro_batch_size
        if not 0 < size < len(micro_batch):
            output = self.loss(micro_batch)
            _pass_back(output, weighed=weighed)
        else:
            query, document = self._sides(micro_batch, size)
            query_BD, document_ND = query.embed(), document.embed()
            output = self._loss_of(micro_batch, query_BD, document_ND)
            _pass_back(output, weighed=weighed)
            query.pass_back(query_BD)
            document.pass_back(document_ND)
        return dataclasses.replace(output, loss=output.loss.detach())

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        """Look for new near misses when this epoch is due for them."""
        params = self._params
        since_first = epoch - params.mine_from_epoch
        if params.mined_negatives == 0 or since_first < 0:
            return
        if self._mined is not None and since_first % params.mine_every != 0:
            return
        self._mined = self._mine(epoch, tell)

    def evaluate(self, tell: Tell) -> dict[str, float]:
        """recall@1…100, mrr@10, margin and loss on the held-out pairs.

        The loss is that of training, over batches of held-out pairs, so it is
        comparable with the training loss when in-batch negatives are the only ones.
        """
        tell("reading held-out documents", 0.0)
        documents = self._document_vectors()
        rows = self._material.split.held_out
        tell("reading held-out queries", 0.5)
        queries = self._query_vectors(rows)
        tell("searching", 0.8)
        golds = self._pool_golds(rows)
        with self._search.pool(documents) as pool:
            ranking = rank(
                pool,
                queries,
                documents,
                golds,
                k=max(RECALL_AT),
                tell=lambda fraction: tell("searching", 0.8 + 0.2 * fraction),
            )
        return {**measures(ranking), "loss": self._held_out_loss(rows, queries, documents)}

    def probes(self) -> list[dict[str, Any]]:
        """The fixed held-out examples."""
        return describe_probes(self._material, self._probe_rows)

    def probe(self) -> ProbeAnswers:
        """Ask the probes among all documents of the evaluation pool."""
        return answer_probes(
            self._material,
            self._query_vectors(self._probe_rows),
            self._document_vectors(),
            pool=self._pool,
            golds=self._pool_golds(self._probe_rows),
            temperature=self._params.temperature,
        )

    def state_dict(self) -> dict[str, Any]:
        """The mined documents, the pairs they were mined for, and the dataset they belong to."""
        return {
            "content_hash": self._material.content_hash,
            "mined": None if self._mined is None else torch.from_numpy(self._mined),
            "mined_for": None if self._mined is None else torch.from_numpy(self._sampler.train_rows),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`.

        Raises:
            DatasetError: the dataset is not the one the state was made with.
        """
        if state["content_hash"] != self._material.content_hash:
            raise DatasetError(
                f"{self._material.name} has changed since the checkpoint was written, so the run cannot go "
                "on as if nothing had happened; put the old file back, or start a new run"
            )
        if state["mined"] is not None:
            mined_for = state["mined_for"].numpy()
            self._mined = self._sampler.matched(state["mined"].numpy(), mined_for)
            if not np.array_equal(mined_for, self._sampler.train_rows):
                kept = int(np.isin(self._sampler.train_rows, mined_for).sum())
                log.info(
                    "mined negatives of the checkpoint are kept for %d of %d pairs: it trained on others",
                    kept,
                    len(mined_for),
                )
        else:
            self._mined = None

    def _loss_of(self, batch: Batch, query_BD: Tensor, document_ND: Tensor) -> LossOutput:
        num_pairs, masked_BN = len(batch), batch.masked_BN
        loss = info_nce(
            query_BD,
            document_ND[:num_pairs],
            extra_MD=document_ND[num_pairs:] if len(document_ND) > num_pairs else None,
            masked_BN=None if masked_BN is None else masked_BN.to(self._towers.device),
            temperature=self._params.temperature,
            symmetric=self._params.symmetric,
        )
        return LossOutput(
            loss=loss,
            chance_loss=batch.chance_loss,
            num_examples=num_pairs,
            extra={"negatives": float(len(document_ND) - 1)},
        )

    def _sides(self, batch: Batch, size: int) -> tuple[Side, Side]:
        towers, material = self._towers, self._material
        query, document = batch.query, batch.document
        num_documents = len(batch.documents_N)
        return (
            Side(towers.query, material.queries, query, len(batch), size, towers.to_device),
            Side(towers.document, material.documents, document, num_documents, size, towers.to_device),
        )

    def _mine(self, epoch: int, tell: Tell) -> Ints:
        """Near misses of every training row among the training documents, as document numbers."""
        material, params = self._material, self._params
        rows = self._sampler.train_rows
        pool = np.unique(material.document_of_N[material.split.train])
        place_of = {document: place for place, document in enumerate(pool.tolist())}
        golds = [
            [place_of[document] for document in self._sampler.golds_of(row).tolist()] for row in rows.tolist()
        ]
        tell("reading training documents", 0.0)
        documents = self._towers.vectors(self._towers.document, material.documents, pool, chunk=self._chunk)
        tell("reading training queries", 0.3)
        queries = self._query_vectors(rows)
        tell("looking for near misses", 0.6)
        with self._search.pool(documents) as searchable:
            places = mine_near_misses(
                searchable,
                queries,
                documents,
                golds,
                depth=params.mine_depth,
                count=params.mined_negatives,
                seed=[params.seed, _MINING, epoch],
                tell=lambda fraction: tell("looking for near misses", 0.6 + 0.4 * fraction),
            )
        mined: Ints = np.where(places >= 0, pool[places], -1)
        return mined

    def _held_out_loss(self, rows: Ints, queries_BD: Floats, documents_MD: Floats) -> float:
        """Mean InfoNCE over whole batches of ``rows`` in a fixed random order."""
        order = np.random.default_rng([self._params.seed, _EVALUATING]).permutation(len(rows))
        size = min(self._sampler.batch_size, len(rows))
        losses = []
        for start in range(0, len(rows) - size + 1, size):
            places = order[start : start + size]
            documents = self._material.document_of_N[rows[places]]
            loss = info_nce(
                torch.from_numpy(queries_BD[places]),
                torch.from_numpy(documents_MD[np.searchsorted(self._pool, documents)]),
                masked_BN=self._sampler.masked(rows[places], documents),
                temperature=self._params.temperature,
                symmetric=self._params.symmetric,
            )
            losses.append(loss.item())
        return float(np.mean(losses))

    def _evaluation_pool(self) -> Ints:
        """The documents to search: those of the held-out groups, or all there are."""
        material = self._material
        if self._params.candidates == "all":
            return np.arange(len(material.document_ids), dtype=np.int64)
        return np.unique(material.document_of_N[material.split.held_out])

    def _pool_golds(self, rows: Ints) -> list[Ints]:
        """For each held-out pair the pool rows that answer its query."""
        return [np.searchsorted(self._pool, self._sampler.golds_of(row)) for row in rows.tolist()]

    def _query_vectors(self, rows: Ints) -> Floats:
        return self._towers.vectors(self._towers.query, self._material.queries, rows, chunk=self._chunk)

    def _document_vectors(self) -> Floats:
        """Vectors of the pool; evaluation and probing at the same step share them."""
        version = self._towers.version()
        if self._pool_vectors is None or self._pool_vectors[0] != version:
            vectors = self._towers.vectors(
                self._towers.document, self._material.documents, self._pool, chunk=self._chunk
            )
            self._pool_vectors = (version, vectors)
        return self._pool_vectors[1]


def _pass_back(output: LossOutput, *, weighed: bool) -> None:
    total = output.loss * output.num_examples if weighed else output.loss
    total.backward()  # type: ignore[no-untyped-call]
