"""Bugs of the original trainers that no other test would catch; docs/two-tower.md has the whole table."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import (
    params,
    silent,
    text_pairs,
    text_task,
    train_steps,
    vector_pairs,
    vector_task,
)
from trainer.engine.lr_schedule import factor
from trainer.engine.task import LoopConfig
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.losses import info_nce
from trainer.tasks.two_tower.material import from_texts
from trainer.tasks.two_tower.model import vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask
from trainer.tasks.two_tower.train import loop_config

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "two-tower.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))
MINING: dict[str, Any] = {"mined_negatives": 2, "mine_from_epoch": 0, "mine_depth": 10}


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part.rpartition("/")[2])
def test_every_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_bug_of_the_page_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row.split("|")[1]) for row in rows] == list(range(1, 10))
    assert [row for row in rows if "::test_" not in row] == []


def test_gradients_pass_through_queries_and_mined_documents_alike(tmp_path: Path) -> None:
    """Bug 4: the asynchronous path trained on detached copies."""
    task, _ = text_task(tmp_path, **MINING, batch_size=4)
    task.begin_epoch(0, silent)
    batch = next(task.micro_batches(0, start=0))
    towers = task.modules()
    query_BD = towers["query_tower"](*batch.query)
    document_ND = towers["document_tower"](*batch.document)
    query_BD.retain_grad()
    document_ND.retain_grad()
    task._loss_of(batch, query_BD, document_ND).loss.backward()  # type: ignore[no-untyped-call]
    assert len(document_ND) > len(batch)
    for vectors in (query_BD, document_ND):
        assert vectors.grad is not None
        assert (vectors.grad.abs().sum(dim=1) > 0).all()
    assert all(p.grad is not None for tower in towers.values() for p in tower.parameters())


def test_the_positive_is_the_pairs_own_document_wherever_the_model_ranks_it(tmp_path: Path) -> None:
    """Bug 4, second half: the synchronous path took whatever was ranked first for the positive."""
    task, material = text_task(tmp_path, **MINING)
    for epoch in range(2):
        task.begin_epoch(epoch, silent)
        for batch in task.micro_batches(epoch, start=0):
            own = material.document_of_N[batch.rows_B]
            assert (batch.documents_N[: len(batch)] == own).all()
    query_BD = torch.nn.functional.normalize(torch.randn(8, 4, generator=torch.Generator().manual_seed(0)))
    own_BD = query_BD.roll(1, dims=0)  # each query's best document is another pair's
    logits_BB = query_BD @ own_BD.T / 0.5
    expected = -torch.log_softmax(logits_BB, dim=1).diagonal().mean()
    assert info_nce(query_BD, own_BD, temperature=0.5).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_split_is_the_same_in_every_attempt_and_nothing_of_it_leaks(tmp_path: Path) -> None:
    """Bug 5: each resume drew another split without a seed, so held-out pairs were trained on."""
    np.random.seed(1)
    first = from_texts(text_pairs(), params(), cache=tmp_path, tell=silent).split
    np.random.seed(2)
    torch.manual_seed(2)
    again = from_texts(text_pairs(), params(num_epochs=99, **MINING), cache=tmp_path, tell=silent).split
    assert (first.train == again.train).all()
    assert (first.held_out == again.held_out).all()
    assert not set(first.train.tolist()) & set(first.held_out.tolist())


def test_a_checkpoint_of_other_towers_is_never_taken_silently() -> None:
    """Bug 5, last part: a resume forgot which towers it had and assumed others."""
    weights = vector_task(query_tower="gru", dim=8)[0].modules()["query_tower"].state_dict()
    for other in ("mlp", "identity"):
        with pytest.raises(RuntimeError):
            vector_task(query_tower=other, document_tower="linear", dim=8)[0].modules()[
                "query_tower"
            ].load_state_dict(weights)
    complete = validate(recipes()["two_tower"], {"query_tower": "mlp"})
    assert complete["query_tower"] == "mlp"
    assert set(complete) == set(TwoTowerParams.model_fields)


def test_the_rate_rises_step_by_step_and_survives_a_warm_up_longer_than_the_run() -> None:
    """Bug 6: the warm-up was never applied, steps were taken per epoch, and the decay could be negative."""
    config = LoopConfig(warmup_steps=10, schedule="cosine", min_lr_fraction=0.02)
    rates = [factor(step, total_steps=30, config=config) for step in range(1, 31)]
    assert rates[:10] == pytest.approx([step / 10 for step in range(1, 11)])
    assert all(later < earlier for earlier, later in pairwise(rates[10:]))
    short = [factor(step, total_steps=4, config=config) for step in range(1, 5)]
    assert short == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_the_chance_line_follows_the_bank_as_it_fills(tmp_path: Path) -> None:
    """Bug 7: 10.8 at chance with a bank of 50,000 was read like 3.5 without one."""
    settings: dict[str, Any] = {"memory_bank": 100, "memory_bank_from_epoch": 0}
    task, _ = text_task(tmp_path, **settings, temperature=1.0, symmetric=False, batch_size=16)
    chances, negatives, losses = [], [], []
    for batch in task.micro_batches(0, start=0):
        output = task.loss(batch)
        chances.append(output.chance_loss)
        negatives.append(output.extra["negatives"])
        losses.append(output.loss.item())
    assert negatives[0] == pytest.approx(15, abs=0.2)
    assert negatives[2] == pytest.approx(15 + 32, abs=1)
    assert negatives[-1] > 15 + 90
    assert chances == pytest.approx([np.log(1 + number) for number in negatives], abs=0.02)
    assert losses == pytest.approx(chances, abs=0.3)


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_an_evaluation_tells_its_own_chance_level(tmp_path: Path, kind: str) -> None:
    settings: dict[str, Any] = {**MINING, "memory_bank": 100, "symmetric": False, "temperature": 10.0}
    task, material = text_task(tmp_path, **settings) if kind == "texts" else vector_task(**settings)
    found = task.evaluate(silent)
    size = min(16, len(material.split.held_out))
    assert found["chance_loss"] == pytest.approx(np.log(size), abs=0.02)
    assert found["loss"] == pytest.approx(found["chance_loss"], abs=0.1)


@pytest.mark.parametrize("name", [one.name for one in recipes()["two_tower"].presets if "lnsp" in one.name])
def test_every_original_set_up_trains_mines_and_measures_by_name(name: str) -> None:
    """Bug 8: the "fix" was tried for two epochs, and mining began in the sixth."""
    preset = next(one for one in recipes()["two_tower"].presets if one.name == name)
    small = {"dim": 8, "hidden_dim": 8, "num_probes": 4, "device": "cpu", "batch_size": 16, "accumulate": 1}
    settings = TwoTowerParams.model_validate({**preset.params, **small})
    from trainer.tasks.two_tower.material import from_vectors

    pairs = vector_pairs()
    towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
    task = TwoTowerTask(from_vectors(pairs, settings), towers, settings)
    assert loop_config(settings, task).num_epochs == preset.params["num_epochs"]
    asked = settings.mined_negatives or settings.curriculum
    for epoch in (0, 6, 11):
        assert np.isfinite(train_steps(task, epochs=1, first=epoch)).all()
    assert (task.state_dict()["mined"] is not None) == bool(asked)
    assert 0.0 <= task.evaluate(silent)["mrr@10"] <= 1.0
