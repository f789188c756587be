"""Parts of a batch give the loss and the gradients of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.trainer.tasks.two_tower.small_material import silent, text_task, vector_task
from trainer.engine import gradients
from trainer.tasks.two_tower.task import TwoTowerTask
from trainer.tasks.two_tower.towers import BagTower, dropped

WANTED: dict[str, Any] = {
    "batch_size": 48,
    "dropout": 0.4,
    "mined_negatives": 3,
    "mine_from_epoch": 0,
    "mine_depth": 10,
    "group_negatives": 2,
}


def task_of(kind: str, folder: Path, **changes: Any) -> TwoTowerTask:
    """A task of which every weight matters from the first step on."""
    if kind == "text":
        task = text_task(folder, **{**WANTED, **changes})[0]
    else:
        task = vector_task(**{**WANTED, "num_layers": 3, "dim": 8, "document_tower": kind, **changes})[0]
    torch.manual_seed(1)
    for tower in task.modules().values():
        if isinstance(tower, BagTower):
            torch.nn.init.normal_(tower.outer.weight, std=0.1)  # it starts as zero, which hides the rest
    return task


def step_of(task: TwoTowerTask, *, num_batches: int = 1) -> tuple[float, dict[str, Tensor]]:
    """The loss of the first update, and the gradients it leaves."""
    task.begin_epoch(0, silent)
    batches = task.micro_batches(0, start=0)
    outcome = gradients.backward(task, [next(batches) for _ in range(num_batches)])
    found = {
        f"{module}.{name}": parameter.grad.to_dense()
        for module, tower in task.modules().items()
        for name, parameter in tower.named_parameters()
        if parameter.grad is not None
    }
    return outcome.loss.item(), found


@pytest.mark.parametrize("kind", ["text", "linear", "identity"])
@pytest.mark.parametrize(
    "changes",
    [
        {"micro_batch_size": 1},
        {"micro_batch_size": 7, "symmetric": False},
        {"micro_batch_size": 24, "group_negatives": 0, "mined_negatives": 0},
        {"micro_batch_size": 47, "share_towers": True},
    ],
    ids=["one by one", "one-sided", "in-batch only", "shared table"],
)
def test_loss_and_gradients_are_those_of_the_whole_batch(
    kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    loss, expected = step_of(task_of(kind, tmp_path, **{**changes, "micro_batch_size": 0}))
    loss_in_parts, found = step_of(task_of(kind, tmp_path, **changes))
    assert loss_in_parts == pytest.approx(loss, rel=1e-5)
    assert found.keys() == expected.keys()
    assert any(name.startswith("query_tower") for name in found)
    for name, gradient in expected.items():
        assert gradient.abs().max() > 0, name
        assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize("kind", ["text", "linear"])
def test_accumulated_batches_in_parts_weigh_as_whole_ones_do(kind: str, tmp_path: Path) -> None:
    loss, expected = step_of(task_of(kind, tmp_path, batch_size=20), num_batches=3)
    loss_in_parts, found = step_of(task_of(kind, tmp_path, batch_size=20, micro_batch_size=8), num_batches=3)
    assert loss_in_parts == pytest.approx(loss, rel=1e-5)
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-5), name


def test_dropout_is_really_on_in_both(tmp_path: Path) -> None:
    for kind in ("text", "linear"):
        with_dropout, _ = step_of(task_of(kind, tmp_path, micro_batch_size=8))
        without, _ = step_of(task_of(kind, tmp_path, micro_batch_size=8, dropout=0.0))
        assert with_dropout != pytest.approx(without, rel=1e-3)


def test_equal_rows_of_a_table_take_room_once(tmp_path: Path) -> None:
    task = task_of("text", tmp_path, micro_batch_size=8)
    task.begin_epoch(0, silent)
    gradients.backward(task, [next(task.micro_batches(0, start=0))])
    for tower in task.modules().values():
        gradient = dict(tower.named_parameters())["table.weight"].grad
        assert gradient is not None
        assert gradient.is_coalesced()


def test_a_step_in_parts_draws_no_random_numbers_of_torch(tmp_path: Path) -> None:
    task = task_of("linear", tmp_path, micro_batch_size=8)
    task.begin_epoch(0, silent)
    before = torch.get_rng_state()
    gradients.backward(task, [next(task.micro_batches(0, start=0))])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_row_loses_the_same_units_whichever_rows_it_is_read_with() -> None:
    values = torch.ones(6, 50, 40)
    seeds = torch.from_numpy(np.random.default_rng(0).integers(0, 2**62, size=6))
    whole = dropped(values, seeds, share=0.3)
    parts = torch.cat([dropped(values[rows], seeds[rows], share=0.3) for rows in (slice(0, 1), slice(1, 6))])
    assert torch.equal(whole, parts)


def test_dropout_keeps_the_mean_and_treats_rows_places_and_layers_independently() -> None:
    values = torch.ones(64, 20, 64)
    seeds = torch.from_numpy(np.random.default_rng(0).integers(0, 2**62, size=64))
    kept = dropped(values, seeds, share=0.25)
    assert sorted(set(kept.flatten().tolist())) == pytest.approx([0.0, 1 / 0.75])
    assert kept.mean().item() == pytest.approx(1.0, abs=0.01)
    for flat in (kept.reshape(64, -1), kept.permute(2, 0, 1).reshape(64, -1)):  # by row, and by unit
        correlation = np.corrcoef(flat.numpy())
        assert np.abs(correlation - np.eye(64)).max() < 0.15
    other = dropped(values, seeds + 1, share=0.25)
    assert np.corrcoef(kept.flatten().numpy(), other.flatten().numpy())[0, 1] == pytest.approx(0.0, abs=0.02)
