"""Evaluation through every index, and over a bank."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import params, silent, text_task, train_steps, vector_pairs
from trainer.datasets.records import VectorPairs
from trainer.tasks.two_tower.material import from_vectors
from trainer.tasks.two_tower.model import vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask

SERVED = ("contain@20", "contain@50", "oracle")


@pytest.mark.parametrize("changes", [{"index": "ivf", "index_probes": 100}, {"index": "hnsw"}])
def test_an_approximate_index_changes_what_is_served_and_nothing_that_tells_of_the_model(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    task, _ = text_task(tmp_path)
    served, _ = text_task(tmp_path, **changes)
    for one in (task, served):
        train_steps(one, epochs=2)
    exact, found = task.evaluate(silent), served.evaluate(silent)
    own = {"index_recall@10", "index_build_s"}
    assert set(found) - set(exact) == own
    told_of_the_model = [name for name in exact if name not in SERVED and not name.startswith("index_")]
    assert {name: found[name] for name in told_of_the_model} == {
        name: exact[name] for name in told_of_the_model
    }
    assert {found[name] for name in SERVED} == {exact[name] for name in SERVED}  # all lists are looked into
    assert found["index_recall@10"] == pytest.approx(1.0, abs=0.02)
    assert 0 < found["index_p50_ms"] <= found["index_p95_ms"]


def test_a_list_that_is_not_looked_into_costs_contain_but_not_recall(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path, index="ivf", index_probes=1, candidates="all", index_lists=5)
    found = task.evaluate(silent)
    assert found["index_recall@10"] < 1.0
    assert found["contain@50"] < found["recall@50"]


def vectors_with_bank(num_bank: int) -> VectorPairs:
    pairs = vector_pairs()
    bank = np.random.default_rng(9).normal(size=(num_bank, 8)).astype(np.float32)
    return dataclasses.replace(
        pairs, bank_vectors=bank, bank_ids=[f"vectors/{row}" for row in range(num_bank)]
    )


def task_over(pairs: VectorPairs, **changes: Any) -> TwoTowerTask:
    settings = params(dim=8, **changes)
    torch.manual_seed(settings.seed)
    towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
    return TwoTowerTask(from_vectors(pairs, settings), towers, settings)


def test_a_bank_is_searched_and_mined_and_makes_it_harder() -> None:
    mining = {"mined_negatives": 4, "mine_from_epoch": 0, "mine_depth": 10}
    without, task = task_over(vector_pairs(), **mining), task_over(vectors_with_bank(2000), **mining)
    assert task.num_candidates == without.num_candidates + 2000
    assert task.evaluate(silent)["mrr"] < without.evaluate(silent)["mrr"]
    task.begin_epoch(0, silent)
    num_documents = len(np.unique(vector_pairs().document_vectors, axis=0))
    mined = task.state_dict()["mined"].numpy()
    assert (mined >= num_documents).mean() > 0.5
    batch = next(task.micro_batches(0, start=0))
    assert (batch.documents_N >= num_documents).any()
    assert any("vectors/" in one[0] for answer in task.probe().outputs for one in answer["top"])


def test_rows_that_the_file_keeps_apart_are_the_held_out_ones() -> None:
    pairs = dataclasses.replace(vector_pairs(), held_out=np.arange(100, 120))
    material = from_vectors(pairs, params())
    assert material.split.held_out.tolist() == list(range(100, 120))
    assert material.split.train.tolist() == list(range(100))
