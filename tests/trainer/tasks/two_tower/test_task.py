import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import (
    params,
    silent,
    text_task,
    train_steps,
    vector_pairs,
    vector_task,
)
from trainer.datasets.records import DatasetError
from trainer.engine.task import Task
from trainer.retrieval.measures import CONTAIN_AT, RECALL_AT
from trainer.tasks.two_tower.material import from_vectors
from trainer.tasks.two_tower.model import vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask

MINING = {"mined_negatives": 3, "mine_from_epoch": 1, "mine_depth": 10, "group_negatives": 1}


def test_it_is_a_task_for_the_engine(tmp_path: Path) -> None:
    task: Task = text_task(tmp_path)[0]
    assert task.name == "retrieval"
    assert set(task.modules()) == {"query_tower", "document_tower"}


def test_a_text_task_learns_to_find(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path)
    before = task.evaluate(silent)
    losses = train_steps(task, epochs=12)
    after = task.evaluate(silent)
    assert losses[-1] < losses[0] / 2
    assert after["recall@1"] > before["recall@1"] + 0.2
    assert after["loss"] < before["loss"]
    assert set(after) == {
        *(f"recall@{k}" for k in RECALL_AT),
        *(f"contain@{k}" for k in CONTAIN_AT),
        *("mrr", "mrr@10", "ndcg@10", "margin", "cos_positive", "cos_hard_negative", "separation"),
        *("oracle", "loss", "chance_loss", "index_p50_ms", "index_p95_ms"),
    }


@pytest.mark.parametrize("document_tower", ["linear", "identity"])
def test_a_vector_task_learns_to_find(document_tower: str) -> None:
    task, _ = vector_task(document_tower=document_tower, dim=8, learning_rate=0.01, hidden_dim=32)
    before = task.evaluate(silent)["mrr@10"]
    train_steps(task, epochs=20)
    assert task.evaluate(silent)["mrr@10"] > before + 0.2


def test_a_bank_of_documents_that_do_not_move_does_no_harm_even_one_way() -> None:
    settings: dict[str, Any] = {
        "document_tower": "identity",
        "dim": 8,
        "learning_rate": 0.01,
        "hidden_dim": 32,
    }
    found = []
    for bank in (0, 60):
        task, _ = vector_task(**settings, memory_bank=bank, symmetric=False)
        train_steps(task, epochs=20)
        found.append(task.evaluate(silent)["mrr@10"])
    assert found[1] > found[0] - 0.1


def test_a_one_way_bank_of_a_tower_that_learns_waits_until_it_is_past_its_first_steps(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"symmetric": False, "embedding_learning_rate": 0.05, "learning_rate": 0.01}
    found = []
    for bank in ({}, {"memory_bank": 150}, {"memory_bank": 150, "memory_bank_from_epoch": 0}):
        task, _ = text_task(tmp_path, **settings, **bank)
        train_steps(task, epochs=6)
        found.append(task.evaluate(silent)["mrr@10"])
    without, waiting, at_once = found
    assert waiting > without - 0.05
    assert at_once < without - 0.2, "what the waiting is for"


@pytest.mark.parametrize(
    ("changes", "first"),
    [({}, 2), ({"memory_bank_from_epoch": 1}, 1), ({"document_tower": "identity", "dim": 8}, 0)],
)
def test_the_bank_has_its_negatives_from_its_epoch_on_and_at_once_where_nothing_ages(
    changes: dict[str, Any], first: int
) -> None:
    task, _ = vector_task(memory_bank=60, **changes)
    for epoch in range(3):
        negatives = [task.loss(batch).extra["negatives"] for batch in task.micro_batches(epoch, start=0)]
        assert (negatives[-1] > 30) == (epoch >= first)


def test_the_first_loss_is_near_the_chance_line(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path, temperature=1.0)
    output = task.loss(next(task.micro_batches(0, start=0)))
    assert output.loss.item() == pytest.approx(output.chance_loss, abs=0.3)
    assert output.num_examples == 16


def test_the_same_seed_gives_the_same_losses_twice(tmp_path: Path) -> None:
    one, two, other = (text_task(tmp_path, seed=seed, **MINING)[0] for seed in (1, 1, 2))
    losses = train_steps(one, epochs=3)
    assert train_steps(two, epochs=3) == losses
    assert train_steps(other, epochs=3) != losses


def test_mined_documents_are_near_misses_of_their_own_row_even_though_batches_are_shuffled(
    tmp_path: Path,
) -> None:
    task, material = text_task(tmp_path, **MINING)
    train_steps(task, epochs=2)
    task.begin_epoch(2, silent)
    mined = task.state_dict()["mined"].numpy()
    towers = task.modules()
    rows = material.split.train
    with torch.no_grad():
        for module in towers.values():
            module.eval()
        queries = towers["query_tower"](*material.queries.take(rows)).numpy()
        documents = towers["document_tower"](
            *material.documents.take(np.arange(len(material.documents)))
        ).numpy()
    trained_on = set(material.document_of_N[rows].tolist())
    for place, row in enumerate(rows.tolist()):
        answers = set(material.golds()[material.query_of_N[row]].tolist())
        assert not set(mined[place].tolist()) & answers
        order = [d for d in np.argsort(-(documents @ queries[place])).tolist() if d in trained_on - answers]
        assert set(mined[place].tolist()) <= set(order[:13])


def test_mining_waits_for_its_epoch_and_repeats_when_due(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path, **{**MINING, "mine_every": 2})
    task.begin_epoch(0, silent)
    assert task.state_dict()["mined"] is None
    mined = []
    for epoch in (1, 2, 3):
        train_steps(task, epochs=1, first=epoch)
        mined.append(task.state_dict()["mined"].clone())
    assert torch.equal(mined[0], mined[1])
    assert not torch.equal(mined[1], mined[2])


def test_state_restores_what_mining_found(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path, **MINING)
    task.begin_epoch(1, silent)
    restored, _ = text_task(tmp_path, **MINING)
    restored.load_state_dict(task.state_dict())
    one, two = (next(some.micro_batches(1, start=2)) for some in (task, restored))
    assert (one.documents_N == two.documents_N).all()


def test_what_was_mined_for_more_pairs_than_there_are_now_is_dropped_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task, _ = text_task(tmp_path, **MINING)
    task.begin_epoch(1, silent)
    fewer, _ = text_task(tmp_path, **MINING, train_fraction=0.5)
    with caplog.at_level("INFO", logger="trainer"):
        fewer.load_state_dict(task.state_dict())
    assert f"for {fewer.num_train_pairs} of {task.num_train_pairs} pairs" in caplog.text
    before, after = task.state_dict(), fewer.state_dict()
    assert len(after["mined"]) == len(after["mined_for"]) == fewer.num_train_pairs
    mined = dict(zip(before["mined_for"].tolist(), before["mined"].tolist(), strict=True))
    assert [mined[row] for row in after["mined_for"].tolist()] == after["mined"].tolist()
    caplog.clear()
    again, _ = text_task(tmp_path, **MINING)
    with caplog.at_level("INFO", logger="trainer"):
        again.load_state_dict(task.state_dict())
    assert caplog.text == ""


def test_a_changed_dataset_is_noticed_on_resume(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path)
    with pytest.raises(DatasetError, match="has changed since the checkpoint"):
        task.load_state_dict({**task.state_dict(), "content_hash": "another"})


def test_probing_and_evaluating_change_nothing_of_the_training(tmp_path: Path) -> None:
    plain, probed = (text_task(tmp_path, dropout=0.3)[0] for _ in range(2))
    expected = train_steps(plain, epochs=2)
    losses = []
    for epoch in range(2):
        for batch in probed.micro_batches(epoch, start=0):
            probed.probe()
            probed.evaluate(silent)
            output = probed.loss(batch)
            for optimizer in probed.optimizers():
                optimizer.zero_grad()
            output.loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in probed.optimizers():
                optimizer.step()
            losses.append(output.loss.item())
    assert losses == expected


def test_shared_towers_have_one_table_that_is_optimised_once(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path, share_towers=True)
    tables, rest = task.optimizers()
    assert len(tables.param_groups[0]["params"]) == 1
    every = [p for optimizer in (tables, rest) for group in optimizer.param_groups for p in group["params"]]
    assert len({id(parameter) for parameter in every}) == len(every)
    train_steps(task, epochs=1)


def test_vectors_of_another_length_need_a_linear_tower_or_the_right_dim() -> None:
    with pytest.raises(DatasetError, match="set dim to 8, or document_tower to linear"):
        vector_task(document_tower="identity", dim=16)


def test_searching_all_documents_is_harder_than_searching_held_out_ones(tmp_path: Path) -> None:
    task, material = text_task(tmp_path, candidates="all")
    held_out, _ = text_task(tmp_path)
    assert task.num_candidates == len(material.document_ids) > held_out.num_candidates
    train_steps(task, epochs=2)
    train_steps(held_out, epochs=2)
    assert task.evaluate(silent)["mrr@10"] <= held_out.evaluate(silent)["mrr@10"]


def test_probe_answers_are_what_they_say(tmp_path: Path) -> None:
    task, material = text_task(tmp_path)
    train_steps(task, epochs=3)
    probes, answers = task.probes(), task.probe()
    assert len(probes) == 12
    assert len({probe["group"] for probe in probes}) == len(
        {material.groups[r] for r in material.split.held_out}
    )
    assert all(len(column) == 12 for column in answers.columns.values())
    place_of = {one: place for place, one in enumerate(material.document_ids)}
    pool = np.unique(material.document_of_N[material.split.held_out])
    towers = task.modules()
    with torch.no_grad():
        for module in towers.values():
            module.eval()
        documents = towers["document_tower"](*material.documents.take(pool))
        for number, probe in enumerate(probes):
            row = list(material.ids).index(probe["example_id"])
            query = towers["query_tower"](*material.queries.take(np.array([row])))
            scores = (query @ documents.T)[0]
            answers_here = np.isin(pool, material.golds()[material.query_of_N[row]])
            gold = scores[torch.from_numpy(answers_here)].max()
            others = scores[torch.from_numpy(~answers_here)]
            logits = torch.cat([gold[None], others]) / 0.07
            assert answers.columns["loss"][number] == pytest.approx(
                -logits.log_softmax(0)[0].item(), abs=1e-3
            )
            assert answers.columns["rank"][number] == 1 + int((others >= gold).sum())
            assert answers.columns["correct"][number] == float(answers.columns["rank"][number] == 1)
            assert answers.columns["margin"][number] == pytest.approx((gold - others.max()).item(), abs=1e-5)
            top = answers.outputs[number]["top"]
            assert top[0][1] == pytest.approx(scores.max().item(), abs=1e-5)
            assert probe["gold"] in answers.documents
            assert all(one in answers.documents for one, _ in top)
            assert (
                answers.documents[probe["gold"]]["text"] == material.document_texts[place_of[probe["gold"]]]
            )
            assert probe["input"] == material.query_texts[row]


def test_probes_are_the_same_whatever_the_order_of_the_file() -> None:
    pairs = vector_pairs()
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = dataclasses.replace(
        pairs,
        ids=[pairs.ids[row] for row in order],
        groups=[pairs.groups[row] for row in order],
        query_vectors=pairs.query_vectors[order],
        document_vectors=pairs.document_vectors[order],
    )
    chosen = []
    for some in (pairs, shuffled):
        settings = params()
        towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
        task = TwoTowerTask(from_vectors(some, settings), towers, settings)
        chosen.append({probe["example_id"] for probe in task.probes()})
    assert chosen[0] == chosen[1]


def test_the_margin_and_losses_of_probes_are_finite(tmp_path: Path) -> None:
    answers = text_task(tmp_path)[0].probe()
    assert all(math.isfinite(value) for column in answers.columns.values() for value in column)


def test_the_vectors_of_the_probes_are_those_of_their_queries(tmp_path: Path) -> None:
    task, _ = text_task(tmp_path)
    with torch.no_grad():
        answers = task.probe()
    assert answers.vectors_BD is not None
    assert len(answers.vectors_BD) == len(answers.outputs)
    np.testing.assert_allclose(np.linalg.norm(answers.vectors_BD, axis=1), 1.0, rtol=1e-4)
