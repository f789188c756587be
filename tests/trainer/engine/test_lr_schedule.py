"""The learning rate of every update, worked by hand."""

from __future__ import annotations

import pytest
import torch
from torch.optim import SGD

from trainer.engine.lr_schedule import LearningRate, factor
from trainer.engine.task import LoopConfig


def test_warm_up_rises_to_one_and_wastes_no_update_on_a_rate_of_zero() -> None:
    config = LoopConfig(warmup_steps=4, schedule="constant")
    assert [factor(step, total_steps=10, config=config) for step in range(1, 7)] == [0.25, 0.5, 0.75, 1, 1, 1]


def test_linear_decay_falls_evenly_to_the_least_fraction() -> None:
    config = LoopConfig(warmup_steps=2, schedule="linear", min_lr_fraction=0.2)
    factors = [factor(step, total_steps=6, config=config) for step in range(3, 8)]
    assert factors == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


def test_cosine_decay_is_half_way_down_in_the_middle() -> None:
    config = LoopConfig(schedule="cosine")
    assert factor(1, total_steps=10, config=config) == 1.0
    assert factor(6, total_steps=10, config=config) == pytest.approx(0.5)
    assert 0.0 < factor(10, total_steps=10, config=config) < 0.03
    assert factor(99, total_steps=10, config=config) == pytest.approx(0.0)


def test_every_group_keeps_its_own_base_rate_also_after_its_optimizer_was_loaded() -> None:
    first, second = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizers = [SGD([first], lr=1.0), SGD([second], lr=0.1)]
    rates = LearningRate(optimizers, config=LoopConfig(warmup_steps=2), total_steps=10)
    assert rates.apply(1) == 0.5
    for optimizer in optimizers:
        optimizer.load_state_dict(optimizer.state_dict())
    assert rates.apply(2) == 1.0
    assert [optimizer.param_groups[0]["lr"] for optimizer in optimizers] == [1.0, 0.1]
