"""Norm and clipping speak for dense and sparse gradients alike."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from trainer.engine import gradients


def sparse_and_dense() -> list[nn.Parameter]:
    table = nn.Parameter(torch.ones(10, 2))
    weight = nn.Parameter(torch.zeros(2))
    rows = torch.tensor([[3, 3], [3, 7]])  # row 3 three times: its gradients add up before they are squared
    bags = nn.functional.embedding_bag(rows, table, mode="sum", sparse=True)
    (bags.sum() + (weight * torch.tensor([3.0, 4.0])).sum()).backward()  # type: ignore[no-untyped-call]
    return [table, weight]


def test_the_norm_counts_repeated_sparse_rows_as_their_sum() -> None:
    found = gradients.gradients_of(sparse_and_dense())
    norm = gradients.total_norm(found, like=torch.zeros(()))
    assert norm.item() == pytest.approx(math.sqrt(2 * 3**2 + 2 * 1**2 + 3**2 + 4**2))


def test_scaling_reaches_the_sparse_gradients_too() -> None:
    parameters = sparse_and_dense()
    gradients.scale_(gradients.gradients_of(parameters), 0.5)
    assert parameters[0].grad is not None
    assert parameters[1].grad is not None
    assert parameters[0].grad.to_dense()[3].tolist() == [1.5, 1.5]
    assert parameters[1].grad.tolist() == [1.5, 2.0]


def test_parameters_without_a_gradient_are_passed_over() -> None:
    assert gradients.gradients_of([nn.Parameter(torch.ones(2))]) == []
    assert gradients.total_norm([], like=torch.ones(())).item() == 0.0


@pytest.mark.parametrize(
    ("norm", "max_norm", "expected"),
    [(2.0, 1.0, 0.5), (0.5, 1.0, 1.0), (2.0, 0.0, 1.0), (math.inf, 1.0, 1.0)],
)
def test_only_a_gradient_that_is_too_long_is_shortened(norm: float, max_norm: float, expected: float) -> None:
    assert gradients.clip_factor(norm, max_norm=max_norm) == expected
