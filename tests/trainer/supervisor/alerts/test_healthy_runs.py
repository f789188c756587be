"""Precision: runs as they should be raise nothing, over many seeds and shapes of noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.supervisor.alerts.rig import Watched

Curve = Callable[[int], float]
TOTAL = 3000
SEEDS = range(6)


def power_law(noise: random.Random, *, spread: float) -> Curve:
    """A language model's loss."""
    return lambda step: 1.7 + 9.0 * (step + 20) ** -0.35 * 20**0.35 * math.exp(noise.gauss(0.0, spread))


def exponential(noise: random.Random, *, spread: float) -> Curve:
    """A loss that falls to a hundredth, with noise that shrinks with it."""
    return lambda step: (7.0 * math.exp(-step / 400) + 0.05) * math.exp(noise.gauss(0.0, spread))


def additive(noise: random.Random, *, spread: float) -> Curve:
    """A loss under constant noise of its batches."""
    return lambda step: 2.0 + 5.0 * math.exp(-step / 900) + noise.gauss(0.0, 2.0 * spread)


def heavy_tailed(noise: random.Random, *, spread: float) -> Curve:
    """A loss with an outlier batch now and then."""
    return lambda step: (
        (1.5 + 4.0 * math.exp(-step / 900))
        * (1.0 + spread * noise.gauss(0.0, 1.0) / max(0.25, abs(noise.gauss(0.0, 1.0))))
    )


def hump(noise: random.Random, *, spread: float) -> Curve:
    """A warm-up that first makes it worse."""
    return lambda step: 3.0 + 2.0 * math.exp(-(((step - 40) / 25) ** 2)) + 2.0 * math.exp(-step / 700)


def cosine(step: int) -> float:
    """Warm-up over 100 steps, then half a cosine."""
    return min(step / 100, 0.5 * (1.0 + math.cos(math.pi * step / TOTAL))) * 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("spread", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("shape", [power_law, exponential, additive, heavy_tailed, hump])
def test_a_healthy_run_raises_nothing(
    tmp_path: Path, shape: Callable[..., Curve], spread: float, seed: int
) -> None:
    noise = random.Random(f"{shape.__name__} {spread} {seed}")
    run = Watched(tmp_path, total_steps=TOTAL)
    loss = shape(noise, spread=spread)
    norm: Curve = lambda step: (0.3 + 2.0 * math.exp(-step / 300)) * math.exp(noise.gauss(0.0, 0.4))  # noqa: E731
    for begin in range(1, TOTAL, 50):
        steps = range(begin, begin + 50)
        series = {
            "train/loss": [loss(step) for step in steps],
            "train/grad_norm": [norm(step) for step in steps],
            "train/learning_rate": [cosine(step) for step in steps],
        }
        run.feed(steps, series)
        rate = 8000 * math.exp(noise.gauss(0.0, 0.15)) * (0.4 if noise.random() < 0.05 else 1.0)
        held_out = 2.0 + 4.0 * math.exp(-begin / 700) + noise.gauss(0.0, 0.08)
        recall = max(0.0, 0.6 - 0.6 * math.exp(-begin / 800) + noise.gauss(0.0, 0.02))
        run.report(
            [begin + 49], train__examples_per_s=[rate], eval__loss=[held_out], eval__recall_at_10=[recall]
        )
    assert run.said == []


@pytest.mark.parametrize("seed", SEEDS)
def test_an_evaluation_that_only_wobbles_is_no_overfitting(tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed)
    run = Watched(tmp_path, total_steps=8000)
    for step in range(100, 8000, 100):
        run.report(range(step - 99, step + 1), train__loss=[3.0 * math.exp(-step / 4000)] * 100)
        recall = round(26 + noise.gauss(0.0, 2.0)) / 52
        run.report([step], eval__loss=[2.0 + noise.gauss(0.0, 0.06)], eval__recall_at_10=[recall])
    assert run.said == []


def test_a_resumed_attempt_that_begins_low_and_flat_raises_nothing(tmp_path: Path) -> None:
    noise = random.Random(1)
    run = Watched(tmp_path, total_steps=10_000)
    run.train(
        3000,
        first=6001,
        at_once=50,
        train__loss=lambda step: 0.2 + noise.gauss(0.0, 0.02),
        train__grad_norm=lambda step: 0.1 + abs(noise.gauss(0.0, 0.02)),
    )
    assert run.said == []


def test_steps_that_begin_anew_are_judged_anew(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(400, train__loss=lambda step: 5.0 * math.exp(-step / 100))
    run.train(400, first=50, train__loss=lambda step: 5.0 * math.exp(-step / 100))
    assert run.said == []


def test_the_flat_end_of_a_schedule_is_no_plateau(tmp_path: Path) -> None:
    noise = random.Random(2)
    run = Watched(tmp_path, total_steps=None)
    run.train(
        6000,
        at_once=50,
        train__loss=lambda step: 2.0 + 3.0 * math.exp(-min(step, 3000) / 900) + noise.gauss(0.0, 0.002),
        train__learning_rate=lambda step: 1e-3 if step < 3000 else 5e-5,
    )
    assert run.said == []
