"""Two-tower retrieval as the engine sees it: batches, loss, mining, evaluation, probes.

Shape suffixes: B pairs of a batch, N candidates, D length of the vectors.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from trainer.datasets.records import DatasetError, Tell
from trainer.engine.task import LossOutput, ProbeAnswers
from trainer.protocol.probe_files import AddedProbe, ProbeRowError
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.pinned_probes import pinned_ids
from trainer.recipes.search_process import home_of_search
from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.ranking import Floats, Ints
from trainer.retrieval.search import Search, open_search
from trainer.tasks.two_tower.added_probes import refused_queries, with_queries
from trainer.tasks.two_tower.batches import Batch, Sampler, SamplerSettings
from trainer.tasks.two_tower.evaluation import evaluate, index_settings
from trainer.tasks.two_tower.export import Trained, asked_rows, write_export
from trainer.tasks.two_tower.floors import Floors
from trainer.tasks.two_tower.losses import chance_loss, info_nce, mean_negatives
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.memory_bank import BankNegatives, MemoryBank
from trainer.tasks.two_tower.model import TwoTowers, build_optimizers
from trainer.tasks.two_tower.near_misses import NearMisses, Supplied
from trainer.tasks.two_tower.parts import Side
from trainer.tasks.two_tower.pool_vectors import PoolVectors
from trainer.tasks.two_tower.probes import answer_probes, choose_probes, describe_probes

_CHUNK: Final = 1024
_EVALUATING: Final = 5  # stream of random numbers, beside those of the sampler and of mining


class TwoTowerTask:
    """Implements :class:`trainer.engine.task.Task`."""

    name = "retrieval"

    def __init__(
        self,
        material: Material,
        towers: TwoTowers,
        params: TwoTowerParams,
        *,
        search: Search | None = None,
        supplied: Supplied | None = None,
    ) -> None:
        """Prepare.

        Args:
            material: the dataset.
            towers: what is trained.
            params: the recipe's parameters.
            search: who searches for mining and evaluation; None for what ``params.search_process`` asks for.
            supplied: near misses and documents that files bring along.

        Raises:
            DatasetError: fewer than two pairs are left to train on.
        """
        self._material, self._towers, self._params = material, towers, params
        self._sampler = Sampler(material, _sampler_settings(params))
        self._search = search or open_search(home_of_search(params.search_process, platform=sys.platform))
        self._chunk = min(_CHUNK, params.micro_batch_size or _CHUNK)
        self._optimizers = build_optimizers(towers, params)
        if not self._optimizers:
            raise DatasetError(
                "neither tower has anything to train; choose a document tower other than identity"
            )
        self._near_misses = NearMisses(
            material,
            self._sampler,
            towers,
            params,
            search=self._search,
            chunk=self._chunk,
            supplied=supplied,
        )
        self._bank = _bank(material, towers, params)
        # what an identity tower has made never ages
        self._bank_from_epoch = params.memory_bank_from_epoch if list(towers.document.parameters()) else 0
        self._epoch = 0
        self._margin = params.margin / (params.temperature if params.margin_unit == "cosine" else 1.0)
        self._floors = Floors(params)
        self._probe_rows = choose_probes(
            material, count=params.num_probes, seed=params.seed, pinned=pinned_ids(params.pinned_probes)
        )
        self._probe_golds = [self._sampler.golds_of(row) for row in self._probe_rows.tolist()]
        self._pool = PoolVectors(towers, material.documents, self._evaluation_pool(), chunk=self._chunk)

    @property
    def num_train_pairs(self) -> int:
        """Pairs trained on."""
        return len(self._sampler.train_rows)

    @property
    def num_candidates(self) -> int:
        """Documents among which evaluation and probes search."""
        return len(self._pool.rows)

    def modules(self) -> dict[str, nn.Module]:
        """The towers by the name they are saved under."""
        return self._towers.modules()

    def optimizers(self) -> list[Optimizer]:
        """SparseAdam for the embedding tables, AdamW for the rest."""
        return self._optimizers

    def num_micro_batches(self, epoch: int) -> int:
        """Whole batches of an epoch, the same for every epoch."""
        return self._sampler.num_batches()

    def micro_batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Batch]:
        """The batches of ``epoch`` from number ``start`` on, deterministic in (seed, epoch, number)."""
        self._towers.train()
        self._epoch = epoch
        return self._sampler.batches(epoch, start=start, every=every, mined=self._near_misses.mined)

    def loss(self, micro_batch: Batch) -> LossOutput:
        """InfoNCE of one batch; in-batch, same-group, mined and kept documents are its negatives."""
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
        self._floors.begin_epoch(epoch)
        self._near_misses.begin_epoch(epoch, tell)

    def evaluate(self, tell: Tell) -> dict[str, float]:
        """Measures of the held-out pairs (see :mod:`trainer.tasks.two_tower.evaluation`), loss and chance.

        The loss is that of training, over batches of held-out pairs with in-batch negatives
        alone: compare it with the training loss by what each lies below its own chance level.
        """
        tell("reading held-out documents", 0.0)
        documents = self._pool.now()
        rows = self._material.split.held_out
        tell("reading held-out queries", 0.5)
        queries = self._query_vectors(rows)
        found = evaluate(
            self._search,
            queries,
            documents,
            self._pool_golds(rows),
            settings=index_settings(self._params),
            tell=lambda detail, fraction: tell(detail, 0.7 + 0.3 * fraction),
        )
        found |= self._held_out_loss(rows, queries, documents)
        self._floors.look(found)
        return found

    def probes(self) -> list[dict[str, Any]]:
        """The fixed held-out examples."""
        return describe_probes(self._material, self._probe_rows)

    def probe(self) -> ProbeAnswers:
        """Ask the probes among all documents of the evaluation pool."""
        return answer_probes(
            self._material,
            self._query_vectors(self._probe_rows),
            self._pool.now(),
            pool=self._pool.rows,
            golds=[np.searchsorted(self._pool.rows, golds) for golds in self._probe_golds],
            temperature=self._params.temperature,
        )

    def refused_probes(self, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
        """The rows whose document there is not; all where the towers read vectors."""
        return refused_queries(self._material, probes)

    def with_probes(self, probes: Sequence[AddedProbe]) -> TwoTowerTask:
        """The same towers with other queries; what each expects is a document's id, title or text.

        Raises:
            ProbeRowError: the towers read vectors, or no document is the one expected.
        """
        material, golds_B = with_queries(self._material, probes)
        other = copy.copy(self)
        other._material, other._probe_rows = material, np.arange(len(probes), dtype=np.int64)
        other._probe_golds = [golds_B[place : place + 1] for place in range(len(probes))]
        other._pool = self._pool.extended(golds_B)
        return other

    def export(self, folder: Path, *, run: RunSpec, step: int, metrics: dict[str, float], tell: Tell) -> None:
        """Leave towers, documents and index in ``folder``; see :mod:`trainer.tasks.two_tower.export`.

        Raises:
            OSError: there is no room.
        """
        if not self._params.export:
            return
        material, towers = self._material, self._towers
        tell("reading all documents", 0.1)
        every = np.arange(len(material.document_ids), dtype=np.int64)
        documents = towers.vectors(towers.document, material.documents, every, chunk=self._chunk)
        queries = self._query_vectors(asked_rows(material.split.held_out))
        write_export(
            folder,
            Trained(self._params, material, towers.modules(), queries, documents),
            run=run,
            step=step,
            metrics=metrics,
            search=self._search,
            settings=index_settings(self._params),
            tell=tell,
        )

    def state_dict(self) -> dict[str, Any]:
        """The near misses, the memory bank, and the dataset they belong to."""
        return {
            "content_hash": self._material.content_hash,
            **self._near_misses.state_dict(),
            "bank": None if self._bank is None else self._bank.state_dict(),
            "floors": self._floors.state_dict(),
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
        self._near_misses.load_state_dict(state)
        self._floors.load_state_dict(state.get("floors", {}))
        if self._bank is not None and state.get("bank") is not None:
            self._bank.load_state_dict(state["bank"])

    def _loss_of(self, batch: Batch, query_BD: Tensor, document_ND: Tensor) -> LossOutput:
        """The loss against all candidates, after which the bank keeps the batch's own documents."""
        num_pairs, masked_BN, params = len(batch), batch.masked_BN, self._params
        num_extra = len(document_ND) - num_pairs
        bank = self._kept_for(batch)
        loss = info_nce(
            query_BD,
            document_ND[:num_pairs],
            extra_MD=document_ND[num_pairs:] if num_extra else None,
            masked_BN=None if masked_BN is None else masked_BN.to(self._towers.device),
            bank=bank,
            temperature=params.temperature,
            symmetric=params.symmetric,
            margin=self._margin,
        )
        if self._bank is not None and self._epoch >= self._bank_from_epoch:
            self._bank.push(batch.documents_N[:num_pairs], document_ND[:num_pairs])
        extra = {"negatives": mean_negatives(num_pairs, num_extra, masked_BN=masked_BN, bank=bank)}
        if batch.near_miss_share is not None:
            extra["near_miss_share"] = batch.near_miss_share
        chance = chance_loss(
            num_pairs,
            num_extra,
            masked_BN=masked_BN,
            bank=bank,
            symmetric=params.symmetric,
            margin=self._margin,
        )
        return LossOutput(loss=loss, chance_loss=chance, num_examples=num_pairs, extra=extra)

    def _kept_for(self, batch: Batch) -> BankNegatives | None:
        if self._bank is None:
            return None
        golds = [self._sampler.golds_of(row) for row in batch.rows_B.tolist()]
        return self._bank.negatives(batch.documents_N, golds)

    def _sides(self, batch: Batch, size: int) -> tuple[Side, Side]:
        towers, material = self._towers, self._material
        query, document = batch.query, batch.document
        num_documents = len(batch.documents_N)
        return (
            Side(towers.query, material.queries, query, len(batch), size, towers.to_device),
            Side(towers.document, material.documents, document, num_documents, size, towers.to_device),
        )

    def _held_out_loss(self, rows: Ints, queries_BD: Floats, documents_MD: Floats) -> dict[str, float]:
        """Mean loss over whole batches of ``rows`` in a fixed random order, and what guessing costs there."""
        order = np.random.default_rng([self._params.seed, _EVALUATING]).permutation(len(rows))
        size = min(self._sampler.batch_size, len(rows))
        symmetric, margin = self._params.symmetric, self._margin
        losses, chances = [], []
        for start in range(0, len(rows) - size + 1, size):
            places = order[start : start + size]
            documents = self._material.document_of_N[rows[places]]
            masked_BN = self._sampler.masked(rows[places], documents)
            loss = info_nce(
                torch.from_numpy(queries_BD[places]),
                torch.from_numpy(documents_MD[np.searchsorted(self._pool.rows, documents)]),
                masked_BN=masked_BN,
                temperature=self._params.temperature,
                symmetric=symmetric,
                margin=margin,
            )
            losses.append(loss.item())
            chances.append(chance_loss(size, 0, masked_BN=masked_BN, symmetric=symmetric, margin=margin))
        return {"loss": float(np.mean(losses)), "chance_loss": float(np.mean(chances))}

    def _evaluation_pool(self) -> Ints:
        """The documents to search: those of the held-out groups, or all there are."""
        material = self._material
        if self._params.candidates == "all":
            return np.arange(len(material.document_ids), dtype=np.int64)
        return np.union1d(material.document_of_N[material.split.held_out], material.bank)

    def _pool_golds(self, rows: Ints) -> list[Ints]:
        """For each held-out pair the pool rows that answer its query."""
        return [np.searchsorted(self._pool.rows, self._sampler.golds_of(row)) for row in rows.tolist()]

    def _query_vectors(self, rows: Ints) -> Floats:
        return self._towers.vectors(self._towers.query, self._material.queries, rows, chunk=self._chunk)


def _bank(material: Material, towers: TwoTowers, params: TwoTowerParams) -> MemoryBank | None:
    if not params.memory_bank:
        return None
    return MemoryBank(params.memory_bank, num_documents=len(material.documents), device=towers.device)


def _sampler_settings(params: TwoTowerParams) -> SamplerSettings:
    return SamplerSettings(
        batch_size=params.batch_size,
        max_pairs=params.max_pairs,
        train_fraction=params.train_fraction,
        group_negatives=params.group_negatives,
        seed=params.seed,
        mined_share=params.mined_share,
    )


def _pass_back(output: LossOutput, *, weighed: bool) -> None:
    total = output.loss * output.num_examples if weighed else output.loss
    total.backward()  # type: ignore[no-untyped-call]
