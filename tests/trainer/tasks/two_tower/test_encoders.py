"""Hugging Face encoders as towers: from scratch, from a folder, trained and frozen."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.encoder_material import SCRATCH, encoder_run, saved_encoder
from tests.trainer.tasks.two_tower.small_material import params, silent, train_steps
from trainer.engine import gradients
from trainer.language.sources import ModelError
from trainer.recipes.registry import ParameterError, recipes, validate
from trainer.tasks.two_tower import forecast
from trainer.tasks.two_tower.encoder_sizes import encoder_size
from trainer.tasks.two_tower.encoder_tower import EncoderTower, TokenInputs
from trainer.tasks.two_tower.encoders import load_encoder
from trainer.tasks.two_tower.forecast import Facts
from trainer.tasks.two_tower.task import TwoTowerTask


def encoder_task(folder: Path, **changes: Any) -> TwoTowerTask:
    return encoder_run(folder, **changes)[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder, as save_pretrained writes it."""
    return saved_encoder(tmp_path_factory.mktemp("encoder") / "models" / "small")


def test_an_encoder_from_scratch_learns_to_find(tmp_path: Path) -> None:
    task = encoder_task(tmp_path)
    before = task.evaluate(silent)["mrr@10"]
    losses = train_steps(task, epochs=12)
    assert losses[-1] < losses[0] / 2
    assert task.evaluate(silent)["mrr@10"] > before + 0.2


@pytest.mark.parametrize("share", [False, True])
def test_a_folder_is_trained_with_rates_of_its_own_and_separate_towers_unless_shared(
    saved: Path, tmp_path: Path, share: bool
) -> None:
    task = encoder_task(tmp_path, model=str(saved), share_towers=share, encoder_learning_rate=1e-4)
    towers = task.modules()
    assert (towers["query_tower"] is towers["document_tower"]) == share
    (optimizer,) = task.optimizers()
    head, body = optimizer.param_groups
    assert (head["lr"], body["lr"]) == (3e-3, 1e-4)
    distinct = {id(one) for tower in towers.values() for one in tower.parameters()}
    assert {id(one) for group in (head, body) for one in group["params"]} == distinct
    before = [one.detach().clone() for one in body["params"]]
    train_steps(task, epochs=1)
    assert any(not torch.equal(one, two) for one, two in zip(before, body["params"], strict=True))


def test_a_frozen_encoder_reads_every_text_once_and_only_the_layer_on_top_learns(
    saved: Path, tmp_path: Path
) -> None:
    task = encoder_task(tmp_path, model=str(saved), encoder="frozen", learning_rate=0.01)
    assert all(not isinstance(tower, EncoderTower) for tower in task.modules().values())
    losses = train_steps(task, epochs=10)
    assert losses[-1] < losses[0]


def test_a_bare_name_is_a_folder_beside_the_datasets(saved: Path) -> None:
    settings = params(**{**SCRATCH, "model": "small"})
    loaded = load_encoder(settings, ["a"], datasets_dir=saved.parent.parent / "datasets", tell=silent)
    assert loaded.is_pretrained
    assert loaded.content_hash


def test_the_content_hash_covers_the_encoder(saved: Path, tmp_path: Path) -> None:
    one, two = (
        encoder_task(tmp_path, model=model).state_dict()["content_hash"] for model in (str(saved), "scratch")
    )
    assert one != two


def test_parts_of_a_batch_give_the_loss_and_the_gradients_of_the_whole(tmp_path: Path) -> None:
    found = []
    for size in (0, 5):
        task = encoder_task(tmp_path, micro_batch_size=size, group_negatives=1)
        outcome = gradients.backward(task, [next(task.micro_batches(0, start=0))])
        tower = task.modules()["query_tower"]
        found.append(
            (outcome.loss.item(), {n: p.grad for n, p in tower.named_parameters() if p.grad is not None})
        )
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-4)
    assert found[0][1].keys() == found[1][1].keys()
    for name, gradient in found[0][1].items():
        assert torch.allclose(found[1][1][name], gradient, rtol=1e-3, atol=1e-5), name


def test_padding_changes_nothing_and_long_texts_keep_their_end(saved: Path, tmp_path: Path) -> None:
    task = encoder_task(tmp_path, model=str(saved))
    inputs = task._material.documents
    assert isinstance(inputs, TokenInputs)
    tower = task.modules()["document_tower"].eval()
    rows = np.arange(20, dtype=np.int64)
    with torch.no_grad():
        together = tower(*inputs.take(rows))
        alone = torch.cat([tower(*inputs.take(rows[[place]])) for place in range(20)])
    assert torch.allclose(together, alone, atol=1e-5)
    short = TokenInputs(inputs._rows, max_length=6, padding=1)
    ids_BT, lengths_B = short.take(rows)
    ends = torch.tensor([int(inputs._rows.ids(row)[-1]) for row in rows.tolist()])
    assert ids_BT.shape == (20, 6)
    assert (lengths_B == 6).all()
    assert (ids_BT[:, 5] == ends).all()
    assert short.num_cut == len(short)


def test_an_encoder_that_cannot_be_used_is_refused_in_words(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match="is 25 and the model reads at most 24 tokens; lower max_length to 24"
    ):
        encoder_task(tmp_path, model=str(saved), max_length=25)
    with pytest.raises(ModelError, match="there is no such folder"):
        encoder_task(tmp_path, model=str(tmp_path / "nothing"))
    with pytest.raises(ParameterError) as caught:
        validate(recipes()["two_tower"], {"model": "scratch", "encoder": "frozen"})
    assert caught.value.field == "encoder"


@pytest.mark.parametrize(
    "changes", [{}, {"share_towers": True}, {"model": "saved"}, {"model": "saved", "encoder": "frozen"}]
)
def test_weights_of_an_encoder_are_counted_exactly(
    saved: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    if changes.get("model"):
        changes = {**changes, "model": str(saved)}
    task = encoder_task(tmp_path, **changes)
    complete = params(**{**SCRATCH, **changes}).model_dump()
    facts = Facts(10, 8, 2, 10, 2, 10, encoder=encoder_size(complete))
    distinct = {id(one): one.numel() for tower in task.modules().values() for one in tower.parameters()}
    expected = sum(distinct.values())
    # a learned tokenizer may have fewer tokens than it was allowed
    assert forecast.num_weights(facts, complete) == pytest.approx(expected, rel=0.05)
    looked_at = dataclasses.replace(facts, mean_query_characters=40.0, mean_document_characters=200.0)
    assert forecast.foresee(looked_at, complete).memory_bytes > forecast.LIBRARIES_BYTES
